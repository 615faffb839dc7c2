package trace

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
)

// unsanitized is all that an Exchange ever prints.
const unsanitized = "[unsanitized]"

// ErrRaw is what every encoder gets from an [Exchange].
var ErrRaw = errors.New("a raw exchange cannot be encoded")

// Exchange is one captured exchange with its secrets in it. It lives in
// memory only: only the recorder makes one, only the sanitizer takes one. It
// prints as "[unsanitized]" under every verb and refuses every encoder.
//
// All byte slices and strings are the exchange's own; the sanitizer may keep
// or overwrite them.
type Exchange struct {
	// Ordinal is unique in one capture and increases with the exchange's
	// start; Conn numbers connections likewise.
	Ordinal uint64
	Conn    uint64
	// Record holds what the recorder measured: times, sizes, counts, and
	// enums of our own making (api_kind, outcome, kinds of chunks). The
	// strings of the traffic are not in it but below.
	Record *Record

	// Client and Server are the ends of the connection; not valid where the
	// source has none.
	Client, Server netip.AddrPort

	// Method and Target are the request line's, as sent.
	Method, Target string
	// ReqHeader, ReqTrailer, RespHeader and RespTrailer are in wire order.
	ReqHeader, ReqTrailer   []Field
	RespHeader, RespTrailer []Field

	// ReqBody is the request's body, decoded; it may be cut at the body cap
	// (ReqBodyCut bytes were left out).
	ReqBody    []byte
	ReqBodyCut int64
	// RespBody is the answer's body, decoded, where it was not an understood
	// stream; cut likewise.
	RespBody    []byte
	RespBodyCut int64
	// Answer is the generated output by choice and kind, in order of first
	// appearance. Refusals, tool arguments and reasoning are apart.
	Answer []AnswerText

	// Said is what the API said in words.
	Said Said
}

// Field is one header field.
type Field struct{ Name, Value string }

// AnswerText is the generated output of one choice and kind, its pieces
// joined. Tool numbers the tool calls of a choice from 0.
type AnswerText struct {
	Choice int32
	Tool   int32
	Kind   ChunkKind
	Text   []byte
	// PieceBytes are the lengths of the pieces, in order, where streamed.
	PieceBytes []int32
}

// Said are the captured words of an API that have columns of their own.
type Said struct {
	Provider, Operation string
	RequestModel        string
	ResponseModel       string
	ReasoningLevel      string
	OutputType          string
	ServiceTier         string
	FinishReasons       []string
	ErrorType           string
	ErrorCode           string
	// JSONAsked: the request asked for a JSON answer.
	JSONAsked bool
}

// String returns "[unsanitized]".
func (Exchange) String() string { return unsanitized }

// GoString returns "[unsanitized]".
func (Exchange) GoString() string { return unsanitized }

// Format prints "[unsanitized]" whatever the verb.
func (Exchange) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(unsanitized)) }

// LogValue logs "[unsanitized]".
func (Exchange) LogValue() slog.Value { return slog.StringValue(unsanitized) }

// MarshalJSON writes the string "[unsanitized]", so that a struct that holds
// an exchange can still be logged.
func (Exchange) MarshalJSON() ([]byte, error) { return []byte(`"` + unsanitized + `"`), nil }

// MarshalText returns "[unsanitized]".
func (Exchange) MarshalText() ([]byte, error) { return []byte(unsanitized), nil }

// MarshalBinary refuses.
func (Exchange) MarshalBinary() ([]byte, error) { return nil, ErrRaw }

// GobEncode refuses.
func (Exchange) GobEncode() ([]byte, error) { return nil, ErrRaw }

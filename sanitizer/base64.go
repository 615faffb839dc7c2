package sanitizer

import (
	"bytes"
	"encoding/base64"
	"iter"
	"unicode"
	"unicode/utf8"
)

// span is a part of a text, in bytes.
type span struct{ start, end int }

// minEncoded is the length from which a run of the base64 alphabet is decoded:
// that of 9 bytes, an IPv4 address or a social security number.
const minEncoded = 12

// encodedRuns yields the runs of base64 in a text that decode to readable text,
// with what they decode to. It is linear.
func encodedRuns(text []byte) iter.Seq2[span, []byte] {
	return func(yield func(span, []byte) bool) {
		for i := 0; i < len(text); {
			if !isBase64(text[i]) {
				i++
				continue
			}
			start := i
			for i < len(text) && isBase64(text[i]) {
				i++
			}
			end := i
			for i < len(text) && text[i] == '=' && i < end+2 {
				i++
			}
			if decoded, ok := decodeRun(text[start:end]); ok && !yield(span{start, i}, decoded) {
				return
			}
		}
	}
}

// decodeRun decodes a run without padding, in either alphabet.
func decodeRun(run []byte) ([]byte, bool) {
	if len(run) < minEncoded {
		return nil, false
	}
	if len(run)%4 == 1 { // the letter before or after is none of it
		run = run[:len(run)-1]
	}
	enc := base64.RawStdEncoding
	if bytes.ContainsAny(run, "-_") {
		enc = base64.RawURLEncoding
	}
	decoded := make([]byte, enc.DecodedLen(len(run)))
	n, err := enc.Decode(decoded, run)
	if err != nil || !readable(decoded[:n]) {
		return nil, false
	}
	return decoded[:n], true
}

func isBase64(c byte) bool { return base64Letters[c] }

// base64Letters are those of both alphabets of RFC 4648.
var base64Letters = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") {
		set[c] = true
	}
	return set
}()

// readable reports text: valid UTF-8 without control characters other than
// white space.
func readable(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 && len(b) > 4 || unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
		b = b[n:]
	}
	return true
}

// isMedia reports a data URI, or a text that is one long run of base64 and
// does not decode to text: an image, a sound, a file with whatever its maker
// wrote into it.
func isMedia(text []byte) bool {
	if bytes.HasPrefix(text, []byte("data:")) && bytes.Contains(text[:min(len(text), 256)], []byte(";base64,")) {
		return true
	}
	const telling = 512
	if len(text) < telling {
		return false
	}
	run := bytes.TrimRight(text, "=\r\n")
	for _, c := range run {
		if !isBase64(c) && c != '\n' && c != '\r' {
			return false
		}
	}
	_, isText := decodeRun(bytes.ReplaceAll(bytes.ReplaceAll(run[:telling/2], []byte("\n"), nil), []byte("\r"), nil))
	return !isText
}

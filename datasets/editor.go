package datasets

import (
	"fmt"
	"strings"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// editor reads logs of inline completions in an editor. There is no common
// format, so this is ours: CSV with a header line, or JSON lines, with
//
//	timestamp       when the completion was asked for: a date with zone, or a number (--time-unit, ms)
//	context_tokens  prompt tokens, or context_chars its characters
//	latency_ms      until the completion was there
//	accepted        true, false, 1 or 0; empty = nobody saw it
//	output_tokens, model, session, user
//
// and for each the names that loggers use (see editorNames). Only timestamp is
// needed. Sessions and users become pseudonyms.
func editor() format {
	return format{
		name:     "editor",
		license:  "as its owner says",
		timeBase: trace.TimeUnix,
		unit:     "ms",
		assumed:  "an editor log does not name the API: openai.completions without a stream is assumed",
		scan:     scanEditor,
	}
}

// editorNames are the names of each column, ours first.
var editorNames = [...][]string{
	editorTime:     {"timestamp", "time", "ts", "created_at"},
	editorTokens:   {"context_tokens", "context_length", "prompt_tokens", "input_tokens", "prompt_length"},
	editorChars:    {"context_chars", "prompt_chars", "context_bytes"},
	editorLatency:  {"latency_ms", "latency", "duration_ms", "elapsed_ms"},
	editorAccepted: {"accepted", "accept", "is_accepted"},
	editorOutput:   {"output_tokens", "completion_tokens", "generated_tokens"},
	editorModel:    {"model", "model_id"},
	editorSession:  {"session", "session_id"},
	editorUser:     {"user", "user_id"},
}

const (
	editorTime = iota
	editorTokens
	editorChars
	editorLatency
	editorAccepted
	editorOutput
	editorModel
	editorSession
	editorUser
	editorColumns
)

func scanEditor(s *scan) error {
	var at []int // column of each cell; nil = JSON lines
	var cells []string
	var object jsonReader
	header := true
	return s.lines(func(line int64, raw []byte) error {
		text := string(raw)
		fields := [editorColumns]string{}
		isJSON := strings.HasPrefix(strings.TrimSpace(text), "{")
		switch {
		case header && !isJSON:
			header = false
			var err error
			at, err = editorHeader(line, text)
			return err
		case at == nil:
			header = false
			if msg := editorObject(&object, raw, &fields); msg != "" {
				return s.bad(line, msg)
			}
		default:
			var err error
			if cells, err = csvCells(cells[:0], text); err != nil {
				return s.bad(line, err.Error())
			}
			if len(cells) != len(at) {
				return s.bad(line, fmt.Sprintf("%d fields, want %d", len(cells), len(at)))
			}
			for i, c := range at {
				if c >= 0 {
					fields[c] = cells[i]
				}
			}
		}
		r, msg := editorRow(s, &fields)
		return s.emit(line, r, msg)
	})
}

// editorHeader is the column of each cell; −1 = none that is read.
func editorHeader(line int64, text string) ([]int, error) {
	cells, err := csvCells(nil, text)
	if err != nil {
		return nil, fileError(line, "is no header: %v", err)
	}
	at := make([]int, len(cells))
	timed := false
	for i, name := range cells {
		at[i] = editorColumn(name)
		timed = timed || at[i] == editorTime
	}
	if !timed {
		return nil, fileError(line, "lacks the columns timestamp (it reads %q)", clip(text))
	}
	return at, nil
}

func editorColumn(name string) int {
	for c, names := range editorNames {
		for _, known := range names {
			if strings.EqualFold(strings.TrimSpace(name), known) {
				return c
			}
		}
	}
	return -1
}

// editorObject reads one line of JSON.
func editorObject(in *jsonReader, text []byte, fields *[editorColumns]string) string {
	in.reset(text)
	for name := range in.members() {
		c := editorColumn(string(name))
		switch kind := in.kind(); {
		case c < 0 || kind == 'n':
			in.skip()
		case kind == '"':
			fields[c] = string(in.string())
		case kind == '{' || kind == '[':
			in.otherThan("a value of its own")
		default:
			fields[c] = string(in.value())
		}
	}
	in.end()
	return in.message()
}

func editorRow(s *scan, f *[editorColumns]string) (*trace.Record, string) {
	at, ok := decimalNs([]byte(f[editorTime]), s.unit)
	if !ok {
		if at, ok = dateNs(time.RFC3339, f[editorTime]); !ok {
			return nil, fmt.Sprintf("timestamp %q: want a number, or a date such as 2026-03-01T09:30:00.120Z", clip(f[editorTime]))
		}
	}
	r := s.blank(at)
	r.Outcome, r.Vantage = trace.OutcomeUnknown, trace.VantageClient
	r.APIKind = trace.KindOpenAICompletions
	r.RequestModel = s.word([]byte(f[editorModel]))
	if f[editorSession] != "" {
		r.SessionID = s.pseudonym([]byte(f[editorSession]))
	}
	if f[editorUser] != "" {
		r.TenantID = s.pseudonym([]byte(f[editorUser]))
	}
	return editorNumbers(r, f)
}

// editorNumbers reads the columns that are counts, times and flags.
func editorNumbers(r *trace.Record, f *[editorColumns]string) (*trace.Record, string) {
	for _, c := range []struct {
		column int
		to     **int64
	}{{editorTokens, &r.InputTokens}, {editorOutput, &r.OutputTokens}} {
		if f[c.column] == "" {
			continue
		}
		n, err := parseCount(f[c.column])
		if err != nil {
			return nil, editorNames[c.column][0] + " " + err.Error()
		}
		*c.to = &n
	}
	if f[editorChars] != "" {
		n, err := parseCount(f[editorChars])
		if err != nil {
			return nil, fmt.Sprintf("context_chars %q: want a whole number, 0 or more", clip(f[editorChars]))
		}
		r.Messages = []trace.Message{{Role: trace.RolePrompt, Bytes: int32(n)}}
	}
	if f[editorLatency] != "" {
		ns, ok := decimalNs([]byte(f[editorLatency]), time.Millisecond)
		if !ok || ns < 0 {
			return nil, fmt.Sprintf("latency_ms %q: want milliseconds, 0 or more", clip(f[editorLatency]))
		}
		r.TEndUs, r.Outcome = new(ns/1000), trace.OutcomeOK
	}
	switch strings.ToLower(f[editorAccepted]) {
	case "":
	case "true", "1":
		r.Accepted = new(true)
	case "false", "0":
		r.Accepted = new(false)
	default:
		return nil, fmt.Sprintf("accepted %q: want true, false, 1 or 0", clip(f[editorAccepted]))
	}
	return r, ""
}

package datasets

import (
	"time"

	"github.com/lambdac/lambdac/trace"
)

// traceLab reads TraceLab's rounds of coding agents
// (github.com/uw-syfi/TraceLab, README.md "Data format"): JSON lines, one
// round each, from the logs of the agents. A round starts with the last input
// before its first output, as TraceLab's own measure has it, and ends with its
// last output; the events are stamped when a block was complete, so they tell
// no first token. The wait for tools and people is the think time.
func traceLab() format {
	return format{
		name:       "tracelab",
		license:    "CC BY 4.0; TraceLab, SyFI Lab, University of Washington; no re-identification",
		timeBase:   trace.TimeUnix,
		resolution: time.Millisecond,
		assumed:    "times are those of the agents' logs: the end of a round is its last complete block; outcomes are unknown",
		scan: func(s *scan) error {
			sessions := map[string]*lastTurn{}
			return jsonLines(s, func(in *traceLabRound) (*trace.Record, string) { return traceLabRow(s, in, sessions) })
		},
	}
}

type traceLabRound struct {
	Provider   string          `json:"provider"`
	SessionID  string          `json:"session_id"`
	RoundID    string          `json:"round_id"`
	RoundIndex *int32          `json:"round_index"`
	Model      string          `json:"model"`
	Input      *int64          `json:"input_tokens_total"`
	Prefix     *int64          `json:"prefix_tokens"`
	Uncached   *int64          `json:"claude_uncached_input_tokens"`
	CacheWrite *int64          `json:"claude_cache_creation_input_tokens"`
	Output     *int64          `json:"output_tokens"`
	Reasoning  *int64          `json:"reasoning_output_tokens"`
	Events     []traceLabEvent `json:"timing_events"`
}

type traceLabEvent struct {
	Type string `json:"event_type"`
	At   string `json:"timestamp"`
}

// lastTurn is the turn of a session that came last.
type lastTurn struct {
	id    string
	n     int32 // from 0
	endNs int64
	known bool // endNs is
}

func traceLabRow(s *scan, in *traceLabRound, sessions map[string]*lastTurn) (*trace.Record, string) {
	for _, msg := range []string{errCount("input_tokens_total", in.Input), errCount("output_tokens", in.Output)} {
		if msg != "" {
			return nil, msg
		}
	}
	start, end, msg := roundTimes(in.Events)
	if msg != "" {
		return nil, msg
	}
	r := lengths(start, *in.Input, *in.Output)
	r.RawInputTokens = in.Input
	r.APIKind, r.Provider = trace.KindOpenAIResponses, new("openai")
	if in.Provider == "claude" {
		r.APIKind, r.Provider, r.RawInputTokens = trace.KindAnthropicMessages, new("anthropic"), in.Uncached
	}
	r.CacheReadTokens, r.CacheWriteTokens, r.ReasoningTokens = in.Prefix, in.CacheWrite, in.Reasoning
	r.RequestModel, r.Turn = word(in.Model), in.RoundIndex
	r.RequestID = *s.pseudonym(in.RoundID)
	if end >= start {
		r.TEndUs = new((end - start) / 1000)
	}
	if in.SessionID != "" {
		joinSession(s, r, in.SessionID, sessions)
	}
	return r, ""
}

// joinSession links a turn to the one before it in its session.
func joinSession(s *scan, r *trace.Record, session string, sessions map[string]*lastTurn) {
	last := sessions[session]
	if last == nil {
		last = new(lastTurn)
		sessions[session] = last
	} else {
		r.ParentRequestID = new(last.id)
		last.n++
		if last.known && r.ThinkTimeUs == nil && r.StartUnixNs >= last.endNs {
			r.ThinkTimeUs = new((r.StartUnixNs - last.endNs) / 1000)
		}
	}
	if r.Turn == nil {
		r.Turn = new(last.n)
	}
	r.SessionID = s.pseudonym(session)
	last.id, last.known = r.RequestID, r.TEndUs != nil
	if last.known {
		last.endNs = r.StartUnixNs + *r.TEndUs*1000
	}
}

// roundTimes are the last input before the first output, and the last output.
// A round without an input starts at its first event.
func roundTimes(events []traceLabEvent) (start, end int64, msg string) {
	output := false
	start, end = -1, -1
	for _, e := range events {
		at, ok := dateNs(time.RFC3339, e.At)
		if !ok {
			return 0, 0, "timing_events: a timestamp that is none, want a time such as 2026-06-01T05:40:20.151Z"
		}
		switch e.Type {
		case "reasoning", "text", "tool_call":
			output = true
			end = max(end, at)
		case "user_message", "tool_result":
			if !output {
				start = max(start, at)
			}
		}
		if start < 0 {
			start = at
		}
	}
	if start < 0 {
		return 0, 0, "timing_events: no event, so the round has no time"
	}
	return start, end, ""
}

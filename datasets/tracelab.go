package datasets

import (
	"cmp"
	"math"
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
			sessions, nth := map[string]*lastTurn{}, int64(0)
			return jsonLines(s, readTraceLab, func(in *traceLabRound) (*trace.Record, string) {
				nth++
				return traceLabRow(s, in, nth, sessions)
			})
		},
	}
}

type traceLabRound struct {
	provider, sessionID, model  []byte
	roundIndex                  optional
	input, uncached, output     optional
	prefix, cacheWrite, thought optional
	times                       roundTimes
}

func readTraceLab(in *jsonReader, to *traceLabRound) {
	for name := range in.members() {
		switch string(name) {
		case "provider":
			to.provider = in.string()
		case "session_id":
			to.sessionID = in.string()
		case "round_index":
			to.roundIndex = in.int()
		case "model":
			to.model = in.string()
		case "input_tokens_total":
			to.input = in.int()
		case "prefix_tokens":
			to.prefix = in.int()
		case "claude_uncached_input_tokens":
			to.uncached = in.int()
		case "claude_cache_creation_input_tokens":
			to.cacheWrite = in.int()
		case "output_tokens":
			to.output = in.int()
		case "reasoning_output_tokens":
			to.thought = in.int()
		case "timing_events":
			to.times.read(in)
		default:
			in.skip()
		}
	}
}

// lastTurn is the turn of a session that came last.
type lastTurn struct {
	id    *string
	n     int32 // from 0
	endNs int64
	known bool // endNs is
}

func traceLabRow(s *scan, in *traceLabRound, nth int64, sessions map[string]*lastTurn) (*trace.Record, string) {
	if msg := cmp.Or(errCount("input_tokens_total", in.input), errCount("output_tokens", in.output), in.times.message()); msg != "" {
		return nil, msg
	}
	r := s.lengths(in.times.start, in.input.n, in.output.n)
	r.APIKind, r.Provider = trace.KindOpenAIResponses, s.word([]byte("openai"))
	if string(in.provider) == "claude" {
		r.APIKind, r.Provider = trace.KindAnthropicMessages, s.word([]byte("anthropic"))
		r.RawInputTokens = s.numberOf(in.uncached)
	}
	r.CacheReadTokens, r.CacheWriteTokens = s.numberOf(in.prefix), s.numberOf(in.cacheWrite)
	r.ReasoningTokens, r.RequestModel = s.numberOf(in.thought), s.word(in.model)
	if i := in.roundIndex; i.known && i.n >= 0 && i.n <= math.MaxInt32 {
		r.Turn = new(int32(i.n))
	}
	r.RequestID = numbered("round-", nth)
	if in.times.end >= in.times.start {
		r.TEndUs = s.number((in.times.end - in.times.start) / 1000)
	}
	if len(in.sessionID) > 0 {
		joinSession(s, r, in.sessionID, sessions)
	}
	return r, ""
}

// joinSession links a turn to the one before it in its session.
func joinSession(s *scan, r *trace.Record, session []byte, sessions map[string]*lastTurn) {
	last := sessions[string(session)]
	if last == nil {
		last = new(lastTurn)
		sessions[string(session)] = last
	} else {
		r.ParentRequestID = last.id
		last.n++
		if last.known && r.ThinkTimeUs == nil && r.StartUnixNs >= last.endNs {
			r.ThinkTimeUs = s.number((r.StartUnixNs - last.endNs) / 1000)
		}
	}
	if r.Turn == nil {
		r.Turn = new(last.n)
	}
	r.SessionID = s.pseudonym(session)
	last.id, last.known = new(r.RequestID), r.TEndUs != nil
	if last.known {
		last.endNs = r.StartUnixNs + *r.TEndUs*1000
	}
}

// roundTimes are the last input before the first output, and the last output,
// in ns. A round without an input starts at its first event.
type roundTimes struct {
	start, end    int64
	events        int
	asked, output bool // an input before any output was seen, an output was
	bad           bool // a timestamp is none
}

// read takes the events of a round.
func (t *roundTimes) read(in *jsonReader) {
	for more := in.open('['); more && in.more(); {
		var kind, at []byte
		for name := range in.members() {
			switch string(name) {
			case "event_type":
				kind = in.string()
			case "timestamp":
				at = in.string()
			default:
				in.skip()
			}
		}
		ns, ok := dateNs(time.RFC3339, string(at))
		t.bad = t.bad || !ok
		t.see(string(kind), ns)
	}
}

func (t *roundTimes) see(kind string, at int64) {
	if t.events == 0 {
		t.start, t.end = at, -1
	}
	t.events++
	switch kind {
	case "reasoning", "text", "tool_call":
		t.output = true
		t.end = max(t.end, at)
	case "user_message", "tool_result":
		if !t.output && (!t.asked || at > t.start) {
			t.asked, t.start = true, at
		}
	}
}

func (t *roundTimes) message() string {
	switch {
	case t.bad:
		return "timing_events: a timestamp that is none, want a time such as 2026-06-01T05:40:20.151Z"
	case t.events == 0:
		return "timing_events: no event, so the round has no time"
	}
	return ""
}

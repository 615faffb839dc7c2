package datasets

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/lambdac/lambdac/trace"
)

// weka reads the conversations of WEKA's agentic traces
// (github.com/callanjfox/agentic-coding-analysis, docs/TRACE_FORMAT.md): one
// JSON object per conversation, in a file of its own or one after the other,
// with the requests in it, those of a subagent nested. Times are seconds from
// the conversation's start, so conversations of one file lie over each other.
// Block ids count full blocks only, by conversation unless hash_id_scope is
// global.
func weka() format {
	return format{
		name:     "weka",
		license:  "MIT for the format and its examples; traces as their publishers say",
		timeBase: trace.TimeRelative,
		unit:     "s",
		assumed:  "every conversation counts from its own start: those of one file lie over each other",
		clock:    func(s *scan) error { return documents(s, (&wekaReader{scan: s, clock: true}).conversation) },
		scan:     func(s *scan) error { return documents(s, (&wekaReader{scan: s}).conversation) },
	}
}

type wekaRequest struct {
	t, kind, model, stop     []byte
	in, out                  optional
	hashIDs                  []int64
	apiTime, ttft, thinkTime []byte

	// Of a subagent.
	agentID  []byte
	requests []wekaRequest
}

// wekaReader reads conversation after conversation.
type wekaReader struct {
	*scan
	clock bool  // only the arrivals are asked for
	nth   int64 // requests read
	// next is above every block id of the conversations before.
	next int64

	// Of the conversation.
	id        []byte
	blockSize int32
	global    bool
	top       int64 // the highest block id
}

func (w *wekaReader) conversation(in *jsonStream) error {
	w.id, w.blockSize, w.global, w.top = nil, 0, false, -1
	sessions := map[string]*lastTurn{}
	err := in.members(func(name string) error {
		switch name {
		case "id":
			return w.member(in, func(j *jsonReader) { w.id = bytes.Clone(j.string()) })
		case "hash_id_scope":
			return w.member(in, func(j *jsonReader) { w.global = string(j.string()) == "global" })
		case "block_size":
			return w.member(in, func(j *jsonReader) { w.blockSize = int32(min(j.int().n, math.MaxInt32)) })
		case "requests":
			return in.elements(func() error {
				request := wekaRequest{}
				line, msg, err := in.whole(func(j *jsonReader) { request = w.read(j) })
				if err != nil {
					return err
				}
				if msg != "" {
					return w.bad(line, msg)
				}
				return w.take(line, &request, 0, w.id, sessions)
			})
		}
		return nil
	})
	w.next += w.top + 1
	return err
}

// member reads a member of the conversation itself.
func (w *wekaReader) member(in *jsonStream, take func(*jsonReader)) error {
	line, msg, err := in.whole(take)
	if err == nil && msg != "" {
		err = w.bad(line, msg)
	}
	return err
}

// read takes a request.
func (w *wekaReader) read(in *jsonReader) (r wekaRequest) {
	for name := range in.members() {
		switch string(name) {
		case "t":
			r.t = in.number()
		case "type":
			r.kind = in.string()
		case "requests":
			for more := in.open('['); more && in.more(); {
				r.requests = append(r.requests, w.read(in))
			}
		default:
			if w.clock {
				in.skip()
			} else {
				r.read(in, name)
			}
		}
	}
	return r
}

// read takes a member that says more than the arrival.
func (r *wekaRequest) read(in *jsonReader, name []byte) {
	switch string(name) {
	case "model":
		r.model = in.string()
	case "in":
		r.in = in.int()
	case "out":
		r.out = in.int()
	case "hash_ids":
		r.hashIDs = in.ids()
	case "stop":
		r.stop = in.string()
	case "api_time":
		r.apiTime = in.number()
	case "ttft":
		r.ttft = in.number()
	case "think_time":
		r.thinkTime = in.number()
	case "agent_id":
		r.agentID = in.string()
	default:
		in.skip()
	}
}

// take emits a request, or those of a subagent.
func (w *wekaReader) take(line int64, in *wekaRequest, base int64, session []byte, sessions map[string]*lastTurn) error {
	at, ok := decimalNs(in.t, w.unit)
	if !ok || at < 0 || base+at > maxNs {
		return w.bad(line, fmt.Sprintf("t %s: want seconds, 0 or more", clip(string(in.t))))
	}
	at += base
	if string(in.kind) == "subagent" {
		w.skip()
		session = slices.Concat(session, []byte{'/'}, in.agentID)
		for i := range in.requests {
			if err := w.take(line, &in.requests[i], at, session, sessions); err != nil {
				return err
			}
		}
		return nil
	}
	if w.clock {
		return w.row(line, w.blank(at))
	}
	w.nth++
	r, msg := w.request(in, at)
	if r != nil && len(session) > 0 {
		joinSession(w.scan, r, session, sessions)
	}
	return w.emit(line, r, msg)
}

func (w *wekaReader) request(in *wekaRequest, at int64) (*trace.Record, string) {
	if msg := cmp.Or(errCount("in", in.in), errCount("out", in.out)); msg != "" {
		return nil, msg
	}
	r := w.lengths(at, in.in.n, in.out.n)
	r.RequestID = numbered("request-", w.nth)
	r.APIKind, r.Vantage, r.Stream = trace.KindAnthropicMessages, trace.VantageProxy, string(in.kind) == "s"
	r.RequestModel = w.word(in.model)
	if stop := w.word(in.stop); stop != nil { // it says that the answer was whole
		r.FinishReasons, r.Outcome = []string{*stop}, trace.OutcomeOK
	}
	for _, time := range []struct {
		name string
		text []byte
		to   **int64
	}{{"api_time", in.apiTime, &r.TEndUs}, {"ttft", in.ttft, &r.ServerTTFTUs}, {"think_time", in.thinkTime, &r.ThinkTimeUs}} {
		if time.text == nil {
			continue
		}
		ns, ok := decimalNs(time.text, w.unit)
		if !ok || ns < 0 {
			return nil, fmt.Sprintf("%s %s: want seconds, 0 or more", time.name, clip(string(time.text)))
		}
		*time.to = w.number((ns + 500) / 1000)
	}
	return w.blocks(r, in)
}

// blocks gives a request its prefix.
func (w *wekaReader) blocks(r *trace.Record, in *wekaRequest) (*trace.Record, string) {
	if w.blockSize <= 0 || in.hashIDs == nil {
		return r, ""
	}
	if full := in.in.n / int64(w.blockSize); int64(len(in.hashIDs)) > full+1 {
		return nil, fmt.Sprintf("%d hash_ids for %d tokens, want %d blocks of %d", len(in.hashIDs), in.in.n, full, w.blockSize)
	}
	for i, id := range in.hashIDs {
		if id >= 1<<40 {
			return nil, fmt.Sprintf("hash_ids: %d is no block id", id)
		}
		if !w.global {
			w.top = max(w.top, id)
			in.hashIDs[i] += w.next
		}
	}
	r.Prefix = w.prefix(in.hashIDs, w.blockSize)
	return r, ""
}

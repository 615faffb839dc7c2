package datasets

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

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
		scan:     func(s *scan) error { return documents(s, (&wekaReader{scan: s}).conversation) },
	}
}

type wekaRequest struct {
	T         jsontext.Value `json:"t"`
	Type      string         `json:"type"`
	Model     string         `json:"model"`
	In        *int64         `json:"in"`
	Out       *int64         `json:"out"`
	HashIDs   blockIDs       `json:"hash_ids"`
	Stop      string         `json:"stop"`
	APITime   *float64       `json:"api_time"`
	TTFT      *float64       `json:"ttft"`
	ThinkTime *float64       `json:"think_time"`

	// Of a subagent.
	AgentID  string        `json:"agent_id"`
	Requests []wekaRequest `json:"requests"`
}

// wekaReader reads conversation after conversation.
type wekaReader struct {
	*scan
	nth int64 // requests read
	// next is above every block id of the conversations before.
	next int64

	// Of the conversation.
	id        string
	blockSize int32
	global    bool
	top       int64 // the highest block id
}

func (w *wekaReader) conversation(in *jsonStream) error {
	w.id, w.blockSize, w.global, w.top = "", 0, false, -1
	sessions := map[string]*lastTurn{}
	err := in.members(func(name string) error {
		switch name {
		case "id":
			return w.member(in, name, &w.id)
		case "hash_id_scope":
			scope := ""
			err := w.member(in, name, &scope)
			w.global = scope == "global"
			return err
		case "block_size":
			return w.member(in, name, &w.blockSize)
		case "requests":
			return in.elements(func() error {
				request := wekaRequest{}
				line, msg, err := in.value(&request)
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
func (w *wekaReader) member(in *jsonStream, name string, into any) error {
	line, msg, err := in.value(into)
	if err != nil {
		return err
	}
	if msg != "" {
		return w.bad(line, name+": "+msg)
	}
	return nil
}

// take emits a request, or those of a subagent.
func (w *wekaReader) take(line int64, in *wekaRequest, base int64, session string, sessions map[string]*lastTurn) error {
	at, ok := decimalNs(string(in.T), w.unit)
	if !ok || at < 0 {
		return w.bad(line, fmt.Sprintf("t %s: want seconds, 0 or more", clip(string(in.T))))
	}
	if in.Type == "subagent" {
		w.skip()
		for i := range in.Requests {
			if err := w.take(line, &in.Requests[i], base+at, session+"/"+in.AgentID, sessions); err != nil {
				return err
			}
		}
		return nil
	}
	w.nth++
	r, msg := w.request(in, base+at)
	if r != nil && session != "" {
		joinSession(w.scan, r, session, sessions)
	}
	return w.emit(line, r, msg)
}

func (w *wekaReader) request(in *wekaRequest, at int64) (*trace.Record, string) {
	for _, msg := range []string{errCount("in", in.In), errCount("out", in.Out)} {
		if msg != "" {
			return nil, msg
		}
	}
	r := lengths(at, *in.In, *in.Out)
	r.RequestID = fmt.Sprintf("request-%d", w.nth)
	r.APIKind, r.Vantage, r.Stream = trace.KindAnthropicMessages, trace.VantageProxy, in.Type == "s"
	r.RequestModel = word(in.Model)
	if stop := word(in.Stop); stop != nil { // it says that the answer was whole
		r.FinishReasons, r.Outcome = []string{*stop}, trace.OutcomeOK
	}
	var ok [3]bool
	r.TEndUs, ok[0] = secondsUs(in.APITime)
	r.ServerTTFTUs, ok[1] = secondsUs(in.TTFT)
	r.ThinkTimeUs, ok[2] = secondsUs(in.ThinkTime)
	if ok != [3]bool{true, true, true} {
		return nil, "api_time, ttft or think_time: want seconds, 0 or more"
	}
	if w.blockSize <= 0 || in.HashIDs == nil {
		return r, ""
	}
	if full := *in.In / int64(w.blockSize); int64(len(in.HashIDs)) > full+1 {
		return nil, fmt.Sprintf("%d hash_ids for %d tokens, want %d blocks of %d", len(in.HashIDs), *in.In, full, w.blockSize)
	}
	r.PrefixBlockSize, r.PrefixBlockUnit, r.PrefixBlockIDs = new(w.blockSize), new(trace.UnitToken), in.HashIDs
	for i, id := range in.HashIDs {
		if id < 0 || id >= 1<<40 {
			return nil, fmt.Sprintf("hash_ids: %d is no block id", id)
		}
		if !w.global {
			w.top = max(w.top, id)
			in.HashIDs[i] += w.next
		}
	}
	return r, ""
}

// secondsUs is a time in seconds as microseconds; ok is false where it is
// none.
func secondsUs(s *float64) (us *int64, ok bool) {
	if s == nil {
		return nil, true
	}
	if !(*s >= 0 && *s < float64(maxNs)/1e9) {
		return nil, false
	}
	return new(int64(*s*1e6 + 0.5)), true
}

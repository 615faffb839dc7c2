package replayer

import (
	"strconv"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// item is one scheduled request on its way: made by the level, filled in by
// the generator, paced, sent, and turned into exactly one Record.
type item struct {
	src    *trace.Record
	id     string
	suffix string // what tells this copy's ids from the recording's
	warm   bool
	// at is the arrival's, due the moment that it becomes once the level's
	// start is known.
	at     time.Duration
	due    time.Time
	prompt prompt
	// probe is the question asked in its place; nil = none.
	probe *question
	// looked: features are taken of its answer.
	looked bool
	// order is its place in the schedule, from 0.
	order int
	// self is its place in its conversation, waits the turn before it.
	self  turn
	waits wait
	mode  Sessions
	// late: the turn before ended after the time that the schedule meant.
	late bool
	// leads: another turn waits for this one.
	leads bool
	// held: the in-flight limit kept it back after it was due.
	held bool
}

// newItem names the copy: the first keeps the recorded id, others append
// their number.
func newItem(src *trace.Record, a arrival) *item {
	it := &item{
		src: src, warm: a.at < 0, at: a.at,
		self: turn{a.rec, a.instance}, waits: wait{on: turn{rec: noTurn}},
	}
	if a.instance > 0 {
		it.suffix = "#" + strconv.FormatInt(a.instance+1, 10)
	}
	it.id = src.RequestID + it.suffix
	return it
}

// follow sets when the item is due, once the turn before it has ended.
func (it *item) follow(end time.Time) {
	after := end.Add(it.waits.think)
	if it.mode == SessionsClosed || after.After(it.due) {
		it.late = after.After(it.due)
		it.due = after
	}
}

// before orders items by when they are due.
func (it *item) before(o *item) bool {
	if !it.due.Equal(o.due) {
		return it.due.Before(o.due)
	}
	return it.order < o.order
}

// stampInfo are the facts that are the same for every record of a level.
type stampInfo struct {
	level   int32
	port    int32
	tls     bool
	http    string // version asked for
	seal    trace.Seal
	version string
	headers map[string]string // sent with each request
}

// record starts the Record of an item with all but times and result.
func (s *stampInfo) record(it *item) *trace.Record {
	src := it.src
	r := &trace.Record{
		Identity: src.Identity,
		Prefix:   src.Prefix,
		Arrival:  trace.Arrival{StartUnixNs: it.due.UnixNano(), ArrivalResolutionNs: 1},
		Replay:   trace.Replay{Level: new(s.level)},
		Provenance: trace.Provenance{
			SanitizerMode: s.seal.Mode, SanitizerVersion: s.seal.Version, BodyState: trace.BodyDroppedPolicy,
		},
		Capture: trace.Capture{
			CaptureSource: "replay", CaptureVersion: s.version, ClockSource: "monotonic",
			Vantage: trace.VantageClient, SampledWeight: 1,
		},
		Usage: trace.Usage{TokenSource: trace.TokensNone},
	}
	if s.seal.PolicyHash != "" {
		r.PolicyHash = new(s.seal.PolicyHash)
	}
	r.RequestID, r.Origin, r.Accepted = it.id, trace.OriginReplay, nil
	if it.suffix != "" {
		r.SessionID = appended(src.SessionID, it.suffix)
		r.ParentRequestID = appended(src.ParentRequestID, it.suffix)
	}
	r.Request = s.request(it)
	switch {
	case it.held:
		r.LagCause = new(trace.LagCap)
	case it.late:
		r.LagCause = new(trace.LagSession)
	}
	return r
}

// request says what is sent, which is not all that was recorded.
func (s *stampInfo) request(it *item) trace.Request {
	src, p := it.src, &it.prompt
	q := trace.Request{
		APIKind: src.APIKind, Provider: src.Provider, Operation: src.Operation,
		Method: "POST", PathTemplate: plainPath(p.path), HostPseudonym: "target", ServerPort: s.port,
		HTTPVersion: s.http, TLS: s.tls, ReqHeaders: s.headers,
		Stream: src.Stream, MaxTokens: p.maxTokens, N: src.N, Temperature: src.Temperature, TopP: src.TopP,
		Messages: p.messages, ReqWireBytes: int64(len(p.body)), ReqBodyBytes: int64(len(p.body)),
	}
	if q.PathTemplate == "" { // never made: it was not sent
		q.PathTemplate, q.RequestModel = src.PathTemplate, src.RequestModel
		return q
	}
	q.RequestModel = new(p.model)
	q.MessageCount = new(p.count)
	return q
}

func appended(id *string, suffix string) *string {
	if id == nil {
		return nil
	}
	return new(*id + suffix)
}

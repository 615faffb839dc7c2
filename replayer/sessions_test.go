package replayer

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// talk is a trace of one conversation: turn i is sent at at[i] and took took.
func talk(took time.Duration, at ...time.Duration) Trace {
	tr := chatTrace(len(at), 0)
	for i, r := range tr.Records {
		r.StartUnixNs = int64(at[i])
		r.SessionID, r.TEndUs = new("s"), new(took.Microseconds())
	}
	return tr
}

func TestWhichTurnFollowsWhich(t *testing.T) {
	const s = time.Second
	for _, row := range []struct {
		name   string
		tr     Trace
		edit   func([]*trace.Record)
		parent []int32
		think  []time.Duration
	}{
		{"one after the other", talk(s, 0, 3*s, 9*s), nil, []int32{noTurn, 0, 1}, []time.Duration{0, 2 * s, 5 * s}},
		{"two at once follow neither of each other", talk(3*s, 0, 4*s, 5*s, 9*s), nil, []int32{noTurn, 0, 0, 2}, []time.Duration{0, s, 2 * s, s}},
		{"all open", talk(99*s, 0, 1*s, 2*s), nil, []int32{noTurn, noTurn, noTurn}, []time.Duration{0, 0, 0}},
		{"no ends", talk(s, 0, 3*s), func(r []*trace.Record) { r[0].TEndUs = nil }, []int32{noTurn, 0}, []time.Duration{0, 0}},
		{"named parent", talk(s, 0, 3*s, 6*s), func(r []*trace.Record) { r[2].ParentRequestID = new("r0") }, []int32{noTurn, 0, 0}, []time.Duration{0, 2 * s, 5 * s}},
		{"parent that is not there", talk(s, 0, 3*s), func(r []*trace.Record) { r[1].ParentRequestID = new("gone") }, []int32{noTurn, 0}, []time.Duration{0, 2 * s}},
		{"its own parent", talk(s, 0), func(r []*trace.Record) { r[0].ParentRequestID = new("r0") }, []int32{noTurn}, []time.Duration{0}},
		{"a cycle", talk(s, 0, 3*s), func(r []*trace.Record) {
			r[0].ParentRequestID, r[1].ParentRequestID = new("r1"), new("r0")
		}, []int32{noTurn, 0}, []time.Duration{0, 2 * s}},
		{"no sessions", chatTrace(2, s), nil, []int32{noTurn, noTurn}, []time.Duration{0, 0}},
	} {
		if row.edit != nil {
			row.edit(row.tr.Records)
		}
		got := newTurns(row.tr.Records)
		if d := cmp.Diff(row.parent, got.parent); d != "" {
			t.Errorf("%s: parents %s", row.name, d)
		}
		if d := cmp.Diff(row.think, got.think); d != "" {
			t.Errorf("%s: think times %s", row.name, d)
		}
	}
}

// dueSeconds are the due times after the level's start, in order.
func dueSeconds(res *Result, out *memory) []float64 {
	var due []float64
	for _, r := range out.byStart() {
		due = append(due, float64(r.StartUnixNs-res.Levels[0].StartUnixNs)/1e9)
	}
	return due
}

// Case 17: the service takes 4 s where the recorded one took 1 s.
func TestTurnsWaitForEachOther(t *testing.T) {
	const s = time.Second
	trace17 := func() Trace { return talk(s, 0, 3*s, 20*s) } // think times of 2 s and 16 s
	for _, row := range []struct {
		mode Sessions
		due  []float64
		late []bool
	}{
		{SessionsStrict, []float64{0, 3, 20}, []bool{false, false, false}},
		{SessionsCausal, []float64{0, 6, 26}, []bool{false, true, true}},
		{SessionsClosed, []float64{0, 6, 26}, []bool{false, true, true}},
	} {
		cfg := one(3.0/30, 30*s)
		cfg.Sessions = row.mode
		tr := trace17()
		// One more request at the end makes the trace 30 s long.
		stub := &stub{answer: tokensAnswer(4*s, 0, 1)}
		virtual(t, stub, cfg, tr, func(t *testing.T, res *Result, out *memory, err error) {
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(row.due, dueSeconds(res, out)); d != "" {
				t.Errorf("%s: due times %s", row.mode, d)
			}
			for i, r := range out.byStart() {
				if late := r.LagCause != nil && *r.LagCause == trace.LagSession; late != row.late[i] {
					t.Errorf("%s: turn %d: lag cause %v", row.mode, i, r.LagCause)
				}
				if user, _ := r.TTFTUser(); user != 4*s {
					t.Errorf("%s: turn %d: TTFT %v counts from when it was due", row.mode, i, user)
				}
			}
			if *res.Levels[0].LagP99Us != 0 {
				t.Errorf("%s: waiting for a turn is no lag of the client: %d µs", row.mode, *res.Levels[0].LagP99Us)
			}
		})
	}
}

// A faster service: closed sessions go on at once after the think time, causal
// ones wait for the recorded time.
func TestTurnsOfAFasterService(t *testing.T) {
	const s = time.Second
	for mode, want := range map[Sessions][]float64{SessionsCausal: {0, 6, 12}, SessionsClosed: {0, 3, 6}} {
		cfg := one(3.0/18, 18*s)
		cfg.Sessions = mode
		stub := &stub{answer: tokensAnswer(s, 0, 1)}
		virtual(t, stub, cfg, talk(4*s, 0, 6*s, 12*s), func(t *testing.T, res *Result, out *memory, err error) {
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, dueSeconds(res, out)); d != "" {
				t.Errorf("%s: %s", mode, d)
			}
		})
	}
}

// Turns that were not due before the window was over are recorded, and are no
// loss of the client; the level says that the load was held back.
func TestTurnsThatNeverCame(t *testing.T) {
	const s = time.Second
	stub := &stub{answer: tokensAnswer(20*s, 0, 1)}
	virtual(t, stub, one(5.0/10, 10*s), talk(s, 0, 2*s, 4*s, 6*s, 8*s), func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if ok, unready := out.count(trace.OutcomeOK, ""), out.count(trace.OutcomeNotSent, trace.DetailSession); ok != 1 || unready != 4 {
			t.Fatalf("%d ok, %d not sent", ok, unready)
		}
		l := res.Levels[0]
		if l.Scheduled != 1 || len(l.Invalid) > 0 {
			t.Errorf("level %+v", l)
		}
		if !slices.ContainsFunc(l.Warnings, func(w string) bool {
			return strings.Contains(w, "4 turns waited") && strings.Contains(w, "0.1/s were due of 0.5/s meant")
		}) {
			t.Errorf("warnings %q", l.Warnings)
		}
	})
}

func TestSessionsDoNotFitResample(t *testing.T) {
	cfg := one(1, time.Second)
	cfg.Target, cfg.Scaling, cfg.Sessions = "http://127.0.0.1:1", Resample, SessionsCausal
	if err := Check(cfg, chatTrace(2, time.Second)); err == nil || !strings.Contains(err.Error(), "--sessions strict") {
		t.Errorf("error %v", err)
	}
	cfg.Sessions = ""
	if err := Check(cfg, chatTrace(2, time.Second)); err != nil {
		t.Errorf("default: %v", err)
	}
}

// Whatever the order of adds and ends, items leave by when they are due, each
// once, and none before the turn that it follows has ended.
func TestAgenda(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		const n = 60
		base := time.Unix(0, 0)
		g, left := newAgenda(), 0
		items := make([]*item, n)
		for i := range items {
			it := &item{order: i, due: base.Add(time.Duration(i) * time.Second), mode: SessionsCausal, self: turn{rec: int32(i)}}
			it.waits.on.rec = noTurn
			if i > 0 && rng.IntN(2) == 0 {
				it.waits = wait{on: turn{rec: int32(rng.IntN(i))}, think: time.Duration(rng.IntN(9)) * time.Second}
			}
			items[i] = it
			g.add(it)
			left++
		}
		ended := make(map[turn]time.Time)
		last := base
		for left > 0 {
			if len(g.due) == 0 {
				t.Fatalf("%d items stay parked though all that can end has", left)
			}
			it := g.pop()
			left--
			if it.due.Before(last) {
				t.Fatalf("item %d leaves at %v, after %v", it.order, it.due, last)
			}
			last = it.due
			if on := it.waits.on; on.rec != noTurn {
				end, ok := ended[on]
				if !ok || it.due.Before(end.Add(it.waits.think)) {
					t.Fatalf("item %d leaves before the turn it follows", it.order)
				}
			}
			end := it.due.Add(time.Duration(rng.IntN(20)) * time.Second)
			ended[it.self] = end
			g.end(it.self, end)
		}
		if g.stamped != 0 || len(g.rest()) != 0 {
			t.Fatalf("agenda is not empty: %+v", g)
		}
	}
}

// Case 13: a recorded client gave up after 4 tokens; another before any.
func TestRecordedCancels(t *testing.T) {
	tr := chatTrace(3, time.Second)
	gaveUp := tr.Records[1]
	gaveUp.Outcome, gaveUp.OutcomeDetail, gaveUp.ChunkCount = trace.OutcomeClientAbort, new(trace.DetailRecorded), new(int32(4))
	gaveUp.MaxTokens = new(int32(50))
	early := tr.Records[2]
	early.Outcome, early.OutcomeDetail, early.TEndUs = trace.OutcomeClientAbort, new(trace.DetailRecorded), new(int64(50_000))
	gone := make(chan string, 3)
	s := &stub{}
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		tokensAnswer(100*ms, 20*ms, 10)(w, r)
		if r.Context().Err() != nil {
			gone <- "gone"
		}
	}
	virtual(t, s, one(1, 3*time.Second), tr, func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil || res.Validity.Verdict != trace.Valid {
			t.Fatalf("error %v, validity %+v", err, res.Validity)
		}
		recs := out.byStart()
		if recs[0].Outcome != trace.OutcomeOK {
			t.Errorf("outcome %v", recs[0].Outcome)
		}
		plan := recs[1]
		if plan.Outcome != trace.OutcomeClientAbort || *plan.OutcomeDetail != trace.DetailPlan || *plan.ChunkCount != 4 || *plan.TLastTokenUs != 160_000 {
			t.Errorf("given up: %v %v after %d pieces", plan.Outcome, *plan.OutcomeDetail, *plan.ChunkCount)
		}
		if plan.Class() != trace.ClassExcluded || res.Levels[0].Tally.ExcludedByUs != 0 {
			t.Errorf("a planned cancel says nothing of the service and is no loss of ours: %v", plan.Class())
		}
		if recs[2].TFirstTokenUs != nil || *recs[2].OutcomeDetail != trace.DetailPlan {
			t.Errorf("given up before the first token: %+v", recs[2].Result)
		}
		if len(gone) != 2 {
			t.Errorf("the service saw %d clients leave, want 2", len(gone))
		}
		if !strings.Contains(s.bodies[1], `"max_tokens":50`) {
			t.Errorf("the length is pinned to what the client saw: %s", s.bodies[1])
		}
	})
	cfg := one(1, 3*time.Second)
	cfg.NoCancels = true
	virtual(t, &stub{answer: tokensAnswer(100*ms, 20*ms, 10)}, cfg, tr, func(t *testing.T, res *Result, _ *memory, err error) {
		if err != nil || res.Outcomes[trace.OutcomeOK] != 3 {
			t.Errorf("outcomes %v, error %v", res.Outcomes, err)
		}
	})
}

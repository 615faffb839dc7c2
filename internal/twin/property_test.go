package twin

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// FuzzEngine runs random servers with random jobs to their end and checks what
// must hold for any: no job lost or ended twice, tokens in order, time never
// back, memory never over its size, nothing left over, no deadlock.
func FuzzEngine(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed, uint16(seed*97))
	}
	f.Fuzz(func(t *testing.T, seed uint64, shape uint16) {
		r := rand.New(rand.NewPCG(seed, uint64(shape)))
		p := randomParams(r)
		e, err := New(p, seed)
		if err != nil {
			t.Fatalf("random parameters %+v: %v", p, err)
		}
		jobs, cancels := randomJobs(r, 200)
		if shape%2 == 0 {
			e.Watch()
		}
		ledger := newLedger(t)
		for _, j := range jobs {
			ledger.read(checkedAdvance(t, e, j.ArriveNs))
			if err := e.Submit(j); err != nil {
				t.Fatal(err)
			}
			if at, ok := cancels[j.ID]; ok {
				e.Cancel(j.ID, at)
			}
		}
		for e.NextEventNs() != Never {
			ledger.read(checkedAdvance(t, e, e.NextEventNs()))
		}
		ledger.close(e, len(jobs))
	})
}

func randomParams(r *rand.Rand) Params {
	p := DefaultParams()
	p.StepFixed = time.Duration(1 + r.Int64N(int64(20*time.Millisecond)))
	p.MaxRunning = 1 + r.IntN(12)
	p.TokenBudget = p.MaxRunning + r.IntN(200)
	p.ChunkedPrefill = r.IntN(2) == 0
	p.MaxQueue = r.IntN(30) - 1
	p.ErrorRate = r.Float64() * 0.3
	p.ServeAbandoned = r.IntN(2) == 0
	p.KVBlocks = 6 + r.IntN(40)
	p.PrefixCaching = r.IntN(3) > 0
	p.CacheBlocks = r.IntN(p.KVBlocks + 1)
	p.RetainRatio = 0.1 + 0.9*r.Float64()
	if r.IntN(2) == 0 {
		p.Eviction = EvictWindow
	}
	p.WrongRate = r.Float64() * 0.3
	for _, x := range Pathologies() {
		if r.IntN(4) == 0 && (x.Name != MemoryExhaustion || !slices.Contains(p.Pathologies, KVFragmentation)) {
			p.Pathologies = append(p.Pathologies, x.Name)
		}
	}
	return p
}

func checkedAdvance(t *testing.T, e *Engine, until int64) []Event {
	t.Helper()
	events := e.Advance(until)
	kv := e.kv
	held := 0
	for _, s := range e.running {
		held += s.private
	}
	if kv.free() < 0 || kv.private != held || kv.held > kv.shared || kv.inUse() > kv.total {
		t.Fatalf("memory: %d free, %d private (%d by sequence), %d of %d shared held", kv.free(), kv.private, held, kv.held, kv.shared)
	}
	if len(e.running) > e.p.MaxRunning {
		t.Fatalf("%d run, at most %d may", len(e.running), e.p.MaxRunning)
	}
	if st := e.Stats(); st.Submitted != st.Done+st.Failed+st.Refused+st.Shed+st.Cancelled+st.Broken+st.Open {
		t.Fatalf("jobs do not add up: %+v", st)
	}
	return events
}

// ledger follows the events of each job.
type ledger struct {
	t      *testing.T
	now    int64
	tokens map[uint64]int32
	ended  map[uint64]EventKind
}

func newLedger(t *testing.T) *ledger {
	return &ledger{t: t, tokens: map[uint64]int32{}, ended: map[uint64]EventKind{}}
}

func (l *ledger) read(events []Event) {
	l.t.Helper()
	for _, ev := range events {
		if ev.AtNs < l.now {
			l.t.Fatalf("time runs back at %+v", ev)
		}
		l.now = ev.AtNs
		if kind, over := l.ended[ev.Job]; over {
			l.t.Fatalf("%+v after %v", ev, kind)
		}
		switch {
		case ev.Kind.Ends():
			l.ended[ev.Job] = ev.Kind
			if (ev.Kind == Done || ev.Kind == Cut) && ev.Token != l.tokens[ev.Job] {
				l.t.Fatalf("%+v after %d tokens", ev, l.tokens[ev.Job])
			}
		case ev.Kind == FirstToken || ev.Kind == Token:
			if ev.Token != l.tokens[ev.Job] || (ev.Kind == FirstToken) != (ev.Token == 0) {
				l.t.Fatalf("%+v after %d tokens", ev, l.tokens[ev.Job])
			}
			l.tokens[ev.Job]++
		}
	}
}

func (l *ledger) close(e *Engine, jobs int) {
	l.t.Helper()
	st := e.Stats()
	if st.Open != 0 || len(l.ended) != jobs || st.Submitted != int64(jobs) {
		l.t.Fatalf("%d jobs, %d ended, stats %+v", jobs, len(l.ended), st)
	}
	if st.Running != 0 || st.Waiting != 0 || e.kv.inUse() != 0 || st.KVUsage != 0 {
		l.t.Fatalf("left over: %+v", st)
	}
	if m := e.memory; m != nil && m.zone.pages != len(m.zone.free)-len(m.pinned) {
		l.t.Fatalf("host memory: %d of %d pages free, %d pinned", m.zone.pages, len(m.zone.free), len(m.pinned))
	}
	if e.kv.shared != e.kv.kept.n || e.kv.kept.n > e.kv.limit || len(e.kv.byKey) != e.kv.kept.n {
		l.t.Fatalf("cache: %d shared, %d kept of %d, %d keys", e.kv.shared, e.kv.kept.n, e.kv.limit, len(e.kv.byKey))
	}
}

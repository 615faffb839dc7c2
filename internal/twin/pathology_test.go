package twin

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// sick is the demo's server with one pathology.
func sick(names ...string) Params {
	p := DemoParams(1)
	p.Pathologies = names
	return p
}

// traffic is the built-in mix for so many seconds at a rate, Poisson.
func traffic(perS, seconds float64, seed uint64) []Job {
	r, mix := rand.New(rand.NewPCG(seed, 3)), BuiltinMix(seed)
	var jobs []Job
	for at := r.ExpFloat64() / perS; at < seconds; at += r.ExpFloat64() / perS {
		j := mix.Jobs[r.IntN(len(mix.Jobs))]
		j.ID, j.ArriveNs = uint64(len(jobs)+1), int64(at*1e9)
		jobs = append(jobs, j)
	}
	return jobs
}

// course is what became of jobs.
type course struct {
	engine   *Engine
	events   []Event
	readings []Reading
	// firsts are the times to first token, s, ascending.
	firsts []float64
	wrong  float64 // share of the answers
}

// follow runs jobs under observation.
func follow(t *testing.T, p Params, jobs []Job) course {
	t.Helper()
	e, err := New(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	e.Watch()
	arrived := map[uint64]int64{}
	for _, j := range jobs {
		arrived[j.ID] = j.ArriveNs
		if err := e.Submit(j); err != nil {
			t.Fatal(err)
		}
	}
	c := course{engine: e, events: slices.Clone(e.Advance(jobs[len(jobs)-1].ArriveNs + int64(time.Minute)))}
	c.readings = e.Readings()
	done := 0.0
	for _, ev := range c.events {
		switch ev.Kind {
		case FirstToken:
			c.firsts = append(c.firsts, float64(ev.AtNs-arrived[ev.Job])/1e9)
		case Done:
			done++
			if ev.Wrong {
				c.wrong++
			}
		}
	}
	c.wrong /= max(done, 1)
	slices.Sort(c.firsts)
	return c
}

func (c *course) p99() float64 { return c.firsts[len(c.firsts)*99/100] }

// TestWatchingChangesNothing also holds that equal seeds fall ill alike.
func TestWatchingChangesNothing(t *testing.T) {
	jobs := traffic(100, 30, 2)
	healthy := [][]string{{}}
	for _, x := range Pathologies() {
		healthy = append(healthy, []string{x.Name})
	}
	for _, names := range healthy {
		p := sick(names...)
		_, alone := run(t, p, 1, jobs...)
		watched := follow(t, p, jobs)
		if diff := cmp.Diff(script(alone), script(watched.events)); diff != "" {
			t.Errorf("%v: events (-alone +watched):\n%s", names, diff)
		}
	}
}

// TestHealthyIsQuiet: nothing of what pathologies do happens without them.
func TestHealthyIsQuiet(t *testing.T) {
	c := follow(t, sick(), traffic(100, 120, 3))
	st := c.engine.Stats()
	if c.wrong != 0 || st.Broken != 0 || st.Preemptions != 0 {
		t.Errorf("wrong %.3g, stats %+v", c.wrong, st)
	}
	for _, r := range c.readings {
		if r.Memory.LargestFreeBytes() < 4<<20 || r.Memory.Free[maxOrder] < 1 || r.ClockDown || r.CPU > 0.4 || len(r.Memory.Failures) > 0 {
			t.Fatalf("at %d s: %+v", r.AtNs/1e9, r)
		}
	}
}

// TestUtilisation holds the GPU's readings to the virtual time spent in steps.
func TestUtilisation(t *testing.T) {
	for _, perS := range []float64{3, 30, 100} {
		c := follow(t, sick(), traffic(perS, 60, 4))
		busy, sm, dram := 0.0, 0.0, 0.0
		for _, r := range c.readings {
			busy, sm, dram = busy+r.Busy, sm+r.SM, dram+r.DRAM
			if r.Busy > 1 || r.SM+r.DRAM > 2*r.Busy {
				t.Fatalf("%+v", r)
			}
		}
		want := float64(c.engine.Stats().BusyNs) / 1e9
		if math.Abs(busy-want) > 1e-6*want {
			t.Errorf("at %v/s: busy %.6f s by readings, %.6f s by steps", perS, busy, want)
		}
		t.Logf("at %3v/s: busy %.3f SM %.3f DRAM %.3f", perS, busy/60, sm/60, dram/60)
	}
}

// TestWrongRate: 5 % at any load, and the same requests at each.
func TestWrongRate(t *testing.T) {
	p := sick()
	p.WrongRate = 0.05
	for _, perS := range []float64{10, 100} {
		if c := follow(t, p, traffic(perS, 200, 5)); math.Abs(c.wrong-0.05) > 0.016 {
			t.Errorf("at %v/s %.3f are wrong, want 0.05", perS, c.wrong)
		}
	}
}

// TestBatchQuality: what is wrong grows with the batch, from nothing to the 12 %
// of a full one.
func TestBatchQuality(t *testing.T) {
	low := follow(t, sick(BatchQuality), traffic(2, 500, 6))
	mid := follow(t, sick(BatchQuality), traffic(60, 60, 6))
	high := follow(t, sick(BatchQuality), traffic(300, 30, 6))
	if low.wrong > 0.01 || mid.wrong < low.wrong+0.01 || high.wrong < mid.wrong+0.02 || math.Abs(high.wrong-worstWrong) > 0.025 {
		t.Errorf("wrong at 2/s %.3f, 60/s %.3f, full %.3f", low.wrong, mid.wrong, high.wrong)
	}
}

// TestFragmentation: large blocks vanish one order after the other while nearly
// all memory is free, until the server goes down; after that memory is whole.
func TestFragmentation(t *testing.T) {
	c := follow(t, sick(KVFragmentation), traffic(80, 400, 7))
	i := slices.IndexFunc(c.readings, func(r Reading) bool { return len(r.Memory.Failures) > 0 })
	if i < 0 {
		t.Fatal("nothing failed")
	}
	before, f := c.readings[i-1], c.readings[i].Memory.Failures[0]
	if f.Order != arenaOrder || f.Killed {
		t.Errorf("the first failure is %+v", f)
	}
	m := before.Memory
	if m.FreePages < m.Pages*9/10 || slices.Max(m.Free[arenaOrder:]) > 0 || m.Free[arenaOrder-1] == 0 || before.CPU > 0.4 {
		t.Errorf("before the first failure: %+v", m)
	}
	if after := c.readings[i+recoverNs/1e9+2].Memory; after.Free[maxOrder] == 0 {
		t.Errorf("after a restart: %+v", after)
	}
	last := c.readings[len(c.readings)-1].Memory
	if last.CompactFailed != last.Failed || last.Kills != 0 {
		t.Errorf("in the end: %+v", last)
	}
	if n := failedRequests(t, c); n < 300*int(last.Failed) || n > 500*int(last.Failed) {
		t.Errorf("%d requests failed, server down %d times for 5 s at 80/s", n, last.Failed)
	}
	t.Logf("first failure after %d s, %d in all", f.AtNs/1e9, last.Failed)
}

// failedRequests counts those that were told that there is no memory.
func failedRequests(t *testing.T, c course) int {
	t.Helper()
	n := 0
	for _, ev := range c.events {
		if ev.Cause == OutOfMemory && ev.Kind == Failed && ev.Status == 500 {
			n++
		}
	}
	if int64(n) != c.engine.Stats().Broken {
		t.Errorf("%d requests failed for want of memory, counted %d", n, c.engine.Stats().Broken)
	}
	return n
}

// TestExhaustion: memory goes until none is left, in one piece.
func TestExhaustion(t *testing.T) {
	c := follow(t, sick(MemoryExhaustion), traffic(80, 400, 8))
	last := c.readings[len(c.readings)-1].Memory
	if last.Kills == 0 || last.Kills != last.Failed || last.CompactFailed != 0 || failedRequests(t, c) == 0 {
		t.Fatalf("in the end: %+v", last)
	}
	least := math.MaxInt
	for _, r := range c.readings {
		least = min(least, r.Memory.FreePages)
		for _, f := range r.Memory.Failures {
			if f.Order != 0 || !f.Killed {
				t.Errorf("failure %+v", f)
			}
		}
	}
	if least > 2*last.MinPages+10<<bufferOrder {
		t.Errorf("at the least %d pages were free, of %d that are kept", least, last.MinPages)
	}
}

// TestSlowAfterPause: the tail is worst where requests are rare; one of the two
// causes shows in the clock.
func TestSlowAfterPause(t *testing.T) {
	for _, name := range []string{ColdPages, ClockRamp} {
		quiet := follow(t, sick(name), traffic(3, 200, 9))
		busy := follow(t, sick(name), traffic(60, 60, 9))
		healthy := follow(t, sick(), traffic(3, 200, 9))
		if quiet.p99() < 2*busy.p99() || quiet.p99() < 2*healthy.p99() {
			t.Errorf("%s: P99 %.3f s at 3/s, %.3f s at 60/s, healthy %.3f s", name, quiet.p99(), busy.p99(), healthy.p99())
		}
		down := slices.ContainsFunc(quiet.readings, func(r Reading) bool { return r.ClockDown })
		if down != (name == ClockRamp) {
			t.Errorf("%s: clock down %v", name, down)
		}
		sm := 0.0
		for _, r := range quiet.readings {
			sm += r.SM / float64(len(quiet.readings))
		}
		if sm > 0.1 {
			t.Errorf("%s: multiprocessors are active in %.2f of the time", name, sm)
		}
	}
}

// TestEvictionStorm: near the capacity requests are evicted, computed again and
// given up, at half of it hardly any.
func TestEvictionStorm(t *testing.T) {
	busy := follow(t, sick(KVEvictionStorm), traffic(110, 60, 10)).engine.Stats()
	calm := follow(t, sick(KVEvictionStorm), traffic(30, 60, 10)).engine.Stats()
	healthy := follow(t, sick(), traffic(110, 60, 10)).engine.Stats()
	if busy.Preemptions < 500 || busy.Broken < 20 || calm.Preemptions > 20 || busy.Done > healthy.Done*95/100 {
		t.Errorf("busy %+v\ncalm %+v\nhealthy %+v", busy, calm, healthy)
	}
	t.Logf("busy %+v\ncalm %+v\nhealthy %+v", busy, calm, healthy)
}

// TestSlowTenant: one in eight tenants slows the steps of its requests, by name
// or, without one, by request.
func TestSlowTenant(t *testing.T) {
	named := traffic(5, 200, 11)
	for i := range named {
		named[i].Tenant = 1 + uint64(i)%40
	}
	e, err := New(sick(SlowTenant), 1)
	if err != nil {
		t.Fatal(err)
	}
	began, slow := map[uint64]int64{}, map[uint64][]float64{}
	for _, j := range named {
		if err := e.Submit(j); err != nil {
			t.Fatal(err)
		}
	}
	for _, ev := range e.Advance(Never) {
		j := named[ev.Job-1]
		switch ev.Kind {
		case Admitted:
			began[j.ID] = ev.AtNs
		case Done:
			slow[j.Tenant] = append(slow[j.Tenant], float64(ev.AtNs-began[j.ID])/float64(ev.Token))
		}
	}
	var perToken []float64
	for _, times := range slow {
		slices.Sort(times)
		perToken = append(perToken, times[len(times)/2])
	}
	slices.Sort(perToken)
	n := 0
	for _, x := range perToken {
		if x > 1.5*perToken[10] {
			n++
		}
	}
	if n < 2 || n > 9 {
		t.Errorf("%d of 40 tenants are slow: ms a token %.3v", n, perToken)
	}
}

// TestStreamCut: 3 % break off, at any load, inside the answer.
func TestStreamCut(t *testing.T) {
	for _, perS := range []float64{10, 80} {
		c := follow(t, sick(StreamCut), traffic(perS, 100, 12))
		st := c.engine.Stats()
		share := float64(st.Broken) / float64(st.Broken+st.Done)
		if math.Abs(share-cutShare) > 0.018 {
			t.Errorf("at %v/s %.3f are cut", perS, share)
		}
	}
}

// TestModelLoad: about once a minute nothing moves for three seconds, and steps
// are else as they were.
func TestModelLoad(t *testing.T) {
	c := follow(t, sick(ModelLoadStall), traffic(20, 1200, 13))
	loads := 0
	tokens := int64(-1)
	for _, ev := range c.events {
		if ev.Kind != Token && ev.Kind != FirstToken {
			continue
		}
		if tokens >= 0 && ev.AtNs-tokens >= int64(loadTime) {
			loads++
		}
		tokens = ev.AtNs
	}
	if loads < 10 || loads > 32 {
		t.Errorf("the model was loaded %d times in 20 minutes", loads)
	}
}

// TestSamples holds names and units of what telemetry sees.
func TestSamples(t *testing.T) {
	c := follow(t, sick(KVFragmentation), traffic(80, 400, 7))
	var all []trace.Sample
	for _, r := range c.readings {
		all = append(all, r.Samples(1000, "http://sim")...)
	}
	seen := map[string]float64{}
	events := 0
	for _, s := range all {
		if s.Value == nil || math.IsNaN(*s.Value) || s.Reason != nil {
			t.Fatalf("%+v", s)
		}
		if s.Metric == trace.MetricAllocFailed {
			events++
			if *s.Value != arenaOrder || s.Instance != HostZone || s.AtUnixNs%1e9 == 1000 {
				t.Errorf("event %+v", s)
			}
			continue
		}
		if s.AtUnixNs%1e9 != 1000 {
			t.Fatalf("not on a second: %+v", s)
		}
		seen[fmt.Sprintf("%s %s %s", s.Source, s.Instance, s.Metric)] = *s.Value
	}
	free := 0.0
	for order := range maxOrder + 1 {
		free += seen["host 0/Normal "+trace.BuddyMetric(order)] * float64(int(pageBytes)<<order)
	}
	for name, want := range map[string]float64{
		"host  " + trace.MetricMemoryFree:                     free,
		"host  " + trace.MetricPageSize:                       4096,
		"host 0/Normal " + trace.MetricZoneMin:                64,
		"host 0/DMA " + trace.BuddyMetric(10):                 3,
		"gpu " + GPUName + " " + trace.MetricGPUSMClock:       1980e6,
		"gpu " + GPUName + " " + trace.MetricGPUPState:        0,
		"server http://sim " + trace.MetricServerAllocFailed:  float64(events),
		"server http://sim " + trace.MetricServerRunning:      0,
		"host  " + trace.MetricCompactFail:                    float64(events),
		"server http://sim " + trace.MetricServerFreeBytes:    free,
		"server http://sim " + trace.MetricServerPreemptions:  0,
		"gpu " + GPUName + " " + trace.MetricGPUMemoryLimit:   80 << 30,
		"gpu " + GPUName + " " + trace.MetricGPUThrottle:      1,
		"gpu " + GPUName + " " + trace.MetricGPUUtilization:   0,
		"server http://sim " + trace.MetricServerOutputTokens: float64(c.engine.Stats().GeneratedTokens),
	} {
		if got, ok := seen[name]; !ok || got != want {
			t.Errorf("%s is %v (%v), want %v", name, got, ok, want)
		}
	}
}

// TestTruthOfTheSick: the curve counts what a pathology breaks, beside the base
// errors.
func TestTruthOfTheSick(t *testing.T) {
	p := sick(StreamCut)
	points, err := ErrorCurve(p, BuiltinMix(1).Jobs, []float64{50}, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := p.ErrorRate + (1-p.ErrorRate)*cutShare
	if got := points[0]; math.Abs(got.ErrorRate-want) > 5*got.StdErr || got.ShedRate > 0.001 {
		t.Errorf("error rate %+v, want %.4f", got, want)
	}
}

func TestPathologyNames(t *testing.T) {
	p := sick("nosuch")
	err := p.Validate()
	if err == nil || !strings.Contains(err.Error(), BatchQuality) {
		t.Errorf("error %v does not say what there is", err)
	}
	for _, x := range Pathologies() {
		if _, err := New(sick(x.Name), 1); err != nil || x.About == "" {
			t.Errorf("%s: %v", x.Name, err)
		}
	}
}

// TestEvictedWithoutClient: a client that goes away at the end of a step in whose
// successor its request is preempted leaves nothing waiting.
func TestEvictedWithoutClient(t *testing.T) {
	p := plain()
	p.KVBlocks, p.MaxContext = 3, 40
	e, err := New(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range []Job{{ID: 1, InputTokens: 16, OutputTokens: 20}, {ID: 2, InputTokens: 16, OutputTokens: 20}} {
		if err := e.Submit(j); err != nil {
			t.Fatal(err)
		}
	}
	e.Advance(0)
	e.Cancel(2, e.NextEventNs())
	e.Advance(Never)
	if st := e.Stats(); st.Waiting != 0 || st.Done != 1 || st.Cancelled != 1 || st.Preemptions != 1 {
		t.Errorf("%+v", st)
	}
}

package analyzer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lambdac/lambdac/analyzer/stats"
	"github.com/lambdac/lambdac/internal/twin"
	"github.com/lambdac/lambdac/trace"
)

// ailing is one experiment on a simulated server in virtual time: loads held one
// after the other, each several times, questions among the requests, instruments
// read each second.
type ailing struct {
	// pathology of the server, "" = healthy.
	pathology string
	seed      uint64
	// queue is the number of requests that may wait.
	queue int
	// untold leaves out what instruments on the machine know and metrics that are
	// scraped do not: which order the kernel was asked for.
	untold bool
}

// The experiment is one for all pathologies: 3 % of the capacity, where the server
// idles nine tenths of the time, and three loads at which it works; four runs
// each of 150 s, in a drawn order; one request in four is one of 300 questions.
const (
	ailingRuns      = 4
	ailingWarmup    = 2 * second
	ailingHold      = 150 * second
	ailingDrain     = 3 * second
	ailingQuestions = 300
	ailingEvery     = 4
)

func ailingShares() []float64 { return []float64{0.03, 0.3, 0.6, 0.85} }

// params are those of the demo's server, which answers one question in 30 wrong
// whatever the load.
func (x ailing) params() twin.Params {
	p := twin.DemoParams(x.seed)
	p.WrongRate, p.MaxQueue = 1.0/30, x.queue
	return p
}

// levels are the runs in the order in which they are made.
func (x ailing) levels(tb testing.TB, mix twin.Mix, rng *rand.Rand) []trace.Level {
	tb.Helper()
	capacity, err := twin.Capacity(x.params(), mix.Jobs, x.seed)
	if err != nil {
		tb.Fatal(err)
	}
	var out []trace.Level
	at := int64(0)
	for k := range ailingRuns {
		shares := ailingShares()
		rng.Shuffle(len(shares), func(i, j int) { shares[i], shares[j] = shares[j], shares[i] })
		for _, share := range shares {
			l := trace.Level{
				Index: int32(len(out)), Order: int32(len(out)), Replicate: int32(k), OfferedPerS: share * capacity.Value,
				BeginUnixNs: at, StartUnixNs: at + ailingWarmup,
			}
			l.EndUnixNs = l.StartUnixNs + ailingHold
			l.DrainedUnixNs = l.EndUnixNs + ailingDrain
			at = l.DrainedUnixNs
			out = append(out, l)
		}
	}
	return out
}

// observe runs the experiment and gives the detectors what an analysis would.
func (x ailing) observe(tb testing.TB) Observation {
	tb.Helper()
	p, mix := x.params(), twin.BuiltinMix(x.seed)
	if x.pathology != "" {
		p.Pathologies = []string{x.pathology}
	}
	engine, err := twin.New(p, x.seed)
	if err != nil {
		tb.Fatal(err)
	}
	engine.Watch()
	rng := rand.New(rand.NewPCG(x.seed, 17))
	c := client{tb: tb, engine: engine, mix: mix, rng: rng, open: make(map[uint64]*asked)}
	var runs []*run
	for _, level := range x.levels(tb, mix, rng) {
		r := newRun(level, deadlines{}, nil)
		c.hold(r)
		if r.reasons = r.invalid(); len(r.reasons) == 0 {
			runs = append(runs, r)
		}
	}
	a := &Analysis{}
	a.Methods.Seed = x.seed
	return a.observe(groupLoads(runs, false), &aside{telemetry: x.telemetry(engine)})
}

func (x ailing) telemetry(e *twin.Engine) Telemetry {
	var t Telemetry
	for _, r := range e.Readings() {
		for _, s := range r.Samples(0, "http://sim") {
			if x.untold && (s.Metric == trace.MetricAllocFailed || s.Metric == trace.MetricOOMOrder) {
				continue
			}
			t.Add(&s)
		}
	}
	return t
}

// client sends the mix to an engine.
type client struct {
	tb     testing.TB
	engine *twin.Engine
	mix    twin.Mix
	rng    *rand.Rand
	lastID uint64
	open   map[uint64]*asked
}

// asked is a request on its way.
type asked struct {
	run   *run
	job   twin.Job
	probe string // "" = no question
	first *int64 // µs
	wrong bool
}

// hold sends Poisson arrivals for a level and takes what comes back.
func (c *client) hold(r *run) {
	l := &r.level
	for at := float64(l.BeginUnixNs); ; {
		at += c.rng.ExpFloat64() / l.OfferedPerS * 1e9
		if int64(at) >= l.EndUnixNs {
			break
		}
		a := &asked{run: r, job: c.mix.Jobs[c.rng.IntN(len(c.mix.Jobs))]}
		c.lastID++
		a.job.ID, a.job.ArriveNs = c.lastID, int64(at)
		if c.lastID%ailingEvery == 0 {
			a.probe = fmt.Sprint(c.lastID / ailingEvery % ailingQuestions)
		}
		c.open[a.job.ID] = a
		if err := c.engine.Submit(a.job); err != nil {
			c.tb.Fatal(err)
		}
		if l.InWindow(a.job.ArriveNs) {
			l.Scheduled++
		}
	}
	for _, ev := range c.engine.Advance(l.DrainedUnixNs) {
		if ev.Kind == twin.Token {
			continue // nine events of ten
		}
		if a := c.open[ev.Job]; a != nil {
			a.see(ev)
		}
		if ev.Kind.Ends() {
			delete(c.open, ev.Job)
		}
	}
}

// see takes an event of the request.
func (a *asked) see(ev twin.Event) {
	switch {
	case ev.Kind == twin.FirstToken:
		a.first, a.wrong = new((ev.AtNs-a.job.ArriveNs)/1000), ev.Wrong
	case ev.Kind.Ends():
		w := a.row(ev)
		a.run.see(&w, nil)
		if a.probe != "" && a.run.level.InWindow(a.job.ArriveNs) {
			a.run.probes = append(a.run.probes, a.score(ev))
		}
	}
}

func (a *asked) row(ev twin.Event) row {
	w := row{
		judgedColumns: judgedColumns{StartUnixNs: a.job.ArriveNs, Outcome: trace.OutcomeOK, OutputTokens: new(int64(a.job.OutputTokens))},
		Stream:        true, ConnReused: new(true), InputTokens: new(int64(a.job.InputTokens)),
	}
	w.TSentUs, w.TFirstTokenUs, w.TEndUs = new(int64(0)), a.first, new((ev.AtNs-a.job.ArriveNs)/1000)
	switch {
	case ev.Kind == twin.Cut || ev.Cause == twin.Evicted && a.first != nil:
		w.Outcome = trace.OutcomeServerAbort
	case ev.Kind != twin.Done:
		w.Outcome, w.StatusCode = trace.OutcomeHTTPError, new(int32(ev.Status))
	}
	return w
}

func (a *asked) score(ev twin.Event) Probe {
	p := Probe{ID: a.probe}
	switch {
	case ev.Kind != twin.Done:
	case a.wrong:
		p.Score = new(0.0)
	default:
		p.Score = new(1.0)
	}
	return p
}

// ailments are the healthy server, by "", and all pathologies.
func ailments() []string {
	names := []string{""}
	for _, p := range twin.Pathologies() {
		names = append(names, p.Name)
	}
	return names
}

// verdicts count what the detectors said of one server in many experiments.
type verdicts struct {
	pathology    string
	experiments  int
	found        [3]int
	insufficient [3]int
	// first is the first answer that is not as it should be.
	first string
}

// own is the detector that is to find a pathology; -1 = none is.
func (v *verdicts) own() int {
	return slices.Index([]string{twin.BatchQuality, twin.KVFragmentation, twin.ColdPages}, v.pathology)
}

func (v *verdicts) take(seed uint64, got []Inflection) {
	v.experiments++
	for i, g := range got {
		switch g.Verdict {
		case Found:
			v.found[i]++
		case Insufficient:
			v.insufficient[i]++
		}
		if (g.Verdict == Found) != (i == v.own()) && v.first == "" {
			v.first = fmt.Sprintf("seed %d, %s: %s %s%s", seed, g.ID, g.Verdict, g.Reason, g.Missing)
		}
	}
}

// judge holds the counts to the proof's: its own pathology in 90 % of experiments,
// another, or none, in no more than a rate of 5 % explains (P < 1 %).
func (v *verdicts) judge(t *testing.T) {
	t.Helper()
	t.Logf("%-18s of %d experiments found %v, insufficient %v", v.pathology, v.experiments, v.found, v.insufficient)
	for i, n := range v.found {
		if i == v.own() {
			if float64(n) < 0.9*float64(v.experiments) {
				t.Errorf("%q: detector %d finds it in %d of %d experiments; %s", v.pathology, i+1, n, v.experiments, v.first)
			}
			continue
		}
		if stats.BinomialSurvival(float64(n), float64(v.experiments), 0.05) < 0.01 {
			t.Errorf("%q: detector %d claims it in %d of %d experiments; %s", v.pathology, i+1, n, v.experiments, v.first)
		}
	}
}

// judgeAll holds what each detector claims of servers that have not its pathology,
// all together, to 5 %.
func judgeAll(t *testing.T, rows []verdicts) {
	t.Helper()
	for i := range 3 {
		claimed, experiments := 0, 0
		for _, v := range rows {
			if v.own() != i {
				claimed, experiments = claimed+v.found[i], experiments+v.experiments
			}
		}
		t.Logf("detector %d claims %d of %d servers that have not its pathology", i+1, claimed, experiments)
		if float64(claimed) > 0.05*float64(experiments) {
			t.Errorf("detector %d: %d of %d false claims, want 5 %% at most", i+1, claimed, experiments)
		}
	}
}

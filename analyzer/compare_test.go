package analyzer

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// armPlan is a run directory of a comparison: loads times replicates of n
// requests each, with equal ids in every arm.
type armPlan struct {
	loads      []float64
	replicates int
	n          int
	seed       uint64
	edit       func(rng *rand.Rand, r *trace.Record)
	manifest   func(*trace.Manifest)
	invalid    []string
}

func (p armPlan) write(t testing.TB) *tracedir.Dir {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run")
	m := &trace.Manifest{
		Version: "test", Origin: trace.OriginReplay, TimeBase: trace.TimeUnix, Clean: true,
		Seal: &trace.Seal{Mode: trace.ModeShape, Version: "test"},
		Run:  &trace.Run{TraceID: "tuesday", Loop: "open", Scaling: "superpose", Sessions: "causal", Cache: "as_trace", Validity: trace.Validity{Verdict: trace.Valid}},
	}
	if p.manifest != nil {
		p.manifest(m)
	}
	w, err := tracedir.Create(path, m, tracedir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(p.seed, 1))
	var levels []trace.Level
	for _, load := range p.loads {
		for replicate := range max(1, p.replicates) {
			levels = append(levels, p.level(t, w, load, int32(replicate), int32(len(levels)), rng))
		}
	}
	if err := errors.Join(w.SetLevels(levels), w.Close()); err != nil {
		t.Fatal(err)
	}
	d, err := tracedir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (p armPlan) level(t testing.TB, w *tracedir.Writer, load float64, replicate, index int32, rng *rand.Rand) trace.Level {
	t.Helper()
	window := int64(float64(p.n) / load * 1e9)
	l := trace.Level{
		Index: index, Order: index, Replicate: replicate, OfferedPerS: load, AchievedPerS: load,
		StartUnixNs: int64(index) * 1e12, EndUnixNs: int64(index)*1e12 + window,
		Scheduled: int64(p.n), Outcomes: map[trace.Outcome]int64{}, Invalid: p.invalid,
	}
	for i := range p.n {
		r := new(trace.Record)
		r.RequestID, r.Level, r.SampledWeight = fmt.Sprintf("%d", i), &index, 1
		r.APIKind = trace.KindOpenAIChat
		r.StartUnixNs = l.StartUnixNs + window*int64(i)/int64(p.n)
		r.SetOutcome(trace.OutcomeOK, "")
		r.StatusCode, r.TSentUs = new(int32(200)), new(int64(0))
		// The prompt decides most of the time; the service adds some noise.
		base := 50_000 * math.Exp(float64(i%17)/10+0.1*rng.NormFloat64())
		r.TFirstTokenUs, r.TEndUs = new(int64(base)), new(int64(4*base))
		r.OutputTokens = new(int64(10))
		if p.edit != nil {
			p.edit(rng, r)
		}
		l.Outcomes[r.Outcome]++
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// standard is a baseline of six runs.
func standard(seed uint64) armPlan {
	return armPlan{loads: []float64{20, 40, 60}, replicates: 2, n: 400, seed: seed}
}

// slower multiplies all times.
func slower(by float64) func(*rand.Rand, *trace.Record) {
	return func(_ *rand.Rand, r *trace.Record) {
		r.TFirstTokenUs, r.TEndUs = new(int64(by*float64(*r.TFirstTokenUs))), new(int64(by*float64(*r.TEndUs)))
	}
}

// failing makes a share of the requests fail.
func failing(share float64) func(*rand.Rand, *trace.Record) {
	return func(rng *rand.Rand, r *trace.Record) {
		if rng.Float64() < share {
			r.SetOutcome(trace.OutcomeHTTPError, "")
			r.StatusCode = new(int32(500))
			r.TFirstTokenUs, r.OutputTokens = nil, nil
		}
	}
}

func (c *Comparison) metric(t *testing.T, name string) MetricVerdict {
	t.Helper()
	for _, m := range c.Metrics {
		if m.Metric == name {
			return m
		}
	}
	t.Fatalf("no metric %q", name)
	return MetricVerdict{}
}

func TestCompare(t *testing.T) {
	with := func(edit func(*rand.Rand, *trace.Record)) armPlan {
		p := standard(2)
		p.edit = edit
		return p
	}
	tests := []struct {
		name      string
		candidate armPlan
		want      Gate
		metric    string
		change    Change
		reason    string
	}{
		{"the same build", with(nil), Pass, "ttft_user", Equivalent, ""},
		{"20 % slower", with(slower(1.2)), Regression, "ttft_user", Worse, "ttft_user is worse: +"},
		{"20 % faster", with(slower(0.8)), Pass, "ttft_user", Better, ""},
		{"2 % slower", with(slower(1.02)), Pass, "ttft_user", Equivalent, ""},
		{"as slow as the tolerance", with(slower(1.05)), Undecided, "ttft_user", Unclear, "no regression is not proven"},
		{"5 % errors after none", with(failing(0.05)), Regression, "error_rate", Worse, "error_rate is worse: +"},
	}
	base := standard(1).write(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := Compare(base, test.candidate.write(t), nil, CompareOptions{})
			if err != nil {
				t.Fatal(err)
			}
			m := c.metric(t, test.metric)
			if c.Verdict != test.want || m.Verdict != test.change || !strings.Contains(strings.Join(c.Reasons, "; "), test.reason) {
				t.Errorf("%s, %s %s; want %s, %s: %q\n%+v", c.Verdict, test.metric, m.Verdict, test.want, test.change, c.Reasons, m)
			}
			if c.Pairing.Unit != "run" || c.Pairing.Units != 6 || c.Pairing.Requests != 2400 {
				t.Errorf("pairing %+v", c.Pairing)
			}
		})
	}
}

// A control that differs from the baseline makes every verdict void; one that
// does not lets two runs be compared by their blocks.
func TestCompareControl(t *testing.T) {
	single := func(seed uint64, edit func(*rand.Rand, *trace.Record)) *tracedir.Dir {
		return armPlan{loads: []float64{40}, n: 2000, seed: seed, edit: edit}.write(t)
	}
	base, slow := single(1, nil), single(2, slower(1.3))
	tests := []struct {
		name    string
		control *tracedir.Dir
		want    Gate
		missing string
	}{
		{"no control, one run", nil, Undecided, "6 runs in both arms, or a control"},
		{"a stable control", single(3, nil), Regression, ""},
		{"a control that is slower too", single(3, slower(1.2)), Undecided, "a stable environment: the control"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := Compare(base, slow, test.control, CompareOptions{})
			if err != nil {
				t.Fatal(err)
			}
			m := c.metric(t, "ttft_user")
			if c.Verdict != test.want || !strings.Contains(m.Missing, test.missing) || c.Pairing.Unit != "block" {
				t.Errorf("%s, missing %q, %+v", c.Verdict, m.Missing, c.Pairing)
			}
			if test.want == Undecided && (m.Verdict != Unclear || m.Indicated == nil || *m.Indicated != Worse) {
				t.Errorf("ttft_user: %s, indicated %v", m.Verdict, m.Indicated)
			}
		})
	}
}

// What the baseline has and the candidate lacks is never a pass.
func TestCompareMissing(t *testing.T) {
	base := standard(1).write(t)
	plan := func(edit func(*armPlan)) *tracedir.Dir {
		p := standard(2)
		edit(&p)
		return p.write(t)
	}
	embeddings := func(_ *rand.Rand, r *trace.Record) {
		if len(r.RequestID)%2 == 0 {
			r.APIKind = trace.KindOpenAIEmbeddings
		}
	}
	tests := []struct {
		name            string
		base, candidate *tracedir.Dir
		want            string
	}{
		{"a load", base, plan(func(p *armPlan) { p.loads, p.replicates = []float64{20, 40}, 3 }), "loads 60 can be judged in the baseline, not in the candidate"},
		{"the first token", base, plan(func(p *armPlan) {
			p.edit = func(_ *rand.Rand, r *trace.Record) { r.TFirstTokenUs = nil }
		}), "ttft_user: no regression is not proven; it takes a measurement in the candidate: the baseline has it"},
		{"every answer", base, plan(func(p *armPlan) { p.edit = failing(1.1) }), "error_rate is worse: +100 points"},
		{"a class", plan(func(p *armPlan) { p.edit = embeddings }), plan(func(p *armPlan) {
			p.edit = func(rng *rand.Rand, r *trace.Record) {
				embeddings(rng, r)
				if r.APIKind == trace.KindOpenAIEmbeddings {
					r.SetOutcome(trace.OutcomeHTTPError, "")
					r.StatusCode = new(int32(404))
				}
			}
		}), "the candidate none"},
		{"the whole run", base, plan(func(p *armPlan) { p.invalid = []string{"sent late"} }), "the candidate is invalid"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := Compare(test.base, test.candidate, nil, CompareOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if c.Verdict == Pass || !strings.Contains(strings.Join(c.Reasons, "; "), test.want) {
				t.Errorf("%s: %q", c.Verdict, c.Reasons)
			}
		})
	}
}

// A baseline without an error has no ratio, and still a lower bound of it.
func TestCompareZeroErrors(t *testing.T) {
	p := standard(2)
	p.edit = failing(0.02)
	c, err := Compare(standard(1).write(t), p.write(t), nil, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := c.metric(t, "error_rate")
	if m.Verdict != Worse || *m.Baseline != 0 || m.RatioLow == nil || *m.RatioLow < 10 || *m.Effect.Low <= 0.5 {
		t.Errorf("%+v", m)
	}
	if shed := c.metric(t, "shed_rate"); *shed.RatioLow != 0 || shed.Verdict != Equivalent {
		t.Errorf("no shed in either arm: %+v", shed)
	}
}

// One strange run is no regression.
func TestCompareOneStrangeRun(t *testing.T) {
	p := standard(2)
	p.edit = func(rng *rand.Rand, r *trace.Record) {
		if *r.Level == 3 {
			failing(0.2)(rng, r)
		}
	}
	c, err := Compare(standard(1).write(t), p.write(t), nil, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m := c.metric(t, "error_rate"); m.Verdict != Unclear || c.Verdict != Undecided {
		t.Errorf("%s: %+v", c.Verdict, m)
	}
}

func TestCompareRefuses(t *testing.T) {
	base := standard(1).write(t)
	tests := []struct {
		name string
		edit func(*trace.Manifest)
		want string
	}{
		{"trace", func(m *trace.Manifest) { m.Run.TraceID = "monday" }, `trace "tuesday" and "monday"`},
		{"scaling", func(m *trace.Manifest) { m.Run.Scaling = "thin" }, `scaling "superpose" and "thin"`},
		{"cache", func(m *trace.Manifest) { m.Run.Cache = "primed" }, `cache state "as_trace" and "primed"`},
		{"loop", func(m *trace.Manifest) { m.Run.Loop = "closed" }, `loop "open" and "closed"`},
		{"sessions", func(m *trace.Manifest) { m.Run.Sessions = "strict" }, `sessions "causal" and "strict"`},
		{"settings", func(m *trace.Manifest) { m.Run.Knobs = []string{"max_tokens=16"} }, `settings "" and "max_tokens=16"`},
		{"mode", func(m *trace.Manifest) { m.Seal.Mode = trace.ModeFiller }, `sanitizer mode "shape" and "filler"`},
	}
	for _, test := range tests {
		p := standard(2)
		p.n, p.manifest = 10, test.edit
		if _, err := Compare(base, p.write(t), nil, CompareOptions{}); !errors.Is(err, ErrIncomparable) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	p := standard(2)
	p.manifest = func(m *trace.Manifest) { m.Run = nil }
	if _, err := Compare(base, p.write(t), nil, CompareOptions{}); !errors.Is(err, ErrNoRun) {
		t.Errorf("a trace: %v", err)
	}
}

// Requests with one id twice are left out in both arms, and counted.
func TestCompareDuplicates(t *testing.T) {
	p := standard(2)
	p.edit = func(_ *rand.Rand, r *trace.Record) {
		if r.RequestID == "7" {
			r.RequestID = "8"
		}
	}
	c, err := Compare(standard(1).write(t), p.write(t), nil, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Pairing.Duplicates != 12 || c.Pairing.Requests != 6*398 || c.Pairing.OnlyBaseline != 12 {
		t.Errorf("%+v", c.Pairing)
	}
}

// Goodput counts the answers that met the objectives, per second: of six runs
// in each arm, every fifth answer of the candidate is slower than the objective.
func TestCompareGoodput(t *testing.T) {
	plan := armPlan{loads: []float64{10, 20, 30}, replicates: 2, n: 200}
	slow := plan
	slow.edit = func(_ *rand.Rand, r *trace.Record) {
		if n, err := strconv.Atoi(r.RequestID); err == nil && n%5 == 0 {
			r.TFirstTokenUs, r.TEndUs = new(int64(900_000)), new(int64(2_000_000))
		}
	}
	slo, err := ParseObjective("ttft_user p99 800ms")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		objectives []Objective
		want       float64
		verdict    Change
	}{{[]Objective{slo}, 0.8, Worse}, {nil, 1, Equivalent}} {
		c, err := Compare(plan.write(t), slow.write(t), nil, CompareOptions{Objectives: row.objectives})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(c.Metrics, func(m MetricVerdict) bool { return m.Metric == "goodput" })
		if at < 0 {
			t.Fatal("no goodput")
		}
		m := c.Metrics[at]
		if m.Effect.Point == nil || math.Abs(*m.Effect.Point-row.want) > 1e-9 || m.Verdict != row.verdict {
			t.Errorf("with %d objectives: %+v, want %v and %s", len(row.objectives), m, row.want, row.verdict)
		}
	}
}

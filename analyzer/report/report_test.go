package report

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/analyzer"
)

// foundRun is the analysis of three levels with a transition between the
// second and the third; the first has no latency.
func foundRun() *analyzer.Analysis {
	level := func(load float64, n, errs int64, rate [3]float64) analyzer.Level {
		return analyzer.Level{
			OfferedPerS: load, AchievedPerS: load, GoodputPerS: new(min(load, 22)), Requests: n, N: n, Errors: errs, Sheds: errs / 2, Judged: true,
			ErrorRate:  analyzer.Proportion{Point: &rate[0], Low: &rate[1], High: &rate[2]},
			TTFTUserUs: analyzer.Latency{P50: new(86_000.0), P99: new(217_000.0), P99Low: new(201_000.0), P99High: new(240_000.0), N: n - errs},
		}
	}
	a := &analyzer.Analysis{
		Version:  "v1",
		Run:      analyzer.RunInfo{TraceID: "t", Target: "http://staging:8000", Loop: "open", Scaling: "superpose", Runs: 3, WindowS: 60, WarmupS: 6, Seed: 7},
		Validity: analyzer.Validity{Verdict: "valid"},
		Levels: []analyzer.Level{
			level(10, 600, 1, [3]float64{0.00167, 0.00029, 0.00938}),
			level(20, 1200, 2, [3]float64{0.00167, 0.00046, 0.0061}),
			level(30, 1800, 68, [3]float64{0.0378, 0.0299, 0.0476}),
		},
		LambdaC: analyzer.LambdaC{
			Verdict: analyzer.Found, Point: new(22.5), Low: new(20.25), High: new(24.0), Confidence: 0.95,
			Family: new("onset"), Epsilon0: new(0.0016), Delta: new(2.4), PValue: new(0.001), NotSeparable: []string{"shed"},
		},
		LambdaSLO:          analyzer.LambdaSLO{Verdict: analyzer.Found, SLO: new("error_rate 1%"), Low: new(20.0), High: new(30.0)},
		FirstToBreakReason: "brackets overlap",
		Headroom:           analyzer.Headroom{RecordedPeakPerS: new(15.0), Share: new(0.333), Low: new(0.22), High: new(0.42)},
		Curve:              []analyzer.CurvePoint{{OfferedPerS: 10, ErrorRate: 0.0016}, {OfferedPerS: 30, ErrorRate: 0.0378}},
		Families:           []analyzer.Family{{Family: "onset", Link: "log", Critical: new(22.5), Allowed: true}},
		Inflections:        []analyzer.Inflection{foundTail(), {ID: "oom_below_cpu_60", Verdict: analyzer.Insufficient, Missing: "no telemetry"}},
	}
	a.Levels[0].TTFTUserUs = analyzer.Latency{Reason: "not streamed"}
	a.Levels[2].Flags = []string{"in_flight_grew"}
	a.Levels[2].Reasons = []string{"replicate 0: 20.1 requests were in flight in the first half of the window, 34.5 in the second"}
	a.USL = &analyzer.USL{
		Verdict: analyzer.Found, GammaPerS: analyzer.Estimate{Point: new(2.5)}, Alpha: analyzer.Estimate{Point: new(0.021)},
		Beta:            analyzer.Estimate{Point: new(0.00115), Low: new(0.0009), High: new(0.0014)},
		PeakConcurrency: analyzer.Estimate{Point: new(29.2), Low: new(26.0), High: new(33.5)}, PeakPerS: analyzer.Estimate{Point: new(28.4)},
	}
	a.Objectives = []analyzer.LambdaSLO{a.LambdaSLO}
	return a
}

// wholeRun has something of everything that a report can hold.
func wholeRun() *analyzer.Analysis {
	a := foundRun()
	overTime(a)
	planned(a)
	return a
}

// overTime adds what is found over time and in texts.
func overTime(a *analyzer.Analysis) {
	a.Windows = &analyzer.Windows{BaselinePerS: new(10.0), Targets: []analyzer.Target{
		{Name: "p99_shift", Limit: 1.4, Unit: "ratio", State: analyzer.Breach, Loads: []analyzer.LoadTarget{
			{OfferedPerS: 30, State: analyzer.Breach, Windows: 9, Breached: 2, Worst: analyzer.Effect{Point: new(2.1), Low: new(1.6)}, WorstS: 120, N: 1800},
			{OfferedPerS: 10, State: analyzer.Within, Windows: 9},
		}},
		{Name: "truncation", Limit: 0.12, Unit: "share", State: analyzer.Within},
		{Name: "wrong_answers", Limit: 0.08, Unit: "share", State: analyzer.TooFew, Missing: "100 scored probes"},
	}}
	a.Recovery = &analyzer.Recovery{
		Verdict: analyzer.Found, Objectives: []string{"ttft_user p99 120ms"},
		Faults: []analyzer.FaultRecovery{
			{Name: "spike", Kind: "delay", OfferedPerS: new(20.0), Seconds: new(18.0)},
			{Name: "spike", Kind: "delay", OfferedPerS: new(30.0), Seconds: new(140.0), Censored: true},
			{Name: "pod", Kind: "kill", Missing: "hold longer"},
		},
		Medians: []analyzer.MedianRecovery{{Name: "spike", Windows: 2, Recovered: 1, Seconds: new(18.0)}},
	}
	bits := analyzer.EntropyBits{Point: new(2.01), Low: new(1.9), High: new(2.1), N: 400, Clusters: 4, Coverage: new(1.0)}
	a.Entropy = &analyzer.Entropy{
		Verdict: analyzer.Found, Method: new("lexical"), Prompts: &bits, Answers: []analyzer.LoadEntropy{{OfferedPerS: 10, EntropyBits: bits}},
		Change: analyzer.Effect{Point: new(1.58), Low: new(1.5), High: new(1.7), Unit: "bits"}, PValue: new(0.001), N: 300,
	}
	a.SteadyState = &analyzer.SteadyState{Verdict: analyzer.NotFound, Method: "token_bins", Loads: []analyzer.LoadSteady{
		{OfferedPerS: 10, Verdict: analyzer.Insufficient, Indicated: true, Similarity: new(0.87), Low: new(0.84), Prompt: "greeting", Answers: 40},
	}}
}

func TestSections(t *testing.T) {
	a := foundRun()
	if got := sections(a); len(got) != 0 {
		t.Errorf("sections without data: %v", got)
	}
	overTime(a)
	var got strings.Builder
	textSections(&got, a)
	const want = `
service-level targets over time
  p99 shift at most × 1.40: broken at 1 of 2 loads; first at 30.00/s, in 2 of 9 windows, worst × 2.10 (95 % × 1.60–open from 2m0s on)
  truncation at most 12.0 %: kept
  wrong answers at most 8.00 %: not enough requests; missing: 100 scored probes

recovery after faults
  found, objectives: ttft_user p99 120ms
  spike (delay): within the objectives again 18s after its end, at 20.00/s
  spike (delay): > 2m20s: not while it was watched, at 30.00/s
  pod (kill): not known: hold longer
  median of spike: 18s, 1 of 2 recovered

semantic entropy
  answers at the lowest and the highest load: found, change 1.58 bits (95 % 1.50–1.70), p = 0.0010, 300 prompts
  texts were compared by their letters (lexical), which says nothing of meaning
  prompts: 2.01 bits (95 % 1.90–2.10), 400 texts in 4 clusters, coverage 100 %
  answers at 10.00/s: 2.01 bits (95 % 1.90–2.10), 400 texts in 4 clusters, coverage 100 %

steady state of repeated answers
  not_found, by token bins, which know words and no meaning
  at 10.00/s insufficient, indicated: mean cosine 0.870, at least 0.840 with 95 %, of 40 answers to greeting
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
	page := html(t, a)
	for _, s := range sections(a) {
		if !strings.Contains(page, "<h2>"+s.Title+"</h2>") {
			t.Errorf("the page has no section %s", s.Title)
		}
	}
}

// foundTail is a tail at low load that one explanation is left for.
func foundTail() analyzer.Inflection {
	return analyzer.Inflection{
		ID: "p99_jump_low_concurrency", Verdict: analyzer.Insufficient, Indicated: true, PValue: new(0.0143),
		Effect: analyzer.Effect{Point: new(1.8), Low: new(1.5), High: new(2.2), Unit: "ratio"},
		Evidence: []analyzer.Evidence{
			{Name: "p99_ratio", State: analyzer.Holds, Point: new(1.8), Low: new(1.5), High: new(2.2), Unit: "ratio", PValue: new(0.0143), Text: "P99 at 2/s over that at 8/s"},
			{Name: "gpu_idle", State: analyzer.Holds, Point: new(12.0), Unit: "%", Text: "SM activity"},
		},
		Competing: []analyzer.Cause{
			{Name: "clock_ramp", State: analyzer.Unknown, Text: "the SM clock at both loads"},
			{Name: "prompt_mix", State: analyzer.Fails, Text: "the ratio is 1.79"},
		},
		Missing: "the SM clock at both loads",
	}
}

func TestHeadline(t *testing.T) {
	rows := []struct {
		name   string
		change func(*analyzer.Analysis)
		want   string
	}{
		{"invalid first", func(a *analyzer.Analysis) { a.Validity.Verdict = "invalid" }, "The run is invalid: its numbers say nothing about the service."},
		{"killed", func(a *analyzer.Analysis) {
			a.Validity = analyzer.Validity{Verdict: "invalid", Reasons: []string{"not finished: the replay was killed"}}
		}, "No verdict: not finished: the replay was killed. The 3 loads that can be judged are below, for what they are worth."},
		{"nothing answered", func(a *analyzer.Analysis) {
			a.Validity = analyzer.Validity{Verdict: "invalid", Reasons: []string{"not one request was answered"}}
			for i := range a.Levels {
				a.Levels[i].Errors = a.Levels[i].N
			}
		}, "The run is invalid: its numbers say nothing about the service."},
		{"interval only", func(a *analyzer.Analysis) { a.LambdaC.Point, a.Headroom = nil, analyzer.Headroom{} }, "λc lies in 20.25–24.00 req/s (95 %), shape onset"},
		{"below the first level", func(a *analyzer.Analysis) {
			a.LambdaC.Point, a.LambdaC.Low, a.LambdaC.Family, a.Headroom = nil, nil, nil, analyzer.Headroom{}
		}, "λc is below 24.00 req/s (95 %)"},
		{"above the last", func(a *analyzer.Analysis) {
			a.LambdaC.Point, a.LambdaC.High, a.LambdaC.Family, a.Headroom = nil, nil, nil, analyzer.Headroom{}
		}, "λc is above 20.25 req/s (95 %)"},
		{"head-room without a point", func(a *analyzer.Analysis) { a.LambdaC.Point, a.Headroom.Share = nil, nil }, "λc lies in 20.25–24.00 req/s (95 %), shape onset; today's peak is 15.00 req/s, so at least 22.0 % head-room"},
		{"no head-room", func(a *analyzer.Analysis) { a.Headroom.Share = new(-0.1) }, "λc = 22.50 req/s (95 % 20.25–24.00), shape onset; today's peak is 15.00 req/s, above λc: no head-room (95 % 22.0 %–42.0 %)"},
		{"insufficient", func(a *analyzer.Analysis) {
			a.LambdaC = analyzer.LambdaC{Verdict: analyzer.Insufficient, Missing: "5 levels, there are 3"}
		}, "λc: not enough evidence. 5 levels, there are 3"},
		{"not found", func(a *analyzer.Analysis) {
			a.LambdaC = analyzer.LambdaC{Verdict: analyzer.NotFound, DetectableRatio: new(3.2)}
		}, "No transition in the tested range (10.00–30.00 req/s); a rise to 3.2 times the base error rate would have been found with 80 % power"},
	}
	for _, row := range rows {
		a := foundRun()
		row.change(a)
		if got := headline(a); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

// TestHTML: the page needs no network, shows the verdict first, draws both
// curves in both themes, and has a row for every level.
func TestHTML(t *testing.T) {
	a := wholeRun()
	a.Warnings = []string{"<script>alert(1)</script>"}
	page := html(t, a)
	if i, j := strings.Index(page, "<h1>λc = 22.50 req/s"), strings.Index(page, "<svg"); i < 0 || j < i {
		t.Errorf("the verdict is at %d, the first chart at %d", i, j)
	}
	for text, n := range map[string]int{
		"<svg":                       6, // errors, latency and goodput, light and dark
		"<h2 id=\"errors\">":         1,
		"<h2 id=\"latency\">":        1,
		"<h2 id=\"goodput\">":        1,
		"<td>20.00</td>":             4, // levels, sent, goodput, and what it costs
		"fitted onset":               2,
		"prefers-color-scheme: dark": 2,
		"@media print":               1,
		"default-src &#39;none&#39;": 0,
		"default-src 'none'":         1,
		"&lt;script&gt;alert(1)&lt;": 1,
		"not streamed":               1,
		"no telemetry":               1,
		"7 replicas of what was run": 2,
		"NaN":                        0,
		"Inf ":                       0,
		"<script":                    0,
		"<link":                      0,
		"<img":                       0,
		"url(":                       0,
		"@import":                    0,
		"src=":                       0,
	} {
		if got := strings.Count(page, text); got != n {
			t.Errorf("%q is there %d times, want %d", text, got, n)
		}
	}
	for rest := page; ; {
		_, after, found := strings.Cut(rest, "href=\"http")
		if !found {
			break
		}
		t.Errorf("the page points to http%.40s", after)
		rest = after
	}
}

// TestHTMLOfLittle: pages of what could not be measured are made all the same.
func TestHTMLOfLittle(t *testing.T) {
	rows := map[string]func(*analyzer.Analysis){
		"no level":   func(a *analyzer.Analysis) { a.Levels, a.Curve = nil, nil },
		"no latency": func(a *analyzer.Analysis) { a.Levels = a.Levels[:1] },
		"no fit":     func(a *analyzer.Analysis) { a.LambdaC, a.Curve, a.Families = analyzer.LambdaC{}, nil, nil },
		"open end":   func(a *analyzer.Analysis) { a.LambdaC.High = nil },
		"no count": func(a *analyzer.Analysis) {
			for i := range a.Levels {
				a.Levels[i] = analyzer.Level{OfferedPerS: a.Levels[i].OfferedPerS, Reasons: []string{"invalid"}}
			}
		},
		"nothing": func(a *analyzer.Analysis) { *a = analyzer.Analysis{} },
	}
	for name, change := range rows {
		a := foundRun()
		change(a)
		if page := html(t, a); strings.Contains(page, "NaN") || !strings.HasSuffix(page, "</html>\n") {
			t.Errorf("%s: the page is broken", name)
		}
		if err := Text(io.Discard, a); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func html(t *testing.T, a *analyzer.Analysis) string {
	t.Helper()
	var b strings.Builder
	if err := HTML(&b, a); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrors(t *testing.T) {
	if err := HTML(full{}, foundRun()); !errors.Is(err, errFull) {
		t.Errorf("HTML: %v", err)
	}
	if err := Text(full{}, foundRun()); !errors.Is(err, errFull) {
		t.Errorf("Text: %v", err)
	}
}

func TestSignificant(t *testing.T) {
	for _, row := range []struct {
		v    float64
		n    int
		want string
	}{
		{0, 4, "0"}, {22.5, 4, "22.50"}, {0.001669, 3, "0.00167"}, {12345.6, 3, "12300"}, {-3.14159, 3, "-3.14"}, {99.999, 4, "100.00"},
	} {
		if got := significant(row.v, row.n); got != row.want {
			t.Errorf("significant(%v, %d) = %q, want %q", row.v, row.n, got, row.want)
		}
	}
}

package analyzer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// meaning writes features: answers are of so many clusters, prompts of eight.
func meaning(clusters int) func(i int, r *trace.Record) {
	rng := rand.New(rand.NewPCG(uint64(clusters), 5))
	return func(i int, r *trace.Record) {
		r.RequestID = fmt.Sprintf("p%d#%d", i, *r.Level) // the same prompts at each load
		r.Features = &trace.Features{
			RequestID: r.RequestID, ClusterMethod: new("lexical"),
			InCluster: new(int32(i % 8)), OutCluster: new(int32(rng.IntN(clusters))),
		}
	}
}

func TestAnalyzeEntropy(t *testing.T) {
	plans := func(top int) []levelPlan {
		return []levelPlan{{load: 10, n: 400, edit: meaning(4)}, {load: 20, n: 400, edit: meaning(4)}, {load: 30, n: 300, edit: meaning(top)}}
	}
	e := analyzed(t, plans(12)).Entropy
	if e == nil || e.Verdict != Found || *e.Method != "lexical" || e.N != 300 || len(e.Answers) != 3 {
		t.Fatalf("%+v", e)
	}
	for name, row := range map[string][2]float64{
		"prompts": {*e.Prompts.Point, 3}, "answers at 10/s": {*e.Answers[0].Point, 2}, "answers at 30/s": {*e.Answers[2].Point, math.Log2(12)},
		"change": {*e.Change.Point, math.Log2(3)}, "rarefied": {*e.Answers[0].Rarefied, 2},
	} {
		if math.Abs(row[0]-row[1]) > 0.1 {
			t.Errorf("%s: %.3f bits, want %.3f", name, row[0], row[1])
		}
	}
	if e := analyzed(t, plans(4)).Entropy; e.Verdict != NotFound {
		t.Errorf("the same at all loads: %+v", e)
	}
	if e := analyzed(t, plans(4)[:1]).Entropy; e.Verdict != Insufficient || e.Missing == "" {
		t.Errorf("one load: %+v", e)
	}
	if e := analyzed(t, []levelPlan{{load: 10, n: 40, edit: meaning(4)}}).Entropy; e.Answers[0].Verdict != Insufficient || e.Answers[0].Estimator != "chao_shen" {
		t.Errorf("40 answers: %+v", e)
	}
	exact := func(i int, r *trace.Record) {
		meaning(4)(i, r)
		r.Features.ClusterMethod, r.Features.InCluster = new(trace.ClusterExact), nil
	}
	if e := analyzed(t, []levelPlan{{load: 10, n: 100, edit: exact}}).Entropy; e.Prompts != nil || len(e.Answers) != 0 || e.Missing == "" {
		t.Errorf("answers numbered for each probe: %+v", e)
	}
	if a := analyzed(t, []levelPlan{{load: 10, n: 40}}); a.Entropy != nil || a.SteadyState != nil {
		t.Errorf("without features: %+v", a.Entropy)
	}
}

// analyzed analyzes a run directory.
func analyzed(t *testing.T, plans []levelPlan, beside ...func(*tracedir.Writer)) *Analysis {
	t.Helper()
	a, err := Analyze(writeRun(t, plans, nil, beside...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// similar are vectors whose mean pairwise cosine is near s.
func similar(rng *rand.Rand, n int, s float64) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		v, square := make([]float64, 64), 0.0
		for j := 1; j < len(v); j++ {
			v[j] = rng.NormFloat64()
			square += v[j] * v[j]
		}
		for j := range v {
			v[j] *= math.Sqrt((1 - s) / square)
		}
		v[0] = math.Sqrt(s)
		out[i] = v
	}
	return out
}

// Within five minutes of an answer every 5 s.
func TestCalibrateSteadyState(t *testing.T) {
	n := scale(200, 1000)
	for _, c := range []struct{ cosine, least, most float64 }{{0.84, 0, 0.02}, {0.80, 0, 0.02}, {0.93, 0.93, 1}} {
		checkShare(t, fmt.Sprintf("mean cosine %g", c.cosine), n, c.least, c.most, func(i int) bool {
			var l LoadSteady
			l.watch(similar(rand.New(rand.NewPCG(uint64(i), 4)), 60, c.cosine))
			return l.Verdict == Found
		})
	}
}

func TestSteadyState(t *testing.T) {
	// One prompt, asked each second for 200 s; answers share most of their tokens.
	plan := func(load float64, own int, change func(i int, r *trace.Record)) levelPlan {
		rng := rand.New(rand.NewPCG(uint64(own), 6))
		return levelPlan{load: load, n: int(200 * load), edit: func(i int, r *trace.Record) {
			r.Temperature, r.Seed = new(0.7), new(int64(i))
			bins := make([]int32, tokenBins)
			for b := range 40 {
				bins[b] = 5
			}
			for range own {
				bins[rng.IntN(tokenBins)] += 5
			}
			r.Features = &trace.Features{RequestID: r.RequestID, ProbeID: new("greeting"), ProbeScore: new(1.0), OutTokenBins: bins}
			if change != nil {
				change(i, r)
			}
		}}
	}
	rows := []struct {
		name string
		plan levelPlan
		want Verdict
		says string
	}{
		{"steady", plan(1, 4, nil), Found, ""},
		{"all different", plan(1, 200, nil), NotFound, ""},
		{"temperature 0", plan(1, 4, func(_ int, r *trace.Record) { r.Temperature = new(0.0) }), Insufficient, "temperature 0"},
		{"one seed", plan(1, 4, func(_ int, r *trace.Record) { r.Seed = new(int64(7)) }), Insufficient, "one seed"},
		{"no bins", plan(1, 4, func(_ int, r *trace.Record) { r.Features.OutTokenBins = nil }), Insufficient, "out_token_bins"},
		{"short", levelPlan{load: 1, n: 100, edit: plan(1, 4, nil).edit}, Insufficient, "36 answers"},
	}
	for _, row := range rows {
		got := analyzed(t, []levelPlan{row.plan}).SteadyState
		if got.Verdict != row.want || (got.Missing == "") != (row.says == "") {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}

package analyzer

import (
	"testing"
	"time"
)

// slowRun is a window whose slow requests are spread over blocks as given, out
// of 100 requests a block.
func slowRun(slow [blocksPerRun]int) *run {
	o := Objective{Metric: "ttft_user", Quantile: 0.95, Max: time.Second}
	r := newRun(levelAt(10), deadlines{}, []Objective{o})
	for b, n := range slow {
		for i := range 100 {
			d := 10 * time.Millisecond
			if i < n {
				d = 50 * time.Millisecond
			}
			r.misses[0][b].n++
			r.spread[0][b].add(d)
		}
	}
	return r
}

func TestClustering(t *testing.T) {
	even := [blocksPerRun]int{5, 5, 5, 5, 5, 5, 5, 5}
	rising := [blocksPerRun]int{0, 0, 0, 0, 0, 0, 0, 40}
	o := Objective{Metric: "ttft_user", Quantile: 0.95, Max: time.Second}
	tests := []struct {
		name    string
		runs    []*run
		filling bool
		phi     float64 // by hand
	}{
		// No request misses the limit of 1 s: it is the slowest 5 % that count.
		{"evenly spread", []*run{slowRun(even)}, false, 1},
		// X² = (7·5² + 35²) ÷ 4.75 = 294.7, over 7.
		{"all in one block", []*run{slowRun(rising)}, false, 42.11},
		// One difference of 40: 1600 ÷ 4.75 ÷ (2·7).
		{"a rise is no chance", []*run{slowRun(rising)}, true, 24.06},
		// Between runs: 0 and 80 of 800 at 5 %: 2·40² ÷ 38, and between the
		// 16 blocks 16·5² ÷ 4.75 ÷ 15 = 5.6.
		{"all in one run", []*run{slowRun([blocksPerRun]int{}), slowRun([blocksPerRun]int{10, 10, 10, 10, 10, 10, 10, 10})}, false, 84.2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := &load{judged: test.runs, steady: !test.filling}
			c := l.clustering(o, 0)
			if got := c.dispersion(runEffect([]clustering{c})).Phi; !near(got, test.phi, 0.01) {
				t.Errorf("φ = %.2f, want %.2f", got, test.phi)
			}
		})
	}
}

// A load is deflated by its own dispersion and that of the next; the highest by
// that of the load below where it is larger.
func TestDeflations(t *testing.T) {
	o := Objective{Metric: "ttft_user", Quantile: 0.95, Max: time.Second}
	quiet := &load{judged: []*run{slowRun([blocksPerRun]int{5, 5, 5, 5, 5, 5, 5, 5})}, steady: true}
	busy := &load{judged: []*run{slowRun([blocksPerRun]int{0, 0, 0, 0, 0, 0, 0, 40})}, steady: true}
	// F.95(1, 14) = 4.600 and F.95(1, 7) = 5.591, over χ².95(1) = 3.841.
	got := deflations([]*load{quiet, busy, quiet}, o, 0)
	want := []float64{6.489 * 4.600 / 3.841, 6.489 * 4.600 / 3.841, 42.11 * 5.591 / 3.841}
	for i := range want {
		if !near(got[i], want[i], 0.01) {
			t.Errorf("load %d is deflated by %.2f, want %.2f", i, got[i], want[i])
		}
	}
}

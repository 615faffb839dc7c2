package stats

import (
	"math"
	"testing"
)

// near reports whether got is within rel of want, relative to want.
func near(got, want, rel float64) bool {
	if want == 0 {
		return math.Abs(got) <= rel
	}
	return math.Abs(got-want) <= rel*math.Abs(want)
}

// T10: exact and score intervals.
func TestProportionIntervals(t *testing.T) {
	tests := []struct {
		name      string
		k, n      float64
		wilson    bool
		low, high float64
		source    string
	}{
		{"one of 5000", 1, 5000, false, 5.06354878e-6, 1.113819380e-3, "R 4.2.2 binom.test"},
		{"38 of 1000", 38, 1000, false, 0.027028816, 0.051787104, "R 4.2.2 binom.test"},
		{"none of 300", 0, 300, false, 0, 0.0122209747, "R 4.2.2 binom.test"},
		{"all of 300", 300, 300, false, 1 - 0.0122209747, 1, "mirror of none"},
		{"wilson 38 of 1000", 38, 1000, true, 0.0278090045, 0.0517269203, "R 4.2.2 prop.test(correct=FALSE)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ClopperPearson(test.k, test.n, 0.95)
			if test.wilson {
				got = Wilson(test.k, test.n, 0.95)
			}
			if !near(got.Low, test.low, 1e-7) || !near(got.High, test.high, 1e-7) {
				t.Errorf("got [%.10g, %.10g], want [%.10g, %.10g] (%s)", got.Low, got.High, test.low, test.high, test.source)
			}
		})
	}
}

func TestBinomialTails(t *testing.T) {
	// R 4.2.2: pbinom(59, 100, .2, lower.tail = FALSE) is far below the
	// rounding of 1 − CDF.
	tests := []struct {
		name      string
		got, want float64
	}{
		{"survival of everything", BinomialSurvival(0, 10, 0.3), 1},
		{"survival beyond n", BinomialSurvival(11, 10, 0.3), 0},
		{"cdf below 0", BinomialCDF(-1, 10, 0.3), 0},
		{"cdf at n", BinomialCDF(10, 10, 0.3), 1},
		{"all of 40 at 0.5", BinomialSurvival(40, 40, 0.5), math.Pow(0.5, 40)},
		{"all of 20 at 0.1", BinomialSurvival(20, 20, 0.1), 1e-20},
		{"none of 20 at 0.9", BinomialCDF(0, 20, 0.9), 1e-20},
	}
	for _, test := range tests {
		if !near(test.got, test.want, 1e-9) {
			t.Errorf("%s: got %g, want %g", test.name, test.got, test.want)
		}
	}
}

func TestCountsCheck(t *testing.T) {
	ok := Counts{X: []float64{1, 2}, N: []float64{5, 5}, K: []float64{0, 5}}
	if err := ok.Check(); err != nil {
		t.Errorf("good counts: %v", err)
	}
	bad := map[string]Counts{
		"lengths":     {X: []float64{1}, N: []float64{5, 5}, K: []float64{0}},
		"empty level": {X: []float64{1}, N: []float64{0}, K: []float64{0}},
		"k above n":   {X: []float64{1}, N: []float64{5}, K: []float64{6}},
		"equal loads": {X: []float64{1, 1}, N: []float64{5, 5}, K: []float64{0, 0}},
		"nan load":    {X: []float64{math.NaN()}, N: []float64{5}, K: []float64{0}},
	}
	for name, c := range bad {
		if c.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// T16: the early stopping of MLPerf's load generator, h queries below the limit
// with t above it at 99 % confidence, is a binomial tail; its query counts are
// those of a normal margin of a twentieth of 1 − p. R 4.2.2 on its formulas.
func TestBinomialTailsOfMLPerf(t *testing.T) {
	for _, test := range []struct {
		quantile float64
		least    [6]int
		queries  float64
	}{
		{0.90, [6]int{44, 63, 79, 94, 109, 122}, 23885.63},
		{0.95, [6]int{90, 129, 163, 195, 225, 254}, 50425.21},
		{0.97, [6]int{152, 218, 275, 329, 379, 428}, 0},
		{0.99, [6]int{459, 661, 836, 998, 1153, 1302}, 262741.91},
	} {
		for over, want := range test.least {
			tail := func(h int) float64 {
				return BinomialCDF(float64(over), float64(h+over), 1-test.quantile)
			}
			if tail(want) > 0.01 || tail(want-1) <= 0.01 {
				t.Errorf("p%g, %d over: %d queries leave %g, one less %g, want 0.01 between", 100*test.quantile, over, want, tail(want), tail(want-1))
			}
		}
		z, margin := normalQuantile(0.995), (1-test.quantile)/20
		if n := z * z * test.quantile * (1 - test.quantile) / margin / margin; test.queries > 0 && !near(n, test.queries, 1e-7) {
			t.Errorf("p%g: %.2f queries, want %.2f", 100*test.quantile, n, test.queries)
		}
	}
}

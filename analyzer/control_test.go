package analyzer

import (
	"math"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// TestRelateControl: the interval of the difference is Zou and Donner's: for
// symmetric ones the root of the sum of squares.
func TestRelateControl(t *testing.T) {
	found := func(low, point, high *float64) LambdaC {
		return LambdaC{Verdict: Found, Low: low, Point: point, High: high}
	}
	fifty := found(new(47.0), new(50.0), new(53.0))
	for _, tt := range []struct {
		name      string
		control   LambdaC
		want      Verdict
		low, high float64 // NaN = not known
	}{
		{"apart", found(new(36.0), new(40.0), new(44.0)), Found, 5, 15},
		{"near", found(new(44.0), new(48.0), new(52.0)), NotFound, -3, 7},
		{"no upper end", found(new(36.0), new(40.0), nil), Insufficient, math.NaN(), 15},
		{"an end is enough", found(new(56.0), new(60.0), nil), Found, math.NaN(), -5},
		{"no point", found(new(36.0), nil, new(44.0)), Found, 3, 17},
		{"none", LambdaC{Verdict: NotFound}, Insufficient, math.NaN(), math.NaN()},
	} {
		valid := Validity{Verdict: trace.Valid}
		c := RelateControl(&Analysis{Validity: valid, LambdaC: fifty}, &Analysis{Validity: valid, LambdaC: tt.control})
		if c.Verdict != tt.want || !isEnd(c.Low, tt.low) || !isEnd(c.High, tt.high) || (c.Reason != "") != (tt.want == Insufficient) {
			t.Errorf("%s: %+v", tt.name, c)
		}
	}
	broken := RelateControl(&Analysis{Validity: Validity{Verdict: trace.Valid}, LambdaC: fifty}, &Analysis{Validity: Validity{Verdict: trace.Invalid}, LambdaC: fifty})
	if broken.Verdict != Insufficient || broken.Difference != nil {
		t.Errorf("%+v", broken)
	}
}

func isEnd(got *float64, want float64) bool {
	if math.IsNaN(want) {
		return got == nil
	}
	return got != nil && math.Abs(*got-want) < 1e-9
}

package stats

import (
	"math"
	"testing"
)

func TestWithinLevels(t *testing.T) {
	// By hand: level 0 has p̂ = 0.1, runs 5 and 15 of 100: X² = 2·25/9; level 1
	// has one run and counts for nothing. s̄ is 0 for equal n.
	runs := []Run{{0, 100, 5}, {0, 100, 15}, {1, 100, 50}}
	got := WithinLevels(2, runs)
	if !near(got.Phi, 50.0/9, 1e-12) || got.DF != 1 {
		t.Errorf("got %+v, want φ 5.556 with 1 degree of freedom", got)
	}
	if got := WithinLevels(2, runs[1:]); got.Phi != 1 || got.DF != 0 {
		t.Errorf("without replicates: %+v", got)
	}
	if got := WithinLevels(1, []Run{{0, 100, 0}, {0, 100, 0}}); got.Phi != 1 || got.DF != 0 {
		t.Errorf("without failures: %+v", got)
	}
}

func TestFQuantile(t *testing.T) {
	// R 4.2.2: qf(.95, 1, 6) = 5.987378, qf(.95, 1, 16) = 4.493998.
	for _, test := range []struct{ nu, want float64 }{{6, 5.987378}, {16, 4.493998}, {1e12, chi95}} {
		if got := FQuantile(0.95, test.nu); !near(got, test.want, 1e-6) {
			t.Errorf("ν=%g: got %g, want %g", test.nu, got, test.want)
		}
	}
}

func TestSuccessive(t *testing.T) {
	blocks := func(level int, ks ...float64) []Run {
		var out []Run
		for _, k := range ks {
			out = append(out, Run{Level: level, N: 100, K: k})
		}
		return out
	}
	tests := []struct {
		name    string
		levels  int
		blocks  []Run
		phi, df float64
	}{
		{"equal", 1, blocks(0, 5, 5, 5, 5), 1, 2},
		// p = 0.2, npq = 16: differences 20, 20, 20: 3·400 ÷ 16 ÷ 6.
		{"alternating", 1, blocks(0, 10, 30, 10, 30), 12.5, 2},
		// differences 10, 10, 10 about p = 0.25: 300 ÷ 18.75 ÷ 6.
		{"a line", 1, blocks(0, 10, 20, 30, 40), 2.6667, 2},
		{"the step between two levels is no difference", 2, append(blocks(0, 5, 5, 5), blocks(1, 50, 50, 50)...), 1, 8.0 / 3},
		{"nothing failed", 1, blocks(0, 0, 0, 0, 0), 1, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Successive(test.levels, test.blocks)
			if math.Abs(got.Phi-test.phi) > 1e-3 || math.Abs(got.DF-test.df) > 1e-9 {
				t.Errorf("got %+v, want φ %g with %g degrees of freedom", got, test.phi, test.df)
			}
		})
	}
}

func TestBetween(t *testing.T) {
	known, other := Dispersion{Phi: 4, DF: 7}, Dispersion{Phi: 9, DF: 3}
	if got := known.Between(other); got != (Dispersion{Phi: 6, DF: 10}) {
		t.Errorf("%+v", got)
	}
	if got := known.Between(Dispersion{Phi: 1}); got != known {
		t.Errorf("%+v, want that which is known", got)
	}
	if got := (Dispersion{Phi: 1}).Between(known); got != known {
		t.Errorf("%+v, want that which is known", got)
	}
	if got := (Dispersion{Phi: 1}).Deflation(0.95); got != 1 {
		t.Errorf("deflated by %g without any degree of freedom", got)
	}
}

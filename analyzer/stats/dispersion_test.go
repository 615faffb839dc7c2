package stats

import "testing"

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

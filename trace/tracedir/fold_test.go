package tracedir

import "testing"

func TestFoldPlan(t *testing.T) {
	// parts are "folds:size", all of one host.
	type p struct {
		folds int
		size  int64
	}
	repeat := func(n int, x p) (all []p) {
		for range n {
			all = append(all, x)
		}
		return all
	}
	join := func(runs ...[]p) (all []p) {
		for _, r := range runs {
			all = append(all, r...)
		}
		return all
	}
	tests := []struct {
		name     string
		parts    []p
		all      bool
		from, to int
	}{
		{"nothing", nil, false, 0, 0},
		{"nothing at the end", nil, true, 0, 0},
		{"too few", repeat(7, p{0, 1}), false, 0, 0},
		{"a full run", repeat(9, p{0, 1}), false, 0, 8},
		{"young ones after old ones", join(repeat(2, p{1, 8}), repeat(8, p{0, 1})), false, 2, 10},
		{"old ones first", join(repeat(8, p{1, 8}), repeat(8, p{0, 1})), false, 0, 8},
		{"large ones are left", join(repeat(3, p{2, 90}), repeat(8, p{0, 1})), false, 3, 11},
		{"a run that would be too large", repeat(8, p{0, 30}), false, 0, 3},
		{"each too large", repeat(8, p{0, 60}), false, 0, 0},
		{"few at the end", join(repeat(1, p{2, 20}), repeat(2, p{1, 8}), repeat(3, p{0, 1})), true, 0, 6},
		{"one at the end", repeat(1, p{0, 1}), true, 0, 0},
		{"large ones at the end", join(repeat(1, p{2, 60}), repeat(2, p{0, 1})), true, 1, 3},
		{"large ones in the middle", join(repeat(3, p{0, 1}), repeat(1, p{2, 60}), repeat(9, p{0, 1})), false, 4, 12},
		{"larger than the limit", repeat(3, p{0, 200}), true, 0, 0},
	}
	for _, tt := range tests {
		var parts []foldable
		for _, x := range tt.parts {
			parts = append(parts, foldable{part: part{size: x.size}, folds: x.folds})
		}
		if from, to := foldPlan(parts, 100, tt.all); from != tt.from || to != tt.to {
			t.Errorf("%s: [%d, %d), want [%d, %d)", tt.name, from, to, tt.from, tt.to)
		}
	}
}

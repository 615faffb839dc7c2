package recorder

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/bpf"
)

// TestEBPFBudget: a recording that uses 80 % of its memory or its CPU copies
// less by a step a second, up to nothing but counts, and more again once it
// uses 70 % at most; each second's row of the capture table says how far it
// went.
func TestEBPFBudget(t *testing.T) {
	const second = int64(time.Second)
	memory := int64(Limits{}.memory())
	for _, row := range []struct {
		name        string
		cpu, memory func(s int64) int64 // the use by then, and then
		calls       func(s int64) uint64
	}{
		{"memory", func(int64) int64 { return 0 }, func(s int64) int64 {
			if s < 7 {
				return memory*8/10 + 1
			}
			if s < 12 {
				return memory * 75 / 100 // neither up nor down
			}
			return memory * 7 / 10
		}, nil},
		{"CPU", func(s int64) int64 { return min(s, 7)*second*9/10 + max(0, min(s, 12)-7)*second*3/4 }, func(int64) int64 { return 0 }, nil},
		{
			"calls", func(int64) int64 { return 0 }, func(int64) int64 { return 0 },
			func(s int64) uint64 { return uint64(min(s, 7)*900_000 + max(0, min(s, 12)-7)*750_000) },
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newFake()
			k.control = []bpf.Control{openAt(7)}
			for i := range int64(30) {
				k.data = append(k.data, out(7, i, "x", time.Duration(i)*time.Second))
			}
			src := newEBPFSource(k, k.clocks)
			seconds := func() int64 { return (k.boot - bootStart) / second }
			src.budget.usage = func() (int64, int64) { return row.cpu(seconds()), row.memory(seconds()) }
			if row.calls != nil {
				k.counts = func() (c bpf.Counts) {
					c.Want[0].Events = row.calls(seconds())
					return c
				}
			}
			src.sleep = func(d time.Duration) {
				if k.pass(d); seconds() >= 29 {
					src.Close()
				}
			}
			var sink collector
			if _, err := Run(t.Context(), src, &sink, Config{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]bpf.Step{1, 2, 3, 4, 5, 4, 3, 2, 1, 0}, k.steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			var rows []int32
			for i, w := range sink.windows {
				if i == 0 || w.LadderStep != rows[len(rows)-1] {
					rows = append(rows, w.LadderStep)
				}
			}
			for len(rows) > 0 && rows[0] < 2 { // the first row is part of a second
				rows = rows[1:]
			}
			if diff := cmp.Diff([]int32{2, 3, 4, 5, 4, 3, 2, 1, 0}, rows); diff != "" {
				t.Errorf("ladder_step (-want +got):\n%s", diff)
			}
		})
	}
}

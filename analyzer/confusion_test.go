package analyzer

import (
	"testing"

	"github.com/lambdac/lambdac/internal/twin"
)

// Each detector finds its own pathology and none of the others, and nothing on the
// healthy server: every server is put to the same experiment.
func TestCalibrateConfusion(t *testing.T) {
	for _, c := range []struct {
		name        string
		queue       int
		untold      bool
		short, full int
	}{
		{"four may wait", 4, false, 3, 20},
		// Stalls become delays in place of errors.
		{"two hundred may wait", 200, false, 0, 20},
		// A remote server, known by its metrics only.
		{"what was asked of the kernel is not told", 4, true, 0, 20},
	} {
		seeds := scale(c.short, c.full)
		if seeds == 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			names := ailments()
			seedOf := func(i int) uint64 { return uint64(1000*(i/seeds) + i%seeds + 1) } // no two experiments share their luck
			got := parallel(len(names)*seeds, func(i int) []Inflection {
				x := ailing{pathology: names[i/seeds], seed: seedOf(i), queue: c.queue, untold: c.untold}
				return Inflections(x.observe(t))
			})
			rows := make([]verdicts, len(names))
			for i, g := range got {
				rows[i/seeds].pathology = names[i/seeds]
				rows[i/seeds].take(seedOf(i), g)
			}
			for i := range rows {
				rows[i].judge(t)
			}
			judgeAll(t, rows)
		})
	}
}

// TestLookAlikes: what resembles a pathology is named as what it is.
func TestLookAlikes(t *testing.T) {
	memory := Inflections(ailing{pathology: twin.MemoryExhaustion, seed: 1, queue: 4}.observe(t))[1]
	if memory.Verdict != NotFound || causeOf(memory, "exhaustion") != Holds {
		t.Errorf("a leak: %s %s%s", memory.Verdict, memory.Reason, memory.Missing)
	}
	tail := Inflections(ailing{pathology: twin.ClockRamp, seed: 1, queue: 4}.observe(t))[2]
	if tail.Verdict != Insufficient || causeOf(tail, "clock_ramp") != Holds || causeOf(tail, "power_state") != Holds {
		t.Errorf("a clock that ramps: %s %s%s", tail.Verdict, tail.Reason, tail.Missing)
	}
}

// causeOf is the state of a competing cause.
func causeOf(i Inflection, name string) State {
	for _, c := range i.Competing {
		if c.Name == name {
			return c.State
		}
	}
	return Unknown
}

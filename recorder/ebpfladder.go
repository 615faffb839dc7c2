package recorder

import (
	"github.com/lambdac/lambdac/bpf"
)

const (
	// lookEvery is how often the data ring's fill is looked at.
	lookEvery = int64(50e6)
	// fillUp and fillDown are the fills at which less is copied, and at which
	// more may be again, once it was so for calmFor.
	fillUp, fillDown = 0.5, 0.1
	calmFor          = int64(2e9)
)

// rung is where on the ladder the recorder stands: how much the kernel copies.
// It goes up by a step each time the ring is found half full, or a new measure
// of what the recorder uses is near its budget, and down by one after neither
// was so for a while.
type rung struct {
	step bpf.Step
	// calm is since when the ring was nearly empty; 0 = it is not.
	calm int64
	// peak is the highest step since it was asked for.
	peak bpf.Step
}

// look moves on the ladder by how full the ring is now.
func (r *rung) look(k kernel, used *ebpfBudget, now int64) error {
	fresh, err := used.measure(k, now)
	if err != nil {
		return err
	}
	step := r.next(k.Fill(), used.share, fresh, now)
	r.peak = max(r.peak, step)
	if step == r.step {
		return nil
	}
	r.step = step
	return k.SetLadder(step)
}

// next is the step for a fill and a share of the budget, which is fresh where
// it was not looked at before.
func (r *rung) next(fill, share float64, fresh bool, now int64) bpf.Step {
	switch {
	case fill >= fillUp, share >= shareUp && fresh:
		r.calm = 0
		return min(r.step+1, bpf.Detach)
	case fill > fillDown, share > shareDown:
		r.calm = 0
	case r.calm == 0:
		r.calm = now
	case now-r.calm >= calmFor && r.step > bpf.All:
		r.calm = now
		return r.step - 1
	}
	return r.step
}

// ladder is the highest step since the last call.
func (s *ebpfSource) ladder() int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	peak := s.rung.peak
	s.rung.peak = s.rung.step
	return int32(peak)
}

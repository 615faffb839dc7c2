package twin

import (
	"math"
	"time"
)

const (
	// loadEvery is the mean time between two loads, loadTime how long one takes.
	loadEvery = time.Minute
	loadTime  = 3 * time.Second
)

// modelLoad is a server whose model is swapped out for another's now and then,
// at times that have nothing to do with the load, and is loaded again by the
// next step.
type modelLoad struct {
	e    *Engine
	n    uint64
	next int64
}

func attachModelLoad(e *Engine) {
	m := &modelLoad{e: e}
	m.draw()
	e.hooks.delay = append(e.hooks.delay, m.delay)
}

// draw is the time of the next loss of the model: gaps are exponential.
func (m *modelLoad) draw() {
	m.n++
	u := 1 - unit(hashOf(hashOf(m.e.seed, streamStall), m.n))
	m.next = m.e.now + int64(-math.Log(u)*float64(loadEvery))
}

func (m *modelLoad) delay(time.Duration) time.Duration {
	if m.e.now < m.next {
		return 0
	}
	m.draw()
	return loadTime
}

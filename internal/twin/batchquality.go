package twin

// worstWrong is the share of wrong answers that a full batch adds. Published
// cases lose 1.7 points from a batch of 32 to one of 128; this is stronger, so
// that some hundred questions show it.
const worstWrong = 0.12

// attachBatchQuality makes answers wrong with a probability that rises from 0
// for a request that is alone in the batch to worstWrong in a full one, in
// proportion: state that is shared across the batch. What counts is the batch
// that makes the answer's first token.
func attachBatchQuality(e *Engine) {
	e.hooks.wrong = func() float64 {
		return worstWrong * float64(len(e.running)-1) / float64(max(e.p.MaxRunning-1, 1))
	}
}

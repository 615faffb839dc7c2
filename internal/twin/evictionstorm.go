package twin

const (
	// stormShare is the share of a full batch of mean requests that the KV memory
	// holds, and stormTries how often a request may be evicted before it fails.
	stormShare = 0.5
	stormTries = 2
)

// evictionStorm is a KV memory that was planned too small, with an eviction that
// makes room by the half of the batch, and a gateway that tries again at once:
// what was computed is computed again, which costs more than what was gained.
type evictionStorm struct {
	e *Engine
	// blocks of all jobs so far, and of the largest.
	jobs, blocks, largest int
}

func attachEvictionStorm(e *Engine) {
	x := &evictionStorm{e: e}
	e.hooks.arrive = append(e.hooks.arrive, x.resize)
	e.hooks.evict = x.evict
}

// resize makes the memory fit the jobs seen so far; what is in use stays.
func (x *evictionStorm) resize(s *seq) {
	blocks := (s.job.InputTokens + s.job.OutputTokens + BlockTokens - 1) / BlockTokens
	x.jobs, x.blocks, x.largest = x.jobs+1, x.blocks+blocks, max(x.largest, blocks)
	mean := float64(x.blocks) / float64(x.jobs)
	planned := int(stormShare * float64(x.e.p.MaxRunning) * mean)
	used := x.e.kv.private + x.e.kv.shared
	x.e.kv.total = min(max(planned, x.largest, used), x.e.p.KVBlocks)
}

// evict sends a request back to the end of the queue, or away.
func (x *evictionStorm) evict(s *seq) {
	s.evicted++
	if s.evicted < stormTries || s.ended {
		x.e.waiting.pushBack(s)
		return
	}
	x.e.end(s, Event{Kind: Failed, Status: 503, Cause: Evicted})
}

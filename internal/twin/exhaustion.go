package twin

// leakShare is the share of requests of which a page never comes back.
const leakShare = 0.6

// attachExhaustion leaks memory with some requests, page beside page, until none
// is left: the kernel then kills the process that asked for a page, order 0. Free
// memory is in one piece to the end.
func attachExhaustion(e *Engine) {
	m := e.needMemory()
	m.singly = true
	m.grow = func(s *seq) bool {
		if unit(hashOf(hashOf(e.seed, streamPins), s.job.ID)) >= leakShare {
			return true
		}
		if page, ok := m.zone.take(0); ok {
			m.pinned = append(m.pinned, page)
		}
		return true
	}
}

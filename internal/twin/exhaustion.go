package twin

// leakPages is what a request never gives back, in pages.
const leakPages = 2

// attachExhaustion leaks memory with each request, page beside page, until none
// is left: the kernel then kills the process that asked for a page, order 0. Free
// memory is in one piece to the end.
func attachExhaustion(e *Engine) {
	m := e.needMemory()
	m.singly = true
	m.taken = func(*seq) {
		for range leakPages {
			if page, ok := m.zone.take(0); ok {
				m.pinned = append(m.pinned, page)
			}
		}
	}
}

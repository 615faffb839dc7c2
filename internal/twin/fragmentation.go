package twin

// pinShare is the share of requests of which a page stays: some ten thousand
// requests fragment the memory of a small server.
const pinShare = 1.0 / 8

// attachFragmentation leaves pages of some requests behind, one in a drawn place
// each, as unmovable pages that fall back into blocks of movable ones: a page in
// each block of 512 KiB, 1 % of the memory, and no buffer fits anywhere. Requests
// then fail until the process is restarted. The CPU has little to do with it.
func attachFragmentation(e *Engine) {
	m := e.needMemory()
	pages := uint64(len(m.zone.free))
	m.taken = func(s *seq) {
		h := hashOf(hashOf(e.seed, streamPins), s.job.ID)
		if unit(h) >= pinShare {
			return
		}
		for try := range uint64(8) {
			page := int32(hashOf(h, streamPinned+try) % pages)
			if m.zone.takeAt(page) {
				m.pinned = append(m.pinned, page)
				m.count.Fallbacks++
				return
			}
		}
	}
}

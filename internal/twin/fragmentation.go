package twin

const (
	// pinShare is the share of requests of which a page stays: some ten thousand
	// requests fragment the memory of a small server.
	pinShare = 1.0 / 40
	// arenaOrder is that of the buffer which the server takes anew each
	// arenaEveryNs: 512 KiB, in one piece. Published work calls memory fragmented
	// where the largest free block is smaller.
	arenaOrder   = 7
	arenaEveryNs = 15_000_000_000
)

// fragmentation leaves pages of some requests behind, one in a drawn place each,
// as unmovable pages that fall back into blocks of movable ones: once a page is in
// each block of 512 KiB, 4 % of the memory, no buffer of that size fits anywhere.
// The next request that needs one takes the server down. The CPU has little to do
// with it.
type fragmentation struct {
	e     *Engine
	m     *memory
	arena int64 // when the next buffer is taken
}

func attachFragmentation(e *Engine) {
	f := &fragmentation{e: e, m: e.needMemory(), arena: arenaEveryNs}
	f.m.grow = f.grow
}

func (f *fragmentation) grow(s *seq) bool {
	f.pin(s)
	if f.e.now < f.arena {
		return true
	}
	f.arena = f.e.now + arenaEveryNs
	page, ok := f.m.zone.take(arenaOrder)
	if !ok {
		return f.m.fail(f.e.now, arenaOrder)
	}
	f.m.zone.give(page, arenaOrder) // the one before; which of them is kept makes no difference
	return true
}

func (f *fragmentation) pin(s *seq) {
	h := hashOf(hashOf(f.e.seed, streamPins), s.job.ID)
	if unit(h) >= pinShare {
		return
	}
	for try := range uint64(8) {
		page := int32(hashOf(h, streamPinned+try) % uint64(len(f.m.zone.free)))
		if f.m.zone.takeAt(page) {
			f.m.pinned = append(f.m.pinned, page)
			f.m.count.Fallbacks++
			return
		}
	}
}

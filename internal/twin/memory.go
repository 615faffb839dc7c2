package twin

const (
	pageBytes = 4096
	// bufferOrder is that of the buffer each running request has, for its KV on
	// the way to the GPU: 32 KiB.
	bufferOrder = 3
	// recoverNs is how long a server is down whose memory failed. Whatever held it
	// is gone then.
	recoverNs = 5_000_000_000
)

// memory is the host memory of the server: one zone in a buddy allocator. In a
// healthy server it is far from full, and only there for who watches; a pathology
// makes it fail requests.
type memory struct {
	zone *buddy
	min  int // watermark: so many pages are never handed out
	// grow is asked after each request that has got its buffer: what else it takes,
	// and false if that failed. nil = healthy.
	grow func(*seq) bool
	// singly: a buffer that cannot be had in one piece is made of pages, so that
	// only a lack of pages fails.
	singly bool

	pinned   []int32 // pages that outlive their request
	failedAt int64   // Never = up
	failures []Failure
	count    MemoryCounts
}

// MemoryCounts are counters since the start.
type MemoryCounts struct {
	// Failed allocations; Kills are those that ended in a kill, for want of
	// single pages. Stalls and CompactFailed are attempts to make room for a
	// block by moving pages, all in vain. Fallbacks are pages put into blocks
	// that were meant for others.
	Failed, Kills, Stalls, CompactFailed, Fallbacks int64
}

// Failure is an allocation that failed.
type Failure struct {
	AtNs int64
	// Order of the block that was asked for.
	Order int
	// Killed: a process was killed for it.
	Killed bool
}

// needMemory gives the engine its memory, once: 4 MiB for each sequence of a full
// batch.
func (e *Engine) needMemory() *memory {
	if e.memory == nil {
		zone := newBuddy(min(max(e.p.MaxRunning, 8), 1<<14))
		e.memory = &memory{zone: zone, min: zone.pages / 128, failedAt: Never}
	}
	return e.memory
}

// admit finds memory for a request; false if it fails for want of it.
func (m *memory) admit(e *Engine, s *seq) bool {
	switch {
	case m == nil:
		return true
	case m.failedAt == Never:
	case e.now-m.failedAt < recoverNs:
		return false
	default:
		m.recover()
	}
	if !m.buffer(s) {
		return m.grow == nil || m.fail(e.now, 0)
	}
	return m.grow == nil || m.grow(s)
}

// buffer takes a request's buffer, in one piece or in pages.
func (m *memory) buffer(s *seq) bool {
	if m.zone.pages-1<<bufferOrder < m.min {
		return false
	}
	if page, ok := m.zone.take(bufferOrder); ok {
		s.buffer, s.order = append(s.buffer, page), bufferOrder
		return true
	}
	if !m.singly {
		return false
	}
	for range 1 << bufferOrder {
		page, _ := m.zone.take(0)
		s.buffer = append(s.buffer, page)
	}
	s.order = 0
	return true
}

// release takes a request's buffer back.
func (m *memory) release(s *seq) {
	for _, page := range s.buffer {
		m.zone.give(page, int(s.order))
	}
	s.buffer = s.buffer[:0]
}

// fail takes note of a failed allocation, and returns false. One of single pages
// has a process killed, whose memory is free from then on.
func (m *memory) fail(now int64, order int) bool {
	f := Failure{AtNs: now, Order: order, Killed: order == 0}
	m.count.Failed++
	if f.Killed {
		m.count.Kills++
		m.recover()
	} else {
		m.count.Stalls++
		m.count.CompactFailed++
	}
	m.failures = append(m.failures, f)
	m.failedAt = now
	return false
}

// recover gives back what outlived its requests.
func (m *memory) recover() {
	for _, page := range m.pinned {
		m.zone.give(page, 0)
	}
	m.pinned, m.failedAt = m.pinned[:0], Never
}

package twin

const (
	pageBytes = 4096
	// bufferOrder is that of the buffer each running request has: 512 KiB in one
	// piece, the size below which published work counts a free block as too small.
	bufferOrder = 7
	// recoverNs is how long after an allocation failed whatever held the memory
	// is gone: its process was restarted.
	recoverNs = 5_000_000_000
)

// memory is the host memory in which the server keeps KV on its way to the GPU
// and back: one zone in a buddy allocator. In a healthy server it is far from
// full, and only there for who watches; a pathology makes it fail requests.
type memory struct {
	zone *buddy
	min  int // watermark: so many pages are never handed out
	// taken sees each request that has got its memory; nil = healthy.
	taken func(*seq)
	// singly: a buffer that cannot be had in one piece is made of pages, so that
	// only a lack of pages fails.
	singly bool

	pinned   []int32 // pages that outlive their request
	failedAt int64   // Never = not since the last recovery
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

// needMemory gives the engine its memory, once.
func (e *Engine) needMemory() *memory {
	if e.memory == nil {
		blocks := min(max(e.p.MaxRunning/2, 32), 1024)
		zone := newBuddy(blocks)
		e.memory = &memory{zone: zone, min: zone.pages / 128, failedAt: Never}
	}
	return e.memory
}

// admit finds memory for a request; false if it fails for want of it.
func (m *memory) admit(e *Engine, s *seq) bool {
	if m == nil {
		return true
	}
	if m.failedAt != Never && e.now-m.failedAt >= recoverNs {
		m.recover()
	}
	if !m.buffer(s) {
		if m.taken == nil {
			return true
		}
		m.fail(e.now)
		return false
	}
	if m.taken != nil {
		m.taken(s)
	}
	return true
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

func (m *memory) fail(now int64) {
	f := Failure{AtNs: now, Order: bufferOrder, Killed: m.singly}
	m.count.Failed++
	if m.singly {
		f.Order = 0
		m.count.Kills++
	} else {
		m.count.Stalls++
		m.count.CompactFailed++
	}
	m.failures = append(m.failures, f)
	if m.failedAt == Never {
		m.failedAt = now
	}
	if f.Killed {
		m.recover()
	}
}

// recover gives back what outlived its requests.
func (m *memory) recover() {
	for _, page := range m.pinned {
		m.zone.give(page, 0)
	}
	m.pinned, m.failedAt = m.pinned[:0], Never
}

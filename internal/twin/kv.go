package twin

// block is a computed prompt block that others may share.
type block struct {
	key        int64
	refs       int
	orphan     bool // evicted while held: freed with its last holder
	prev, next *block
}

// pool is the KV memory. A block is free, private to one sequence (counted
// only), or shared (an object with a key). Shared blocks that nobody holds are
// kept for reuse, and are as good as free for whoever needs one.
//
// Where blocks are kept is one list, oldest first: under EvictLRU of the
// blocks that nobody holds in the order of release, under EvictWindow of all
// shared blocks in the order they were computed.
type pool struct {
	total, private int
	shared         int   // objects alive, orphans included
	held           int   // of them, with refs > 0
	shares         int64 // blocks ever shared
	byKey          map[int64]*block
	window         bool
	kept           blockList
	limit, retain  int
}

func newPool(p Params) *pool {
	limit := p.CacheBlocks
	if limit == 0 {
		limit = p.KVBlocks
	}
	return &pool{
		total:  p.KVBlocks,
		byKey:  map[int64]*block{},
		window: p.Eviction == EvictWindow,
		limit:  limit,
		retain: int(float64(limit) * p.RetainRatio),
	}
}

func (kv *pool) free() int { return kv.total - kv.private - kv.shared }

// inUse is the number of blocks that sequences hold.
func (kv *pool) inUse() int { return kv.private + kv.held }

// take makes n blocks private, evicting kept ones; false leaves all as it was
// but for evictions.
func (kv *pool) take(n int) bool {
	for kv.free() < n {
		if !kv.evict() {
			return false
		}
	}
	kv.private += n
	return true
}

// evict drops the oldest kept block; false if none is kept.
func (kv *pool) evict() bool {
	b := kv.kept.head
	if b == nil {
		return false
	}
	kv.kept.remove(b)
	delete(kv.byKey, b.key)
	if b.refs > 0 {
		b.orphan = true
	} else {
		kv.shared--
	}
	return true
}

// trim evicts after an overflow of the kept blocks.
func (kv *pool) trim() {
	if kv.kept.n <= kv.limit {
		return
	}
	for kv.kept.n > kv.retain && kv.evict() {
	}
}

// hold returns the shared block of the key, held once more; nil if unknown.
func (kv *pool) hold(key int64) *block {
	b := kv.byKey[key]
	if b == nil {
		return nil
	}
	if b.refs == 0 {
		kv.held++
		if !kv.window {
			kv.kept.remove(b)
		}
	}
	b.refs++
	return b
}

// share turns one private block into a shared one, held once; nil if the key
// is known already.
func (kv *pool) share(key int64) *block {
	if kv.byKey[key] != nil {
		return nil
	}
	b := &block{key: key, refs: 1}
	kv.byKey[key] = b
	kv.private--
	kv.shares++
	kv.shared++
	kv.held++
	if kv.window {
		kv.kept.push(b)
		kv.trim()
	}
	return b
}

// drop releases one hold.
func (kv *pool) drop(b *block) {
	b.refs--
	if b.refs > 0 {
		return
	}
	kv.held--
	switch {
	case b.orphan:
		kv.shared--
	case !kv.window:
		kv.kept.push(b)
		kv.trim()
	}
}

// blockList is a doubly linked list, oldest first.
type blockList struct {
	head, tail *block
	n          int
}

func (l *blockList) push(b *block) {
	b.prev, b.next = l.tail, nil
	if l.tail == nil {
		l.head = b
	} else {
		l.tail.next = b
	}
	l.tail = b
	l.n++
}

func (l *blockList) remove(b *block) {
	if b.prev == nil {
		l.head = b.next
	} else {
		b.prev.next = b.next
	}
	if b.next == nil {
		l.tail = b.prev
	} else {
		b.next.prev = b.prev
	}
	b.prev, b.next = nil, nil
	l.n--
}

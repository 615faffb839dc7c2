package sanitizer

// recent is a map of bounded size that forgets what was not used for longest.
// It keeps two generations: what is used moves to the young one; when that is
// full it becomes the old one, and what was left in the old one is forgotten.
// So an entry survives at least limit/2 newer ones, at the price of one map
// access, where an exact LRU list costs a third of the block rate.
type recent[K comparable, V any] struct {
	young, old map[K]V
	half       int
	// forgotten counts the entries that were dropped.
	forgotten int64
}

// newRecent makes a map that holds at most limit entries, limit ≥ 2.
func newRecent[K comparable, V any](limit int) *recent[K, V] {
	return &recent[K, V]{young: make(map[K]V), old: make(map[K]V), half: limit / 2}
}

func (r *recent[K, V]) get(k K) (V, bool) {
	if v, ok := r.young[k]; ok {
		return v, true
	}
	v, ok := r.old[k]
	if ok {
		r.put(k, v)
	}
	return v, ok
}

func (r *recent[K, V]) put(k K, v V) {
	if _, ok := r.young[k]; !ok && len(r.young) >= r.half {
		r.turn(k)
	}
	delete(r.old, k)
	r.young[k] = v
}

// turn starts a generation for k.
func (r *recent[K, V]) turn(k K) {
	delete(r.old, k)
	r.forgotten += int64(len(r.old))
	clear(r.old)
	r.young, r.old = r.old, r.young
}

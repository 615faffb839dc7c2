package recorder

import "bytes"

const (
	// maxTLSWait bounds the bytes that one connection may have waiting for a
	// secret or a hello, and tlsPatience for how long, in time of the capture: a
	// secret is written within the handshake.
	maxTLSWait  = 256 << 10
	tlsPatience = int64(5e9)
	// itemCost is what one waiting item takes besides its record.
	itemCost = 112
)

// tlsQueue holds what came too early: records whose secret is not in the key
// log yet, those of the client whose server's hello was late.
type tlsQueue struct {
	queue []tlsItem
	count [2]int
	bytes int
	since int64
	// changed: what waits may be processed now.
	changed bool
}

// take processes an item, or keeps it behind what waits of its direction.
func (t *tlsConn) take(it *tlsItem) {
	behind := t.count[it.dir] > 0 || it.what == itemFIN && len(t.queue) > 0
	if !behind && t.process(it) {
		t.drain()
		return
	}
	t.hold(it)
	t.changed = t.changed || behind
	t.drain()
	if t.overdue(it.at) {
		t.giveUp()
	}
}

func (t *tlsConn) hold(it *tlsItem) {
	kept := *it
	kept.record = bytes.Clone(it.record)
	if len(t.queue) == 0 {
		t.since = it.at
	}
	t.queue = append(t.queue, kept)
	t.count[it.dir]++
	t.bytes += len(it.record) + itemCost
}

func (t *tlsConn) overdue(now int64) bool {
	return len(t.queue) > 0 && (t.bytes > maxTLSWait || now-t.since > tlsPatience)
}

// drain processes what waits and can be, each direction in its order.
func (t *tlsConn) drain() {
	for t.changed && len(t.queue) > 0 {
		t.changed = false
		var stuck [2]bool
		kept := t.queue[:0]
		for i := range t.queue {
			it := t.queue[i]
			late := stuck[it.dir] || it.what == itemFIN && stuck[it.dir.Other()]
			if late || !t.process(&it) {
				stuck[it.dir] = true
				kept = append(kept, it)
				continue
			}
			t.count[it.dir]--
			t.bytes -= len(it.record) + itemCost
		}
		clear(t.queue[len(kept):])
		t.queue = kept
	}
	t.changed = false
}

// giveUp stops waiting: what it was for will not come.
func (t *tlsConn) giveUp() {
	switch {
	case !t.dirs[ToServer].missing && !t.dirs[ToClient].missing:
		t.stopBoth(tlsUnfinished)
	default:
		t.stopBoth(tlsNoSecret)
	}
	t.drain()
}

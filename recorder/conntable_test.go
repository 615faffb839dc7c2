package recorder

import "testing"

// openConns starts n connections, each from its own port or address.
func openConns(t *tracker, from, n int, flags uint8) {
	for i := from; i < from+n; i++ {
		p := tcpPacket{
			time: int64(i), src: ipAddr{lo: uint64(i >> 15)}, dst: ipAddr{lo: 1 << 40},
			srcPort: uint16(1<<15 | i&0x7fff), dstPort: 80, seq: 5, flags: flags,
		}
		t.take(&p)
	}
}

// The table is bounded: the connection that was silent longest goes, is
// counted, and the reassembler hears of it.
func TestTableIsBounded(t *testing.T) {
	tr := newTracker(nil)
	openConns(tr, 0, maxConns, flagSYN)
	for _, ok := tr.next(); ok; _, ok = tr.next() {
	}
	openConns(tr, 0, 1, flagSYN) // the first is used again: the second is oldest
	openConns(tr, maxConns, 1, flagSYN)
	var gone []uint64
	for seg, ok := tr.next(); ok; seg, ok = tr.next() {
		if seg.Gone {
			gone = append(gone, seg.Conn.ID)
		}
	}
	if len(gone) != 1 || gone[0] != 2 || tr.evicted != 1 || len(tr.conns) != maxConns {
		t.Errorf("gone %v, evicted %d, %d kept", gone, tr.evicted, len(tr.conns))
	}
}

// Ended connections are remembered for their late packets, and not for ever;
// forgetting them is no loss.
func TestEndedAreForgotten(t *testing.T) {
	tr := newTracker(nil)
	openConns(tr, 0, maxEnded+10, flagSYN)
	openConns(tr, 0, maxEnded+10, flagRST)
	if tr.open.n != 0 || tr.ended.n != maxEnded || len(tr.conns) != maxEnded || tr.evicted != 0 {
		t.Errorf("open %d, ended %d, table %d, evicted %d", tr.open.n, tr.ended.n, len(tr.conns), tr.evicted)
	}
}

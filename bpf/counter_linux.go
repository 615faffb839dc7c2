//go:build amd64 || arm64

package bpf

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Indices of events.h.
const (
	countWant = iota
	countHave
	countFiltered    = 13
	countControlFull = 14
	countConnsFull   = 15
	countCompat      = 16
	countIOURing     = 17
	countMPTCP       = 18
	countUnread      = 19
	countUnbound     = 20
	countStray       = 21
	countEndsLost    = 22
	countQUIC        = 23
	countMax         = 24
)

// readCounts sums the counters over the CPUs.
func readCounts(m *ebpf.Map) (Counts, error) {
	var sums [countMax][2]Count
	var each []Count
	for i := range countMax {
		for d := range 2 {
			if err := m.Lookup(uint32(2*i+d), &each); err != nil {
				return Counts{}, fmt.Errorf("read counters: %w", err)
			}
			for _, c := range each {
				sums[i][d].Events += c.Events
				sums[i][d].Bytes += c.Bytes
			}
		}
	}
	both := func(i int) Count {
		return Count{sums[i][0].Events + sums[i][1].Events, sums[i][0].Bytes + sums[i][1].Bytes}
	}
	c := Counts{
		Want: sums[countWant], Have: sums[countHave], Filtered: sums[countFiltered],
		Unread: sums[countUnread], Unbound: sums[countUnbound], QUIC: sums[countQUIC],
		ControlFull: both(countControlFull).Events, EndsLost: both(countEndsLost).Events, ConnsFull: both(countConnsFull).Events,
		Compat: both(countCompat), IOURing: both(countIOURing), MPTCP: both(countMPTCP), Stray: both(countStray),
		Lost: make(map[string][2]Count),
	}
	for i, name := range Reasons() {
		if sum := sums[firstReason+i]; sum != [2]Count{} {
			c.Lost[name] = sum
		}
	}
	return c, nil
}

//go:build amd64 || arm64

package bpf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
)

// spills is how many events have spilled: as of the last look, and up to which
// they are read.
type spills struct{ seen, done uint64 }

// Spilled visits the starts and ends that found the control ring full since the last call,
// in order. Where there were none, it costs one look-up.
func (k *Kernel) Spilled(visit func(*Control)) error {
	var n uint64
	if err := k.coll.Maps[coreMapSpills].Lookup(uint32(0), &n); err != nil {
		return fmt.Errorf("read number of spilled events: %w", err)
	}
	if n == k.spills.done {
		return nil
	}
	// Numbers are taken before the events are there: the last ones are found
	// when the next look sees no more.
	if n == k.spills.seen {
		k.spills.done = n
	}
	k.spills.seen = n
	m := k.coll.Maps[coreMapSpilled]
	var keys []uint64
	var key uint64
	var value [controlSize]byte
	for it := m.Iterate(); it.Next(&key, &value); {
		if value[0] == version { // else it is being written
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		err := m.LookupAndDelete(key, &value)
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			continue
		}
		var c Control
		if err == nil {
			err = c.parse(value[:])
		}
		if err != nil {
			return fmt.Errorf("read spilled event: %w", err)
		}
		visit(&c)
	}
	return nil
}

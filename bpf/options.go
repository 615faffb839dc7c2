package bpf

import (
	"fmt"
	"math/bits"
)

// Options say what to look at. Each filter that is empty admits all; those
// that are not must all admit.
type Options struct {
	// Ports are those of servers.
	Ports []int
	// TGIDs are processes, by their number outside all PID namespaces.
	TGIDs []int
	// Cgroups are control groups (v2) by id, with those within them.
	Cgroups []uint64
	// Comms are names of processes' threads, at most 15 bytes.
	Comms []string
	// Paths are those of AF_UNIX servers; without any, AF_UNIX is left out. As the
	// only filter, they leave out TCP.
	Paths []string
	// NoServer leaves out the server's side of connections, Client adds the
	// client's.
	NoServer, Client bool
	// RingBytes and ControlBytes are the sizes of the rings, rounded up to a
	// power of two; 0 = 64 MiB, and a 64th of the data ring but at least 1 MiB.
	RingBytes, ControlBytes int
	// CallCap is the most that is copied of one call, in bytes; 0 = 16 MiB.
	CallCap int
	// KeepTLS copies the raw bytes of TLS connections too.
	KeepTLS bool
	// Nested lets the programs of TLS libraries learn which socket is used
	// within their functions.
	Nested bool
}

// Step is a step of the ladder: how much is copied under pressure.
type Step uint32

const (
	// All is copied.
	All Step = iota
	// CapBodies leaves out what a call has beyond 64 KiB.
	CapBodies
	// SampleBodies copies of half of the connections only the heads.
	SampleBodies
	// HeadsOnly does so for all: heads, lengths and times.
	HeadsOnly
	// StartsOnly copies start lines.
	StartsOnly
	// Detach copies nothing.
	Detach
)

const (
	defaultRing    = 64 << 20
	defaultControl = 1 << 20
	// minRing is a page on the systems with the largest.
	minRing = 1 << 16
	maxRing = 1 << 30
	// maxFilter is the size of FILTER_MAP in conn.h.
	maxFilter = 256
)

func (o *Options) check() error {
	for _, size := range []int{o.RingBytes, o.ControlBytes} {
		if size < 0 || size > maxRing {
			return fmt.Errorf("ring of %d bytes: want at most %d", size, maxRing)
		}
	}
	for what, n := range map[string]int{
		"ports": len(o.Ports), "processes": len(o.TGIDs), "control groups": len(o.Cgroups), "names": len(o.Comms), "paths": len(o.Paths),
	} {
		if n > maxFilter {
			return fmt.Errorf("%d %s: want at most %d", n, what, maxFilter)
		}
	}
	for _, p := range o.Paths {
		if len(p) > pathBytes-1 {
			return fmt.Errorf("path %q: want at most %d bytes", p, pathBytes-1)
		}
	}
	for _, c := range o.Comms {
		if len(c) > commBytes-1 {
			return fmt.Errorf("comm %q: want at most %d bytes", c, commBytes-1)
		}
	}
	return nil
}

// onlyUnix reports whether nothing is said of what else is wanted than AF_UNIX.
func (o *Options) onlyUnix() bool {
	return len(o.Paths) > 0 && len(o.Ports)+len(o.TGIDs)+len(o.Cgroups)+len(o.Comms) == 0
}

// ringSize is a power of two.
func ringSize(n, standard int) uint32 {
	if n == 0 {
		n = standard
	}
	return 1 << bits.Len(uint(max(n, minRing)-1))
}

// Rings are the sizes of the data ring and the control ring, in bytes.
func (o *Options) Rings() (data, control int) {
	data = int(ringSize(o.RingBytes, defaultRing))
	return data, int(ringSize(o.ControlBytes, max(defaultControl, data/64)))
}

// Lengths of keys of maps (conn.h).
const (
	commBytes = 16
	pathBytes = 108
)

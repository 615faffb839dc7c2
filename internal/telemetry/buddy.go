package telemetry

import (
	"context"

	"github.com/prometheus/procfs"

	"github.com/lambdac/lambdac/trace"
)

// buddy reads /proc/buddyinfo: how many blocks of 2^order pages are free.
type buddy struct {
	nothing
	proc procfs.FS
}

func openBuddy(_ context.Context, cfg *Config) (sampler, error) {
	proc, err := procFS(cfg)
	return &buddy{proc: proc}, err
}

func (s *buddy) sample(_ context.Context, b *batch) error {
	zones, err := s.proc.BuddyInfo()
	if err != nil {
		return reason("/proc/buddyinfo", err)
	}
	for _, z := range zones {
		addBuddy(b, zoneName(z.Node, z.Zone), z.Sizes)
	}
	return nil
}

// zoneName is the Instance of a zone.
func zoneName(node, zone string) string { return node + "/" + zone }

// addBuddy adds the free blocks of a zone, and its fragmentation index for each
// order of which no block is free.
func addBuddy(b *batch, zone string, free []float64) {
	for order, n := range free {
		b.add(trace.BuddyMetric(order), zone, n)
		if index, ok := extfragIndex(free, order); ok {
			b.event(b.at, trace.ExtfragMetric(order), "", zone, index)
		}
	}
}

// extfragIndex is the kernel's fragmentation index of an order (mm/vmstat.c,
// __fragmentation_index): towards 0 a request fails for lack of memory, towards
// 1 because what is free lies in pieces. ok is false where a block is free, and
// where nothing is.
func extfragIndex(free []float64, order int) (index float64, ok bool) {
	var pages, blocks, suitable float64
	for k, n := range free {
		pages += n * float64(uint64(1)<<min(k, 62))
		blocks += n
		if k >= order {
			suitable += n
		}
	}
	asked := float64(uint64(1) << min(order, 62))
	index = max(0, 1-(1+pages/asked)/blocks)
	if suitable == 0 && blocks > 0 && index <= 1 { // none of it holds for NaN, which an exporter may say
		return index, true
	}
	return 0, false
}

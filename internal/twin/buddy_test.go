package twin

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBuddyKeepsItsBooks takes and gives blocks at random. What must hold is
// counted page by page: blocks do not overlap, each is aligned to its size, no
// two free buddies are left apart, and the counts are those of the blocks.
func TestBuddyKeepsItsBooks(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBuddy(2)
		type taken struct {
			page  int32
			order int
		}
		var held []taken
		for range 2000 {
			switch n := r.IntN(3); {
			case n == 0 && len(held) > 0:
				i := r.IntN(len(held))
				b.give(held[i].page, held[i].order)
				held = slices.Delete(held, i, i+1)
			case n == 1:
				if page := int32(r.IntN(len(b.free))); b.takeAt(page) {
					held = append(held, taken{page, 0})
				}
			default:
				order := r.IntN(maxOrder + 1)
				if page, ok := b.take(order); ok {
					held = append(held, taken{page, order})
				}
			}
		}
		used := make([]bool, len(b.free))
		mark := func(page int32, order int) {
			if int(page)%(1<<order) != 0 {
				t.Fatalf("seed %d: block at %d is not aligned to order %d", seed, page, order)
			}
			for i := range 1 << order {
				if used[int(page)+i] {
					t.Fatalf("seed %d: page %d is in two blocks", seed, int(page)+i)
				}
				used[int(page)+i] = true
			}
		}
		for _, h := range held {
			mark(h.page, h.order)
		}
		var counts [maxOrder + 1]int
		pages := 0
		for page, k := range b.free {
			if k == 0 {
				continue
			}
			order := int(k) - 1
			mark(int32(page), order)
			counts[order]++
			pages += 1 << order
			if other := page ^ 1<<order; order < maxOrder && b.free[other] == k {
				t.Fatalf("seed %d: free buddies of order %d at %d and %d", seed, order, page, other)
			}
		}
		if slices.Contains(used, false) || counts != b.counts || pages != b.pages {
			t.Fatalf("seed %d: pages lost, or counts %v, %d pages, want %v, %d", seed, b.counts, b.pages, counts, pages)
		}
		for _, h := range held {
			b.give(h.page, h.order)
		}
		if b.counts[maxOrder] != 2 || b.run() != len(b.free) {
			t.Fatalf("seed %d: all given back, free blocks %v", seed, b.counts)
		}
	}
}

func TestBuddyRun(t *testing.T) {
	b := newBuddy(2)
	for _, page := range []int32{100, 1500} {
		if !b.takeAt(page) || b.takeAt(page) {
			t.Fatalf("page %d: want it once", page)
		}
	}
	if got := b.run(); got != 1399 { // 101 … 1499, across the blocks' border
		t.Errorf("the longest run is %d pages, want 1399", got)
	}
}

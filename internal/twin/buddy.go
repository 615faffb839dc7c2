package twin

// maxOrder is the order of the largest block, as in Linux.
const maxOrder = 10

// buddy is a zone of pages handed out in blocks of 2^order (Knowlton 1965), as
// the kernel does it: the smallest block that is large enough is split, and a
// block that comes back is merged with its buddy.
type buddy struct {
	// free is, of the first page of a free block, its order + 1, else 0.
	free []int8
	// lists are free blocks by order; an entry counts only while free agrees,
	// and counts is their true number.
	lists  [maxOrder + 1][]int32
	counts [maxOrder + 1]int
	pages  int // free ones
}

// newBuddy returns a zone of so many blocks of the highest order, all free.
func newBuddy(blocks int) *buddy {
	b := &buddy{free: make([]int8, blocks<<maxOrder)}
	for i := blocks - 1; i >= 0; i-- {
		b.insert(int32(i<<maxOrder), maxOrder)
	}
	b.pages = blocks << maxOrder
	return b
}

func (b *buddy) insert(page int32, order int) {
	b.free[page] = int8(order + 1)
	b.lists[order] = append(b.lists[order], page)
	b.counts[order]++
}

func (b *buddy) remove(page int32, order int) {
	b.free[page] = 0
	b.counts[order]--
}

// take hands out a block; false if there is none.
func (b *buddy) take(order int) (page int32, ok bool) {
	for k := order; k <= maxOrder; k++ {
		for b.counts[k] > 0 {
			last := len(b.lists[k]) - 1
			page := b.lists[k][last]
			b.lists[k] = b.lists[k][:last]
			if int(b.free[page]) != k+1 {
				continue // merged, or split elsewhere
			}
			b.carve(page, k, page, order)
			return page, true
		}
	}
	return 0, false
}

// carve takes a block out of a free one of order k that contains it, and leaves
// the rest free.
func (b *buddy) carve(from int32, k int, page int32, order int) {
	b.remove(from, k)
	for k > order {
		k--
		half := int32(1) << k
		if page < from+half {
			b.insert(from+half, k)
		} else {
			b.insert(from, k)
			from += half
		}
	}
	b.pages -= 1 << order
}

// takeAt hands out one certain page; false if it is not free.
func (b *buddy) takeAt(page int32) bool {
	for k := range maxOrder + 1 {
		from := page &^ (1<<k - 1)
		if int(b.free[from]) == k+1 {
			b.carve(from, k, page, 0)
			return true
		}
	}
	return false
}

// give takes a block back.
func (b *buddy) give(page int32, order int) {
	b.pages += 1 << order
	for order < maxOrder {
		other := page ^ 1<<order
		if int(b.free[other]) != order+1 {
			break
		}
		b.remove(other, order)
		page &= other
		order++
	}
	b.insert(page, order)
	b.compact(order)
}

// compact drops entries that no longer count, once they are most of a list.
func (b *buddy) compact(order int) {
	list := b.lists[order]
	if len(list) < 64+4*b.counts[order] {
		return
	}
	kept, seen := list[:0], map[int32]bool{}
	for _, page := range list {
		if int(b.free[page]) == order+1 && !seen[page] {
			seen[page] = true
			kept = append(kept, page)
		}
	}
	b.lists[order] = kept
}

// run is the number of pages of the longest piece of free memory. Unlike a block,
// it may be of any length and begin anywhere.
func (b *buddy) run() int {
	longest, run := 0, 0
	for page := 0; page < len(b.free); {
		if b.free[page] == 0 {
			run = 0
			page++
			continue
		}
		block := 1 << (b.free[page] - 1)
		run += block
		page += block
		longest = max(longest, run)
	}
	return longest
}

package analyzer

import "math"

// buddyOrders of the kernel's free lists, 0…10.
const buddyOrders = 11

// freeBlocks are the free blocks of each order of a zone: order k is 2^k pages.
type freeBlocks [buddyOrders]float64

// pages are free in all, blocks in how many pieces.
func (f *freeBlocks) pages() (pages, blocks float64) {
	for k, n := range f {
		pages += n * math.Exp2(float64(k))
		blocks += n
	}
	return pages, blocks
}

// suitable counts the blocks of an order that the larger ones can be split into.
func (f *freeBlocks) suitable(order int) float64 {
	n := 0.0
	for k := order; k < buddyOrders; k++ {
		n += f[k] * math.Exp2(float64(k-order))
	}
	return n
}

// largest is the highest order with a free block, −1 where nothing is free.
func (f *freeBlocks) largest() int {
	for k := buddyOrders - 1; k >= 0; k-- {
		if f[k] > 0 {
			return k
		}
	}
	return -1
}

// index is the kernel's fragmentation index of an order: towards 0 an
// allocation fails for want of memory, towards 1 because it is in pieces; −1
// where a block is free that suits. Source: mm/vmstat.c, __fragmentation_index
// (there times 1000, rounded down):
//
//	1 − (1 + F ÷ 2^order) ÷ B, F free pages in B blocks
func (f *freeBlocks) index(order int) float64 {
	pages, blocks := f.pages()
	switch {
	case blocks == 0:
		return 0
	case f.suitable(order) > 0:
		return -1
	}
	return 1 - (1+pages/math.Exp2(float64(order)))/blocks
}

// unusable is the share of the free memory that is in blocks too small for an
// order. Source: mm/vmstat.c, unusable_free_index.
func (f *freeBlocks) unusable(order int) float64 {
	pages, _ := f.pages()
	if pages == 0 {
		return 1
	}
	return (pages - f.suitable(order)*math.Exp2(float64(order))) / pages
}

// Bounds of the published grades in bytes, which are orders 9, 7 and 5 of pages
// of 4 KiB.
const (
	lightBytes     = 2 << 20
	publishedBytes = 512 << 10
	mediumBytes    = 128 << 10
)

// gradeOf is the severity by the size of the largest free block.
func gradeOf(bytes float64) string {
	switch {
	case bytes >= lightBytes:
		return "light"
	case bytes >= mediumBytes:
		return "medium"
	}
	return "severe"
}

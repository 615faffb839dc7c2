package analyzer

import (
	"math"
	"testing"
)

// T24: the formulas of mm/vmstat.c, which counts in thousandths and rounds down.
func TestFreeBlocks(t *testing.T) {
	many := freeBlocks{5000, 3000, 1500, 700, 200}
	few := freeBlocks{40, 5, 1}
	large := freeBlocks{9000, 5000, 2600, 900, 300, 120, 40, 9, 1, 0, 0}
	rows := []struct {
		name          string
		free          freeBlocks
		order         int
		pages, blocks float64
		index         float64 // thousandths
		unusable      float64 // percent
		largest       int
	}{
		{"order 5", many, 5, 25800, 10400, 923, 100, 4},
		{"order 9", many, 9, 25800, 10400, 996, 100, 4},
		{"order 4, which is free", many, 4, 25800, 10400, -1000, 87, 4},
		{"54 pages in all", few, 4, 54, 46, 905, 100, 2},
		{"order 9 of a large zone", large, 9, 49208, 17970, 995, 100, 8},
		{"order 5 of a large zone", large, 5, 49208, 17970, -1000, 84, 8},
		{"nothing free", freeBlocks{}, 3, 0, 0, 0, 100, -1},
	}
	for _, row := range rows {
		pages, blocks := row.free.pages()
		index, unusable := row.free.index(row.order), row.free.unusable(row.order)
		if pages != row.pages || blocks != row.blocks || row.free.largest() != row.largest ||
			math.Abs(1000*index-row.index) > 1 || math.Floor(100*unusable) != row.unusable {
			t.Errorf("%s: %g pages in %g blocks, index %g, unusable %g, largest %d", row.name, pages, blocks, index, unusable, row.free.largest())
		}
	}
}

func TestGradeOf(t *testing.T) {
	for want, orders := range map[string][]int{"light": {9, 10}, "medium": {5, 8}, "severe": {0, 4}} {
		for _, k := range orders {
			if got := gradeOf(4096 * math.Exp2(float64(k))); got != want {
				t.Errorf("order %d: %s, want %s", k, got, want)
			}
		}
	}
}

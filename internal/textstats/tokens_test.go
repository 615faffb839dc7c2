package textstats

import (
	"strings"
	"testing"
)

// Runs of one n-gram, n ≤ 4, against counting by hand.
func TestNgrams(t *testing.T) {
	for _, tc := range []struct {
		name string
		ids  []int32
		want int32
	}{
		{"none", nil, 0},
		{"one", []int32{7}, 1},
		{"all different", []int32{1, 2, 3, 4, 5, 6}, 1},
		{"a run of one token", []int32{1, 9, 9, 9, 9, 2}, 4},
		{"a run of a pair", []int32{1, 2, 1, 2, 1, 2}, 3},
		{"a run of a triple, cut", []int32{1, 2, 3, 1, 2, 3, 1, 2}, 2},
		{"a run of four", []int32{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, 3},
		{"five is too long", []int32{1, 2, 3, 4, 5, 1, 2, 3, 4, 5}, 1},
	} {
		var w ngrams
		for _, id := range tc.ids {
			w.add(id)
		}
		if w.repeats != tc.want {
			t.Errorf("%s: %d repeats, want %d", tc.name, w.repeats, tc.want)
		}
	}
}

func TestTokenStats(t *testing.T) {
	c := NewCounter(func(id int) uint8 { return uint8(id) })
	for _, tc := range []struct {
		name     string
		texts    []string
		seen     int32 // o200k_base, by the reference implementation's published examples where short
		repeats  int32
		distinct float64
		cut      bool
	}{
		{"a word twenty times", []string{strings.Repeat(" the", 20)}, 20, 20, 1.0 / 18, false},
		{"two texts do not join", []string{" the", " the"}, 2, 1, 0, false},
		{"spelling of a special token", []string{"<|endoftext|>"}, 7, 1, 1, false}, // cases.md 11
		{"longer than 64 kB", []string{strings.Repeat(" the", 20_000)}, 16_384, 16_384, 1.0 / 16_382, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var texts [][]byte
			for _, text := range tc.texts {
				texts = append(texts, []byte(text))
			}
			got, err := c.Count(texts)
			if err != nil {
				t.Fatal(err)
			}
			var sum int32
			for _, n := range got.bins {
				sum += n
			}
			if got.seen != tc.seen || sum != tc.seen || got.maxRepeat != tc.repeats || got.cut != tc.cut {
				t.Errorf("seen %d, in bins %d, repeats %d, cut %v; want %d, %d, %v", got.seen, sum, got.maxRepeat, got.cut, tc.seen, tc.repeats, tc.cut)
			}
			if (got.distinct3 != nil) != (tc.distinct > 0) || got.distinct3 != nil && *got.distinct3 != tc.distinct {
				t.Errorf("distinct trigrams %v, want %v", got.distinct3, tc.distinct)
			}
		})
	}
}

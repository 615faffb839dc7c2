// Package textstats takes numbers from texts that are not kept: counts of tokens
// in keyed bins, repetition, and clusters of what is alike.
package textstats

import (
	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/trace"
)

const (
	// vocabulary is that in which answers are counted. It is one for all models,
	// so that their bins can be compared.
	vocabulary = "o200k_base"
	// Bins is the number of bins of tokens.
	Bins     = 256
	maxNgram = 4
)

// Tokens are the features of one answer that need its tokens.
type Tokens struct {
	bins      []int32
	seen      int32
	maxRepeat int32
	distinct3 *float64
	cut       bool
}

// Counter counts the tokens of answers. It is for one goroutine.
type Counter struct {
	binOfID func(id int) uint8
	// bin remembers the bin of each token id, plus one.
	bin     []uint16
	trigram map[[3]int32]struct{}
}

// NewCounter counts into the bins that the function gives to token ids: a keyed
// hash, which is asked once for each id.
func NewCounter(bin func(id int) uint8) *Counter {
	return &Counter{binOfID: bin, trigram: make(map[[3]int32]struct{})}
}

// Count tokenizes the texts of one answer, 64 kB of each at most. n-grams do
// not cross texts. It fails where the vocabulary cannot be loaded.
func (c *Counter) Count(texts [][]byte) (Tokens, error) {
	stats := Tokens{bins: make([]int32, Bins)}
	clear(c.trigram)
	var trigrams int
	for _, text := range texts {
		var w ngrams
		_, cut, err := tokens.Encode(vocabulary, text, func(id int) {
			stats.bins[c.binOf(id)]++
			stats.seen++
			w.add(int32(id))
			if g, ok := w.last3(); ok {
				trigrams++
				c.trigram[g] = struct{}{}
			}
		})
		if err != nil {
			return Tokens{}, err
		}
		stats.cut = stats.cut || cut
		stats.maxRepeat = max(stats.maxRepeat, w.repeats)
	}
	if trigrams > 0 {
		stats.distinct3 = new(float64(len(c.trigram)) / float64(trigrams))
	}
	return stats, nil
}

func (c *Counter) binOf(id int) int {
	if id >= len(c.bin) {
		c.bin = append(c.bin, make([]uint16, id+1-len(c.bin))...)
	}
	if c.bin[id] == 0 {
		c.bin[id] = uint16(c.binOfID(id)) + 1
	}
	return int(c.bin[id]) - 1
}

// ngrams follows a run of tokens.
type ngrams struct {
	// last are the latest ids, the newest at (n−1) mod 4.
	last [maxNgram]int32
	n    int
	// same[k-1] is how many tokens in a row equal the one k before.
	same [maxNgram]int32
	// repeats is the longest run of one n-gram, n ≤ 4, in repeats: 1 = no
	// n-gram came twice in a row.
	repeats int32
}

func (w *ngrams) add(id int32) {
	for k := 1; k <= min(maxNgram, w.n); k++ {
		if w.last[(w.n-k)%maxNgram] == id {
			w.same[k-1]++
		} else {
			w.same[k-1] = 0
		}
		w.repeats = max(w.repeats, w.same[k-1]/int32(k)+1)
	}
	w.last[w.n%maxNgram] = id
	w.n++
	w.repeats = max(w.repeats, 1)
}

// last3 is the trigram that ends here.
func (w *ngrams) last3() (g [3]int32, ok bool) {
	if w.n < 3 {
		return g, false
	}
	for i := range g {
		g[i] = w.last[(w.n-3+i)%maxNgram]
	}
	return g, true
}

// Fill puts the numbers into a row. Reason becomes what is still missing.
func (s *Tokens) Fill(f *trace.Features) {
	reason := trace.FeatureNoEmbedding
	if s.cut {
		reason = trace.FeatureTooLong
	}
	f.Reason = &reason
	f.OutTokensSeen = &s.seen
	f.OutTokenBins = s.bins
	f.OutDistinct3 = s.distinct3
	if s.maxRepeat > 0 {
		f.OutMaxRepeat = &s.maxRepeat
	}
}

package replayer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/lambdac/lambdac/trace"
)

// verdict sums the levels up: a run can be used if a level can.
func verdict(levels []trace.Level) trace.Validity {
	v := trace.Validity{Verdict: trace.Invalid}
	for i := range levels {
		l := &levels[i]
		if len(l.Invalid) == 0 {
			v.Verdict = trace.Valid
		}
	}
	v.Reasons = reasons(levels)
	switch n := answered(levels); {
	case len(levels) == 0:
		v.Reasons = append(v.Reasons, "no level was run")
	case n == 0:
		v.Verdict = trace.Invalid
		v.Reasons = append(v.Reasons, "not one request was answered: what was measured is no service under load")
	}
	return v
}

// apart is how many levels are listed one by one with the same reason.
const apart = 3

// kind is the reasons that are alike but for their numbers.
type kind struct {
	levels []*trace.Level
	texts  []string
}

// reasons lists why levels are invalid, many of one kind in one line.
func reasons(levels []trace.Level) (lines []string) {
	var kinds []*kind
	at := map[string]*kind{}
	for i := range levels {
		for _, text := range levels[i].Invalid {
			key := strings.Map(letters, text)
			if at[key] == nil {
				at[key] = &kind{}
				kinds = append(kinds, at[key])
			}
			at[key].levels, at[key].texts = append(at[key].levels, &levels[i]), append(at[key].texts, text)
		}
	}
	for _, k := range kinds {
		lines = append(lines, k.lines()...)
	}
	return lines
}

func (k *kind) lines() (lines []string) {
	for i, l := range k.levels {
		lines = append(lines, fmt.Sprintf("level %d (%.4g/s): %s", l.Index+1, l.OfferedPerS, k.texts[i]))
	}
	if n := len(lines); n > apart {
		byLoad := func(a, b *trace.Level) int { return cmp.Compare(a.OfferedPerS, b.OfferedPerS) }
		low, high := slices.MinFunc(k.levels, byLoad), slices.MaxFunc(k.levels, byLoad)
		return []string{fmt.Sprintf("%d levels of %.4g to %.4g/s, such as %s", n, low.OfferedPerS, high.OfferedPerS, lines[0])}
	}
	return lines
}

// letters drops the numbers of a reason, and the units behind them.
func letters(r rune) rune {
	if unicode.IsDigit(r) || strings.ContainsRune(".%µ", r) {
		return -1
	}
	return r
}

func answered(levels []trace.Level) (n int64) {
	for i := range levels {
		n += levels[i].Tally.OK
	}
	return n
}

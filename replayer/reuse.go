package replayer

import (
	"fmt"

	"github.com/lambdac/lambdac/trace"
)

// reuse follows which beginnings of prompts a run has sent, to tell what a
// cache of prefixes without limits would serve of the next one. Blocks that can
// never return are not kept. It is for one goroutine.
type reuse struct {
	sent map[uint64]struct{}
	// all: every block can return, since all levels send the same prompts.
	all bool
	// full: there were too many to follow, so nothing is said any more.
	full bool
}

// maxFollowed bounds the blocks that are kept, and so the memory: 100 MB.
const maxFollowed = 1 << 22

func newReuse(cache Cache) *reuse {
	return &reuse{sent: make(map[uint64]struct{}), all: cache == CachePrimed}
}

// take notes a prompt and returns how many of its words are those that an
// earlier one began with too; ok is false where that is not known.
func (s *reuse) take(segs []segment) (repeated int64, ok bool) {
	known := true
	for _, seg := range segs {
		if _, again := s.sent[seg.seed]; again && known {
			repeated += seg.words
			continue
		}
		known = false
		switch {
		case s.full || !seg.returns && !s.all:
		case len(s.sent) >= maxFollowed:
			s.full, s.sent = true, nil
		default:
			s.sent[seg.seed] = struct{}{}
		}
	}
	return repeated, !s.full
}

// seePrefix counts the prompt of a request that was sent, and what the answer
// says of it.
func (f *facts) seePrefix(o *outcome) {
	p := &o.it.prompt
	of := f.level.Prefix
	if p.followed {
		of.PlannedTokens += p.words
		of.RepeatedTokens += p.repeated
	}
	if u := &o.rec.Usage; u.CacheReadTokens != nil && u.InputTokens != nil {
		of.ReportedTokens += *u.InputTokens
		of.CachedTokens += min(*u.CacheReadTokens, *u.InputTokens)
	}
}

// cacheDiffers is the difference of hit rates from which levels say different
// things of a service.
const cacheDiffers = 0.02

// comparePrefixes warns where the cache served the levels of a run unequally:
// then latencies differ for another reason than load. Cold levels share no
// prompt, so that theirs differ only as the trace repeats itself within them.
func comparePrefixes(levels []trace.Level, cache Cache) []string {
	remedy := "--cache cold keeps levels apart"
	if cache == CacheCold {
		remedy = "a higher load repeats the trace more often; a longer trace does less"
	}
	var warnings []string
	for _, rate := range []struct {
		name string
		of   func(*trace.PrefixReuse) *float64
	}{
		{"expected", (*trace.PrefixReuse).Expected},
		{"observed", (*trace.PrefixReuse).Observed},
	} {
		low, high := -1, -1
		share := func(i int) float64 { return *rate.of(levels[i].Prefix) }
		for i := range levels {
			if p := levels[i].Prefix; p == nil || rate.of(p) == nil {
				continue
			}
			if low < 0 || share(i) < share(low) {
				low = i
			}
			if high < 0 || share(i) > share(high) {
				high = i
			}
		}
		if low < 0 || share(high)-share(low) <= cacheDiffers {
			continue
		}
		warnings = append(warnings, fmt.Sprintf(
			"prefix cache: the %s hit rate is %.1f %% in level %d (%.4g/s) and %.1f %% in level %d (%.4g/s): their latencies are not of one cache state (%s)",
			rate.name, 100*share(low), low+1, levels[low].OfferedPerS, 100*share(high), high+1, levels[high].OfferedPerS, remedy))
	}
	return warnings
}

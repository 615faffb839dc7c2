package analyzer

import "github.com/lambdac/lambdac/trace"

// prefixes counts how many prefix blocks had been seen in an earlier exchange.
// Ids are dense from 0, so one bit each is enough.
type prefixes struct {
	seen   []uint64
	blocks int64
	known  int64
	size   *int32
	unit   *string
	mixed  bool
	// reuse is what usage says of the service's cache.
	reuse trace.PrefixReuse
}

// maxBlockID bounds the memory that a damaged id can ask for: 256 MiB.
const maxBlockID = 1 << 31

func (p *prefixes) add(r *describedRow) {
	if r.CacheReadTokens != nil && r.InputTokens != nil {
		p.reuse.ReportedTokens += *r.InputTokens
		p.reuse.CachedTokens += min(*r.CacheReadTokens, *r.InputTokens)
	}
	if r.PrefixBlockIDs == nil {
		return
	}
	p.note(r)
	for _, id := range r.PrefixBlockIDs {
		if id < 0 || id >= maxBlockID {
			continue
		}
		p.blocks++
		word, bit := id/64, uint64(1)<<(id%64)
		if word >= int64(len(p.seen)) {
			p.seen = append(p.seen, make([]uint64, word+1-int64(len(p.seen)))...)
		}
		if p.seen[word]&bit != 0 {
			p.known++
		}
		p.seen[word] |= bit
	}
}

func (p *prefixes) note(r *describedRow) {
	if r.PrefixBlockSize == nil || r.PrefixBlockUnit == nil {
		return
	}
	unit := string(*r.PrefixBlockUnit)
	if p.size != nil && (*p.size != *r.PrefixBlockSize || *p.unit != unit) {
		p.mixed = true
	}
	p.size, p.unit = r.PrefixBlockSize, &unit
}

func (p *prefixes) summary() PrefixSharing {
	out := PrefixSharing{Blocks: p.blocks, CachedShare: p.reuse.Observed()}
	if p.blocks > 0 {
		out.SeenShare = new(float64(p.known) / float64(p.blocks))
	}
	if !p.mixed {
		out.BlockSize, out.BlockUnit = p.size, p.unit
	}
	return out
}

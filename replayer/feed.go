package replayer

import (
	"fmt"

	"github.com/lambdac/lambdac/trace"
)

const (
	// maxLookAhead requests at most are written ahead of their sends, and
	// lookAheadBytes of text.
	maxLookAhead   = 512
	lookAheadBytes = 64 << 20
	// bytesPerWord is the length of a filler word, generously.
	bytesPerWord = 8
)

// lookAhead is how many prompts may wait to be sent: enough that the pacer
// never waits for one, and few enough that long prompts do not fill memory.
func lookAhead(recs []*trace.Record) int {
	longest := int64(1)
	for _, r := range recs {
		if r.InputTokens != nil {
			longest = max(longest, *r.InputTokens)
		}
		longest = max(longest, contentBytes(r)/defaultBytesPerToken)
	}
	return int(min(max(lookAheadBytes/(longest*bytesPerWord), 4), maxLookAhead))
}

// feed writes the prompts in order of due time, ahead of the pacer, so that
// nothing is written or counted on the way of a send. primed is closed when
// the look-ahead is full.
func (lv *level) feed(ready chan<- *item, primed chan<- struct{}) error {
	defer close(ready)
	full := false
	prime := func() {
		if !full {
			full = true
			close(primed)
		}
	}
	defer prime()
	r := lv.run
	r.prompts.renew()
	for _, a := range lv.arrivals {
		it := newItem(r.recs[a.rec], a)
		var err error
		it.prompt, err = r.prompts.make(it.src, copyKey{level: lv.key, instance: a.instance, warm: it.warm})
		if err != nil {
			return fmt.Errorf("build request for %q: %w", it.id, err)
		}
		if !r.afford(&it.prompt) {
			lv.overBudget.Store(true)
			return nil
		}
		select {
		case ready <- it:
		case <-lv.ctx.Done():
			return nil
		}
		if len(ready) == cap(ready) {
			prime()
		}
	}
	return nil
}

// afford counts a request's tokens against the budget.
func (r *run) afford(p *prompt) bool {
	cost := p.intended
	if p.maxTokens != nil {
		cost += int64(*p.maxTokens)
	}
	if r.cfg.MaxTokens > 0 && r.spent+cost > r.cfg.MaxTokens {
		return false
	}
	r.spent += cost
	return true
}

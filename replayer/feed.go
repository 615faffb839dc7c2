package replayer

import (
	"fmt"

	"github.com/lambdac/lambdac/trace"
)

const (
	// Between minLookAhead and maxLookAhead requests are written ahead of their
	// sends, and about lookAheadBytes of text.
	minLookAhead   = 4
	maxLookAhead   = 512
	lookAheadBytes = 64 << 20
	// bytesPerWord is the length of a filler word, generously.
	bytesPerWord = 8
)

// lookAhead is how many prompts may wait to be sent: a second's worth, so that
// the pacer never waits for one and a fit soon shows, but not so many that long
// prompts fill memory.
func lookAhead(recs []*trace.Record, perS float64) int {
	longest := int64(1)
	for _, r := range recs {
		if r.InputTokens != nil {
			longest = max(longest, *r.InputTokens)
		}
		longest = max(longest, contentBytes(r)/defaultBytesPerToken)
	}
	room := max(lookAheadBytes/(longest*bytesPerWord), minLookAhead)
	return int(min(max(int64(perS), 4*minLookAhead), room, maxLookAhead))
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
	asked, last := 0, -steadyEvery // questions of this level so far; when the steady one was asked
	for i := 0; lv.Concurrency != nil || i < len(lv.arrivals); i++ {
		it := lv.item(i)
		var err error
		it.looked = r.features.sampled(it)
		if r.features.steady(it, &last) {
			it.probe, it.looked = &steadyQuestion, true
			it.prompt, err = r.prompts.again(it.src)
		} else if r.quality.asked(it) {
			it.probe = r.quality.next(&asked)
			it.prompt, err = r.prompts.ask(it.src, it.probe)
		} else {
			it.prompt, err = r.prompts.make(it.src, copyKey{level: lv.key, instance: it.self.instance, warm: it.warm})
		}
		if err != nil {
			return fmt.Errorf("build request for %q: %w", it.id, err)
		}
		if !r.budget.afford(&it.prompt) {
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

// item makes the item of one arrival.
func (lv *level) item(i int) *item {
	a := lv.arrival(i)
	it := newItem(lv.run.recs[a.rec], a)
	it.order, it.mode = i, lv.run.cfg.Sessions
	if lv.waits != nil {
		it.waits, it.leads = lv.waits[i], lv.leads[it.self]
	}
	return it
}

// link finds the turns that wait for others. In closed sessions a turn has no
// time of its own: it is drawn up with the first of its conversation, so that
// it is there when its turn comes.
func (lv *level) link(p plan) {
	r := lv.run
	if r.cfg.Sessions == SessionsStrict || r.turns.followers() == 0 {
		return
	}
	if r.cfg.Sessions == SessionsClosed {
		lv.arrivals = r.turns.together(lv.arrivals)
	}
	shrink := 1.0
	if r.cfg.Scaling == Compress {
		shrink = p.perS / r.timeline.perS()
	}
	lv.waits = r.turns.link(lv.arrivals, shrink)
	lv.leads = make(map[turn]bool)
	for _, w := range lv.waits {
		if w.on.rec != noTurn {
			lv.leads[w.on] = true
		}
	}
}

package replayer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// primeWorkers is how many priming requests are open at once.
const primeWorkers = 8

// prime fills the service's cache: each prompt that a level will send is sent
// once before the first level, for an answer of one token. Levels that are not
// known beforehand (a search, a closed loop) get one copy of the trace. Without
// it the first level would find an empty cache and the others a full one.
func (r *run) prime(ctx context.Context) error {
	if r.cfg.Cache != CachePrimed {
		return nil
	}
	turns, err := r.toPrime()
	if err != nil {
		return err
	}
	faults := r.sender.faults
	r.sender.faults, r.sender.ctx = nil, ctx
	defer func() { r.sender.faults = faults }()
	items, answered := make(chan *item), atomic.Int64{}
	var workers sync.WaitGroup
	for range min(primeWorkers, r.cfg.MaxInFlight) {
		workers.Go(func() {
			for it := range items {
				it.due = time.Now()
				if out := r.sender.exchange(it); out.rec.Outcome == trace.OutcomeOK {
					answered.Add(1)
				}
			}
		})
	}
	n, err := r.sendPrimers(ctx, turns, items)
	close(items)
	workers.Wait()
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return stopped(errKill.Error())
	case answered.Load() == 0:
		return stopped(fmt.Sprintf("none of the %d requests that fill the cache was answered", n))
	}
	r.said.Knobs = append(r.said.Knobs, fmt.Sprintf("primed: %d prompts sent once before the first level, for one token each", n))
	if failed := int64(n) - answered.Load(); failed > 0 {
		r.result.Warnings = append(r.result.Warnings, fmt.Sprintf("%d of the %d requests that fill the cache failed: the first levels may find less in it than later ones", failed, n))
	}
	return nil
}

// sendPrimers hands the requests to the workers, until the context ends.
func (r *run) sendPrimers(ctx context.Context, turns []turn, items chan<- *item) (n int, err error) {
	told := time.Now()
	for _, t := range turns {
		it := newItem(r.recs[t.rec], arrival{rec: t.rec, instance: t.instance})
		if it.prompt, err = r.prompts.make(it.src, copyKey{instance: t.instance, brief: true}); err != nil {
			return n, fmt.Errorf("build request for %q: %w", it.id, err)
		}
		if !r.budget.afford(&it.prompt) {
			return n, stopped(errBudget.Error())
		}
		select {
		case items <- it:
			n++
		case <-ctx.Done():
			return n, nil
		}
		if r.cfg.Progress != nil && time.Since(told) >= reportEvery {
			told = time.Now()
			r.cfg.Progress(Progress{Priming: true, Levels: r.levels, Scheduled: int64(len(turns)), Sent: int64(n)})
		}
	}
	return n, nil
}

// toPrime are the exchanges and copies that the levels send in their windows,
// each once.
func (r *run) toPrime() (turns []turn, err error) {
	if r.levels == 0 || r.cfg.closed() {
		for i := range r.recs {
			turns = append(turns, turn{rec: int32(i)})
		}
		return turns, nil
	}
	seen := make(map[turn]bool)
	err = r.foresee(func(_ trace.Level, arrivals []arrival) {
		for _, a := range arrivals {
			if t := (turn{a.rec, a.instance}); a.at >= 0 && !seen[t] {
				seen[t] = true
				turns = append(turns, t)
			}
		}
	})
	return turns, err
}

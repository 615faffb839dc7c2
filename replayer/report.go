package replayer

import (
	"time"
)

// reportEvery is the pace of progress reports.
const reportEvery = time.Second

// startReports tells the caller how the level goes until the function returned
// is called, which waits for the last report.
func (lv *level) startReports() (stop func()) {
	if lv.run.cfg.Progress == nil {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(reportEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				lv.report(false)
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// report tells the caller once. While the level runs its counts belong to the
// collector, so that only what is known beforehand is passed on.
func (lv *level) report(done bool) {
	tell := lv.run.cfg.Progress
	if tell == nil {
		return
	}
	p := Progress{
		Done: done, LevelsDone: len(lv.run.result.Levels), Levels: lv.run.levels,
		Scheduled: int64(len(lv.arrivals)), Finished: lv.handled.Load(), InFlight: lv.pacer.open.Load(),
		Errors: lv.errors.Load(), Sheds: lv.sheds.Load(),
		Elapsed: time.Since(time.Unix(0, lv.BeginUnixNs)),
		Left:    max(0, time.Until(time.Unix(0, lv.EndUnixNs))),
	}
	p.Sent = p.Finished + int64(p.InFlight)
	p.Tokens, p.Budget = lv.run.budget.tokens(), lv.run.cfg.MaxTokens
	p.Cost, p.MaxCost = lv.run.budget.cost(), lv.run.cfg.MaxCost
	lv.locked(func() {
		if len(lv.recent.ttfts) > 0 {
			p.TTFTUs = new(quantile(lv.recent.ttfts, 0.5))
		}
		p.Failed, p.Answered = lv.recent.failed, lv.recent.answered
		lv.recent = recent{ttfts: lv.recent.ttfts[:0]}
	})
	if done {
		p.Level = lv.Level
	} else {
		p.Level.Index, p.Level.Order, p.Level.Replicate = lv.Index, lv.Order, lv.Replicate
		p.Level.OfferedPerS, p.Level.Scale = lv.OfferedPerS, lv.Scale
	}
	tell(p)
}

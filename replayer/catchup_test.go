package replayer

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// A client that was stalled for the first two of four seconds at 10 requests a
// second: what becomes of the 20 that are overdue, by policy.
func TestCatchUp(t *testing.T) {
	for _, row := range []struct {
		policy       CatchUp
		sent, unsent int
		// of the first, the twentieth and the last, after the stall
		first, twentieth, last time.Duration
	}{
		{CatchUpBurst, 40, 0, 0, 0, 1900 * time.Millisecond},
		// One each 50 ms, while one more comes due each 100 ms.
		{CatchUpSmooth, 40, 0, 0, 950 * time.Millisecond, 1900 * time.Millisecond},
		{CatchUpDrop, 20, 20, 0, 1900 * time.Millisecond, 1900 * time.Millisecond},
	} {
		t.Run(string(row.policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ready := make(chan *item, 40)
				for i := range 40 {
					a := arrival{at: time.Duration(i) * 100 * time.Millisecond}
					it := newItem(chatRecord(i, 0), a)
					it.order = i
					ready <- it
				}
				close(ready)
				unsent := 0
				p := newPacer(t.Context(), ready, 100, CapDrop, func(_ *item, why trace.OutcomeDetail) {
					if why != trace.DetailClientFault {
						t.Errorf("not sent: %s", why)
					}
					unsent++
				})
				p.catchUp, p.catchUpGap = row.policy, 50*time.Millisecond
				p.start = time.Now()
				p.end = p.start.Add(4 * time.Second)
				time.Sleep(2 * time.Second)
				resumed := time.Now()
				var sent []time.Duration
				for {
					if _, stop := p.Pace(0, 0); stop {
						break
					}
					<-p.sendable
					p.done()
					sent = append(sent, time.Since(resumed))
				}
				got := fmt.Sprint(len(sent), unsent, sent[0], sent[19], sent[len(sent)-1])
				if want := fmt.Sprint(row.sent, row.unsent, row.first, row.twentieth, row.last); got != want {
					t.Errorf("sent, not sent, first, twentieth and last: %s, want %s", got, want)
				}
			})
		})
	}
}

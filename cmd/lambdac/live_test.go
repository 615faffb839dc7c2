package main

import (
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/replayer"
	"github.com/lambdac/lambdac/trace"
)

func TestLiveView(t *testing.T) {
	m := &liveModel{total: func(p replayer.Progress) time.Duration { return p.Left + time.Minute }}
	if got := m.View().Content; got != "" {
		t.Errorf("before the first report: %q", got)
	}
	p := replayer.Progress{
		LevelsDone: 2, Levels: 9, Scheduled: 1200, Sent: 300, Finished: 280, InFlight: 20, Errors: 3, Sheds: 1,
		Elapsed: 15 * time.Second, Left: 45 * time.Second, Tokens: 5000, Budget: 20000,
		Level: trace.Level{OfferedPerS: 20},
	}
	for i, ms := range []int64{100, 200, 0, 800} {
		if p.TTFTUs = nil; ms > 0 {
			p.TTFTUs = new(ms * 1000)
		}
		p.Failed, p.Answered = int64(i), int64(4-i)
		m.Update(p)
	}
	want := strings.Join([]string{
		"level 3/9   280 of 1200 requests ended   1m45s left",
		"offered 20/s   sent 20/s   in flight 20   errors 3   sheds 1",
		"TTFT p50    800 ms  ▂▃ █",
		"failed      75.0 %  ▁▃▅▇",
		"tokens    5000 of 20000", "",
	}, "\n")
	if got := m.View().Content; got != want {
		t.Errorf("view\n%swant\n%s", got, want)
	}
	if _, cmd := m.Update(replayer.Progress{Done: true}); cmd == nil || len(m.ttfts) != 0 {
		t.Error("a level that is done leaves a line, and its curves end")
	}
	for range 3 * sparkWidth {
		m.Update(p)
	}
	if len(m.ttfts) != sparkWidth || len([]rune(sparkline(m.errors, 1))) != sparkWidth {
		t.Errorf("%d values kept", len(m.ttfts))
	}
}

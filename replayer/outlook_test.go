package replayer

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// What is foretold is what is then done.
func TestOutlookComesTrue(t *testing.T) {
	tr := chatTrace(40, 250*ms)
	for _, r := range tr.Records {
		r.TEndUs = new(int64(1_000_000))
	}
	cfg := one(4, 10*time.Second)
	cfg.Loads, cfg.Warmup = []Load{{PerS: 4}, {Scale: 2}, {Scale: 3}}, 2*time.Second
	s := &stub{answer: func(w http.ResponseWriter, r *http.Request) { tokensAnswer(time.Second, 0, 1)(w, r) }}
	cfg.Target = "http://192.0.2.1:8000"
	want, err := Plan(cfg, tr)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.bodies) > 0 {
		t.Fatal("a plan sends nothing")
	}
	virtual(t, s, cfg, tr, func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		var got []LevelOutlook
		for i := range res.Levels {
			l := &res.Levels[i]
			g := LevelOutlook{OfferedPerS: l.OfferedPerS, Requests: l.Scheduled, PeakInFlight: new(int64(l.InFlightMax))}
			for _, r := range out.records {
				if int(*r.Level) == i && r.StartUnixNs < l.StartUnixNs {
					g.Warmup++
				}
			}
			g.InputTokens, g.OutputTokens = 20*(g.Warmup+g.Requests), 10*(g.Warmup+g.Requests)
			g.PeakPerS = int64(l.OfferedPerS)
			got = append(got, g)
		}
		for i := range want.Levels {
			// Superposed copies at random phases: a second holds one more or less.
			if d := want.Levels[i].PeakPerS - got[i].PeakPerS; d < 0 || d > 2 {
				t.Errorf("level %d: busiest second %d at %v/s", i, want.Levels[i].PeakPerS, got[i].OfferedPerS)
			}
			got[i].PeakPerS = want.Levels[i].PeakPerS
			// An answer that ends as the next is sent may still count as open.
			if d := *got[i].PeakInFlight - *want.Levels[i].PeakInFlight; d < 0 || d > 1 {
				t.Errorf("level %d: %d in flight, foretold %d", i, *got[i].PeakInFlight, *want.Levels[i].PeakInFlight)
			}
			got[i].PeakInFlight = want.Levels[i].PeakInFlight
		}
		if d := cmp.Diff(want.Levels, got); d != "" {
			t.Errorf("foretold and done: %s", d)
		}
		if want.Requests != res.Scheduled || want.Takes != 4*12*time.Second {
			t.Errorf("outlook %+v, scheduled %d", want, res.Scheduled)
		}
	})
}

func TestOutlookOfWhatIsNotKnown(t *testing.T) {
	cfg := one(4, time.Second)
	cfg.Target = "http://192.0.2.1:8000"
	o, err := Plan(cfg, chatTrace(8, 250*ms))
	if err != nil || o.Levels[0].PeakInFlight != nil {
		t.Errorf("outlook %+v, error %v: no duration is known", o, err)
	}
	cfg.Planner = plannerFunc(func([]trace.Level) (trace.Level, bool) { return trace.Level{}, false })
	if _, err := Plan(cfg, chatTrace(8, 250*ms)); err == nil || !strings.Contains(err.Error(), "as it goes") {
		t.Errorf("error %v", err)
	}
}

type plannerFunc func([]trace.Level) (trace.Level, bool)

func (f plannerFunc) Next(done []trace.Level) (trace.Level, bool) { return f(done) }

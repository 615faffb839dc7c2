package replayer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

// replayOne replays one request against a stub in virtual time.
func replayOne(t *testing.T, answer func(e events)) (r *trace.Record) {
	t.Helper()
	s := &stub{answer: func(w http.ResponseWriter, _ *http.Request) { answer(stream200(w)) }}
	virtual(t, s, one(1, time.Second), chatTrace(2, time.Second), func(t *testing.T, _ *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		r = out.only(t)
	})
	return r
}

// Case 4: what comes between tokens is told where each event says how many it
// brings, and is not made up where none does.
func TestTokensOfAnEvent(t *testing.T) {
	four := func(usage bool) *trace.Record {
		return replayOne(t, func(e events) {
			for i := range 5 {
				time.Sleep(40 * ms)
				said := ""
				if usage {
					said = fmt.Sprintf(`,"usage":{"prompt_tokens":20,"completion_tokens":%d}`, 4*i+4)
				}
				e.data(`{"choices":[{"index":0,"delta":{"content":"abcd"}}]` + said + `}`)
			}
			e.finish(20, 20)
		})
	}
	known, unknown := four(true), four(false)
	for i, c := range known.Chunks[:5] {
		if c.Tokens == nil || *c.Tokens != 4 || c.GapUs/int64(*c.Tokens) != 10_000 || c.Flags != 0 {
			t.Errorf("event %d: %v tokens, gap %d µs, flags %v; want 4, 40 ms, none", i, c.Tokens, c.GapUs, c.Flags)
		}
		if c := unknown.Chunks[i]; c.Tokens != nil || c.GapUs != 40_000 {
			t.Errorf("event %d: tokens %v of an event that does not say, gap %d µs", i, *c.Tokens, c.GapUs)
		}
	}
	if tpot, ok := trace.TPOT(&known.Timing, &known.Usage, known.N); !ok || tpot != 10*ms {
		t.Errorf("TPOT %v %v: 16 tokens came in the 160 ms after the first four", tpot, ok)
	}
}

// Case 5: the first event brings 8 of 12 tokens, the other four come 10 ms
// apart.
func TestManyTokensAtFirst(t *testing.T) {
	r := replayOne(t, func(e events) {
		time.Sleep(100 * ms)
		for i, n := range []int{8, 9, 10, 11, 12} {
			if i > 0 {
				time.Sleep(10 * ms)
			}
			e.data(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":"ab"}}],"usage":{"prompt_tokens":20,"completion_tokens":%d}}`, n))
		}
		e.finish(20, 12)
	})
	if tpot, ok := trace.TPOT(&r.Timing, &r.Usage, r.N); !ok || tpot != 10*ms || *r.FirstChunkTokens != 8 {
		t.Errorf("TPOT %v %v with %v tokens in the first event; want 10ms and 8", tpot, ok, *r.FirstChunkTokens)
	}
}

// Cases 6, 11 and 12: what stands beside the times of TestAnswers.
func TestWhatElseAnAnswerTells(t *testing.T) {
	r := replayOne(t, func(e events) {
		time.Sleep(10 * ms)
		e.data(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`)
		time.Sleep(90 * ms)
		e.text("a")
		for range 3 { // the service is busy and says so
			time.Sleep(100 * ms)
			e.raw(": ping\n\n")
		}
		time.Sleep(100 * ms)
		e.text("b")
		e.data(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
		e.data("[DONE]")
	})
	got := []any{r.Outcome, us(r.TFirstEventUs), us(r.TFirstTokenUs), us(r.MaxGapUs), *r.ChunkCount, r.TokenSource, us(r.OutputTokens)}
	want := []any{trace.OutcomeOK, int64(10_000), int64(100_000), int64(400_000), int32(2), trace.TokensNone, nil}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("outcome, first event, first token, longest gap, pieces, source and number of tokens: %s", d)
	}
	if _, ok := trace.TPOT(&r.Timing, &r.Usage, r.N); ok {
		t.Error("a time per token of tokens that nobody counted")
	}
}

// Cases 8 to 10, in virtual time: whatever ends a stream early, what was seen
// of it stays as it was.
func TestWhatWasSeenStays(t *testing.T) {
	for name, end := range map[string]func(e events){
		"error event": func(e events) { e.data(`{"error":{"message":"no"}}`) },
		"end":         func(events) {},
		"abort":       func(events) { panic(http.ErrAbortHandler) },
	} {
		r := replayOne(t, func(e events) {
			for range 5 {
				time.Sleep(20 * ms)
				e.text("a")
			}
			end(e)
		})
		var at []int64
		sum := int64(0)
		for _, c := range r.Chunks[:5] {
			sum += c.GapUs
			at = append(at, sum)
		}
		if d := cmp.Diff([]int64{20_000, 40_000, 60_000, 80_000, 100_000}, at); d != "" || *r.StatusCode != 200 || r.Outcome == trace.OutcomeOK {
			t.Errorf("%s: %s, status %d, stamps %s", name, r.Outcome, *r.StatusCode, d)
		}
	}
}

// Case 13 as it is written: the recorded client left after 40 tokens.
func TestCancelAtToken40(t *testing.T) {
	tr := chatTrace(2, time.Second)
	for _, r := range tr.Records {
		r.Outcome, r.OutcomeDetail, r.ChunkCount = trace.OutcomeClientAbort, new(trace.DetailRecorded), new(int32(40))
	}
	running, left := 0, 0
	s := &stub{answer: func(w http.ResponseWriter, r *http.Request) {
		running++
		defer func() { running-- }()
		e := stream200(w)
		for range 200 {
			select {
			case <-time.After(20 * ms):
				e.text("a")
			case <-r.Context().Done():
				left++
				return
			}
		}
	}}
	virtual(t, s, one(1, time.Second), tr, func(t *testing.T, res *Result, out *memory, err error) {
		r := out.only(t)
		if err != nil || r.Outcome != trace.OutcomeClientAbort || *r.OutcomeDetail != trace.DetailPlan || *r.ChunkCount != 40 || *r.TLastTokenUs != 800_000 {
			t.Errorf("%s %v after %d tokens, error %v", r.Outcome, *r.OutcomeDetail, *r.ChunkCount, err)
		}
		if running != 0 || left != 1 || res.Levels[0].Tally.Errors != 0 {
			t.Errorf("%d still running at the service, %d left, tally %+v", running, left, res.Levels[0].Tally)
		}
	})
}

// Case 15 on the published trace itself, whose clock ticks every 3 s.
func TestQuantumOfMooncake(t *testing.T) {
	recs := mooncake(t)
	span := time.Duration(recs[len(recs)-1].StartUnixNs - recs[0].StartUnixNs)
	perS := float64(len(recs)) / span.Seconds()
	for _, spread := range []bool{true, false} {
		tl := newTimeline(recs, 1, spread, 0)
		got, _, err := tl.schedule(Superpose, plan{perS: tl.perS(), hold: span - 3*time.Second, seed: 1, cv: 1})
		if err != nil {
			t.Fatal(err)
		}
		stamps := make(map[time.Duration]bool)
		for _, a := range got {
			stamps[a.at] = true
		}
		d := dispersion(got, span-3*time.Second)
		// The counts per second of a Poisson process have dispersion 1 ± 0.05
		// here; the trace's own rate varies on top of that.
		if spread && (d > 1.5 || len(stamps) < len(got)*99/100) || !spread && (d < 2 || len(stamps) > len(got)/2) {
			t.Errorf("spread %v: dispersion %.2f, %d moments for %d requests of %.2f/s", spread, d, len(stamps), len(got), perS)
		}
	}
	for _, spread := range []bool{true, false} {
		cfg := one(0, time.Second)
		cfg.Loads, cfg.NoSpread = []Load{{Scale: 1}}, !spread
		tr := chatTrace(0, 0)
		tr.Records = recs[:100]
		virtual(t, &stub{answer: tokensAnswer(0, 0, 1)}, cfg, tr, func(t *testing.T, _ *Result, out *memory, err error) {
			if err != nil {
				t.Fatal(err)
			}
			said := slices.ContainsFunc(out.manifest.Run.Knobs, func(k string) bool { return strings.Contains(k, "spread inside the recording's clock of 3s") })
			if said != spread {
				t.Errorf("spread %v: the manifest says %q", spread, out.manifest.Run.Knobs)
			}
		})
	}
}

// mooncake reads the sample of the published trace, times only.
func mooncake(t *testing.T) (recs []*trace.Record) {
	f, err := os.Open(filepath.Join(testenv.Samples(t), "mooncake_fast25_conversation_head790.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row struct{ Timestamp int64 }
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			continue // the last line is cut
		}
		r := chatRecord(len(recs), time.Duration(row.Timestamp)*time.Millisecond)
		r.ArrivalResolutionNs = int64(3 * time.Second)
		recs = append(recs, r)
	}
	return recs
}

// Case 16: an hour's trace at twice its rate, for an hour by superposing and
// for half of one by compressing.
func TestTwiceTheRate(t *testing.T) {
	recs := poissonTrace(7200, 2, 1) // an hour or so
	tl := newTimeline(recs, 1, true, 0)
	for scaling, hold := range map[Scaling]time.Duration{Superpose: time.Hour, Compress: 30 * time.Minute} {
		got, _, err := tl.schedule(scaling, plan{perS: 2 * tl.perS(), hold: hold, seed: 1, cv: 1})
		if err != nil {
			t.Fatal(err)
		}
		used, copies := make(map[int32]bool), 0
		for _, a := range got {
			used[a.rec] = true
			if a.instance > 0 {
				copies++
			}
		}
		if rate := float64(len(got)) / hold.Seconds(); math.Abs(rate/(2*tl.perS())-1) > 0.02 {
			t.Errorf("%s: %.3f/s, twice %.3f/s wanted", scaling, rate, tl.perS())
		}
		// Both come to the end of the trace, where the next lap begins:
		// compressing with one copy of it, half an hour earlier.
		want := map[Scaling]float64{Superpose: 0.5, Compress: 0}[scaling]
		if share := float64(copies) / float64(len(got)); len(used) < len(recs)*98/100 || math.Abs(share-want) > 0.02 {
			t.Errorf("%s: %d of %d requests used, %.3f of those sent are copies", scaling, len(used), len(recs), share)
		}
	}
	for _, scaling := range []Scaling{Superpose, Compress} {
		cfg := one(4, 10*time.Second)
		cfg.Scaling = scaling
		tr := chatTrace(0, 0)
		tr.Records = recs[:200]
		virtual(t, &stub{answer: tokensAnswer(0, 0, 1)}, cfg, tr, func(t *testing.T, _ *Result, out *memory, err error) {
			if err != nil || out.manifest.Run.Scaling != string(scaling) {
				t.Errorf("manifest says %q of %s, error %v", out.manifest.Run.Scaling, scaling, err)
			}
		})
	}
}

// Case 15 of the public record: what was not measured has no value, and takes
// no part in a median.
func TestNotMeasuredIsNotZero(t *testing.T) {
	chunk := func(e events, tokens int) {
		e.data(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":"%s"}}]}`, strings.Repeat("a", tokens)))
	}
	answers := []func(w http.ResponseWriter){
		func(w http.ResponseWriter) { stream200(w).finish(20, 5) },
		func(w http.ResponseWriter) {
			e := stream200(w)
			time.Sleep(70 * ms)
			chunk(e, 1)
			e.finish(20, 1)
		},
		func(w http.ResponseWriter) {
			e := stream200(w)
			time.Sleep(80 * ms)
			chunk(e, 8)
			e.finish(20, 8)
		},
		func(w http.ResponseWriter) { http.Error(w, "{}", http.StatusServiceUnavailable) },
		func(w http.ResponseWriter) { tokensAnswer(100*ms, 20*ms, 10)(w, nil) },
	}
	n := 0
	s := &stub{answer: func(w http.ResponseWriter, _ *http.Request) { n++; answers[n-1](w) }}
	virtual(t, s, one(1, 5*time.Second), chatTrace(5, time.Second), func(t *testing.T, _ *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		var ttfts, tpots []any
		var known []int64
		for _, r := range out.byStart() {
			ttfts = append(ttfts, us(r.TFirstTokenUs))
			if r.TFirstTokenUs != nil {
				known = append(known, *r.TFirstTokenUs)
			}
			if d, ok := trace.TPOT(&r.Timing, &r.Usage, r.N); ok {
				tpots = append(tpots, d)
			} else {
				tpots = append(tpots, nil)
			}
		}
		if d := cmp.Diff([]any{nil, int64(70_000), int64(80_000), nil, int64(100_000)}, ttfts); d != "" {
			t.Errorf("TTFT: %s", d)
		}
		if d := cmp.Diff([]any{nil, nil, nil, nil, 20 * ms}, tpots); d != "" {
			t.Errorf("TPOT: %s", d)
		}
		if m := quantile(known, 0.5); m != 80_000 || len(known) != 3 {
			t.Errorf("median TTFT %d µs of %d", m, len(known))
		}
	})
}

// Case 16 of the public record: 150 requests a second to a service that takes a
// second and has no limit, by a client that may hold 100 open. It is this limit
// that is named, and not the service's capacity that is found.
func TestOwnLimitIsNamed(t *testing.T) {
	for policy, want := range map[CapPolicy]string{CapQueue: "fell behind", CapDrop: "lost by the client"} {
		cfg := one(150, 10*time.Second)
		cfg.MaxInFlight, cfg.CapPolicy = 100, policy
		virtual(t, &stub{answer: tokensAnswer(time.Second, 0, 1)}, cfg, chatTrace(1500, 20*ms/3), func(t *testing.T, res *Result, out *memory, err error) {
			if err != nil {
				t.Fatal(err)
			}
			mustBeInvalid(t, res, "the client's own limit of 100 in flight held", want)
			if l := res.Levels[0]; l.InFlightMax != 100 || l.ConnsOpened > 100 {
				t.Errorf("%s: %d in flight, %d connections", policy, l.InFlightMax, l.ConnsOpened)
			}
			for _, r := range out.records {
				if sent, ok := r.TTFTSent(); ok && sent != time.Second {
					t.Fatalf("%s: the wait is in the service's share: %v", policy, sent)
				}
			}
		})
	}
}

// Case 21: without a fault, and with one that falls on nobody, the times are
// the service's; with 100 ms on each exchange the first token is that much
// later and the gaps stay.
func TestLatencyOnKeptConnections(t *testing.T) {
	for flag, more := range map[string]int64{"": 0, "delay,delay=100ms,path=/nowhere": 0, "delay,delay=100ms": 100_000} {
		cfg := one(10, 5*time.Second)
		if flag != "" {
			cfg.Faults = faults(t, flag)
		}
		virtual(t, &stub{answer: tokensAnswer(50*ms, 20*ms, 5)}, cfg, chatTrace(50, 100*ms), func(t *testing.T, res *Result, out *memory, err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range out.records {
				if *r.TFirstTokenUs != 50_000+more || *r.MaxGapUs != 20_000 || *r.TLastTokenUs != 130_000+more {
					t.Fatalf("%q: first token %d, longest gap %d, last token %d µs", flag, *r.TFirstTokenUs, *r.MaxGapUs, *r.TLastTokenUs)
				}
			}
			if res.Levels[0].ConnsOpened > 5 {
				t.Errorf("%q: %d connections for 50 requests", flag, res.Levels[0].ConnsOpened)
			}
		})
	}
}

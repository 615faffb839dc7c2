package replayer

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// Case 1 of the replayer's acceptance cases, exact in virtual time.
func TestStampsAreExact(t *testing.T) {
	s := &stub{answer: tokensAnswer(100*time.Millisecond, 20*time.Millisecond, 100)}
	virtual(t, s, one(10, 10*time.Second), chatTrace(100, 100*time.Millisecond), func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if len(out.records) != 100 || res.Outcomes[trace.OutcomeOK] != 100 {
			t.Fatalf("outcomes %v of %d records, want 100 ok", res.Outcomes, len(out.records))
		}
		start := res.Levels[0].StartUnixNs
		for i, r := range out.byStart() {
			if want := start + int64(i)*int64(100*time.Millisecond); r.StartUnixNs != want {
				t.Fatalf("record %d due %d ns after the start, want %d", i, r.StartUnixNs-start, want-start)
			}
			got := []any{us(r.TSentUs), us(r.TRespHeadersUs), us(r.TFirstEventUs), us(r.TFirstTokenUs), us(r.TLastTokenUs), us(r.TEndUs), us(r.MaxGapUs), *r.EventCount, *r.ChunkCount}
			want := []any{int64(0), int64(0), int64(100_000), int64(100_000), int64(2_080_000), int64(2_080_000), int64(20_000), int32(103), int32(100)}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("stamps of record %d: %s", i, d)
			}
			if tpot, ok := trace.TPOT(&r.Timing, &r.Usage, r.N); !ok || tpot != 20*time.Millisecond {
				t.Fatalf("TPOT %v %v", tpot, ok)
			}
		}
		l := res.Levels[0]
		if res.Validity.Verdict != trace.Valid || l.AchievedPerS != 10 || *l.LagP99Us != 0 || l.InFlightMax != 21 {
			t.Errorf("level %+v, validity %+v", l, res.Validity)
		}
	})
}

// The request is ours alone: no header of Vegeta, recorded length pinned.
func TestWhatIsSent(t *testing.T) {
	s := &stub{answer: tokensAnswer(0, 0, 1)}
	cfg := one(1, time.Second)
	cfg.Headers = http.Header{"Authorization": {"Bearer x"}, "Idempotency-Key": {"k"}}
	cfg.Model = "other"
	virtual(t, s, cfg, chatTrace(2, time.Second), func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		want := http.Header{
			"Authorization": {"Bearer x"}, "Content-Type": {"application/json"}, "User-Agent": {"lambdac"},
			"Content-Length": s.headers[0]["Content-Length"],
		}
		if d := cmp.Diff(want, s.headers[0]); d != "" {
			t.Errorf("headers: %s", d)
		}
		for _, member := range []string{`"model":"other"`, `"max_tokens":10`, `"stream":true`, `"include_usage":true`} {
			if !strings.Contains(s.bodies[0], member) {
				t.Errorf("body lacks %s: %s", member, s.bodies[0])
			}
		}
		if n := promptWords(s.bodies[0]); n != 20 {
			t.Errorf("%d words in the prompt, want 20", n)
		}
		r := out.only(t)
		if r.Origin != trace.OriginReplay || r.CaptureSource != "replay" || r.Vantage != trace.VantageClient ||
			*r.RequestModel != "other" || r.PathTemplate != "/v1/chat/completions" || *r.MaxTokens != 10 ||
			r.SanitizerMode != trace.ModeShape || *r.StatusCode != 200 {
			t.Errorf("record %+v", r)
		}
		for _, knob := range []string{"max_tokens=recorded", "prompts=filler", "model=other"} {
			if !slices.Contains(out.manifest.Run.Knobs, knob) {
				t.Errorf("manifest lacks knob %q: %q", knob, out.manifest.Run.Knobs)
			}
		}
	})
}

// Cases 2 and 3: a client that may hold one request open, at ten times what
// the service does.
func TestInFlightLimit(t *testing.T) {
	service := func(w http.ResponseWriter, _ *http.Request) {
		e := stream200(w)
		time.Sleep(500 * time.Millisecond)
		e.text("a")
		e.finish(20, 1)
	}
	t.Run("queue", func(t *testing.T) {
		cfg := one(10, 2*time.Second)
		cfg.MaxInFlight, cfg.CapPolicy = 1, CapQueue
		virtual(t, &stub{answer: service}, cfg, chatTrace(20, 100*time.Millisecond), func(t *testing.T, res *Result, out *memory, err error) {
			if err != nil || res.Outcomes[trace.OutcomeOK] != 20 {
				t.Fatalf("outcomes %v, error %v", res.Outcomes, err)
			}
			for i, r := range out.byStart() {
				// Request i is due at 0.1 i and answered at 0.5 (i+1).
				user, _ := r.TTFTUser()
				sent, _ := r.TTFTSent()
				if want := time.Duration(i)*400*time.Millisecond + 500*time.Millisecond; user != want || sent != 500*time.Millisecond {
					t.Errorf("request %d: TTFT user %v sent %v, want %v and 500ms", i, user, sent, want)
				}
				if held := i > 0; held != (r.LagCause != nil && *r.LagCause == trace.LagCap) {
					t.Errorf("request %d: lag cause %v", i, r.LagCause)
				}
			}
			mustBeInvalid(t, res, "in flight held", "fell behind", "lag p99")
		})
	})
	t.Run("drop", func(t *testing.T) {
		cfg := one(10, 2*time.Second)
		cfg.MaxInFlight = 1
		virtual(t, &stub{answer: service}, cfg, chatTrace(20, 100*time.Millisecond), func(t *testing.T, res *Result, out *memory, err error) {
			if err != nil {
				t.Fatal(err)
			}
			if ok, dropped := out.count(trace.OutcomeOK, ""), out.count(trace.OutcomeNotSent, trace.DetailCap); ok != 4 || dropped != 16 {
				t.Errorf("%d ok, %d not sent; want 4 and 16", ok, dropped)
			}
			mustBeInvalid(t, res, "in flight held", "lost by the client")
			for _, r := range out.records {
				if r.Outcome == trace.OutcomeNotSent && (r.TSentUs != nil || r.TEndUs != nil || r.Chunks != nil) {
					t.Errorf("not sent, but with times: %+v", r.Timing)
				}
			}
		})
	})
}

// mustBeInvalid wants each text in a reason of the only level.
func mustBeInvalid(t *testing.T, res *Result, reasons ...string) {
	t.Helper()
	if res.Validity.Verdict != trace.Invalid {
		t.Errorf("verdict %q", res.Validity.Verdict)
	}
	for _, want := range reasons {
		if !slices.ContainsFunc(res.Levels[0].Invalid, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("no reason says %q: %q", want, res.Levels[0].Invalid)
		}
	}
}

// Case 18 of the public record: a service that answers 500 to all.
func TestBreaker(t *testing.T) {
	s := &stub{answer: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", http.StatusInternalServerError) }}
	cfg := one(10, 5*time.Second)
	cfg.Loads = []Load{{PerS: 5}, {PerS: 10}, {PerS: 20}}
	virtual(t, s, cfg, chatTrace(100, 100*time.Millisecond), func(t *testing.T, res *Result, out *memory, err error) {
		if !errors.Is(err, ErrStopped) || !strings.Contains(err.Error(), "25 of the last 25 answers failed") {
			t.Errorf("error %v", err)
		}
		if len(res.Levels) != 1 || res.Validity.Verdict != trace.Invalid || out.count(trace.OutcomeHTTPError, "") != 25 {
			t.Errorf("%d levels, validity %+v, outcomes %v", len(res.Levels), res.Validity, res.Outcomes)
		}
	})
}

// Sheds are what an overloaded service should do: they never trip the breaker.
func TestBreakerLetsShedsPass(t *testing.T) {
	s := &stub{answer: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", http.StatusTooManyRequests) }}
	virtual(t, s, one(10, 5*time.Second), chatTrace(100, 100*time.Millisecond), func(t *testing.T, res *Result, _ *memory, err error) {
		if err != nil || res.Levels[0].Tally.Sheds != 50 {
			t.Errorf("tally %+v, error %v", res.Levels[0].Tally, err)
		}
	})
}

// A service that dies in a long level is given up before the level's end.
func TestBreakerInsideALevel(t *testing.T) {
	began := sync.OnceValue(time.Now) // the first request
	s := &stub{answer: func(w http.ResponseWriter, r *http.Request) {
		if time.Since(began()) < 20*time.Second {
			tokensAnswer(0, 0, 1)(w, r)
			return
		}
		http.Error(w, "{}", http.StatusBadGateway)
	}}
	virtual(t, s, one(10, 5*time.Minute), chatTrace(100, 100*time.Millisecond), func(t *testing.T, res *Result, out *memory, err error) {
		if !errors.Is(err, ErrStopped) {
			t.Fatalf("error %v", err)
		}
		if n := out.count(trace.OutcomeHTTPError, ""); n < 140 || n > 160 {
			t.Errorf("gave up after %d failures, want about 150 of 300", n)
		}
		if out.count(trace.OutcomeNotSent, trace.DetailStop) < 2600 {
			t.Errorf("outcomes %v: the rest must be not sent", res.Outcomes)
		}
		mustBeInvalid(t, res, "stopped before its end")
	})
}

func TestTokenBudget(t *testing.T) {
	cfg := one(10, 10*time.Second)
	cfg.MaxTokens = 30 * 25 // 20 in, 10 out
	virtual(t, &stub{answer: tokensAnswer(time.Second, 0, 1)}, cfg, chatTrace(100, 100*time.Millisecond), func(t *testing.T, res *Result, out *memory, err error) {
		if !errors.Is(err, ErrStopped) || !strings.Contains(err.Error(), "budget") {
			t.Errorf("error %v", err)
		}
		if ok, left := out.count(trace.OutcomeOK, ""), out.count(trace.OutcomeNotSent, trace.DetailBudget); ok != 25 || left != 75 {
			t.Errorf("%d ok, %d left; want 25 and 75", ok, left)
		}
	})
}

func TestFullDisk(t *testing.T) {
	full := errors.New("no space left on device")
	tr, cfg := chatTrace(100, 100*time.Millisecond), one(10, 10*time.Second)
	s := &stub{answer: tokensAnswer(0, 0, 1)}
	virtualInto(t, s, cfg, tr, &memory{fail: full}, func(t *testing.T, res *Result, err error) {
		if !errors.Is(err, ErrOutput) || !errors.Is(err, full) {
			t.Errorf("error %v", err)
		}
		if res.Scheduled != 100 || len(s.bodies) > 2 {
			t.Errorf("scheduled %d, sent %d: must stop at once", res.Scheduled, len(s.bodies))
		}
	})
}

// Levels: lowest first and last, each load the asked number of times.
func TestLevelsOfARun(t *testing.T) {
	cfg := one(0, time.Second)
	cfg.Loads = []Load{{PerS: 20}, {PerS: 5}, {PerS: 10}}
	cfg.Replicates, cfg.Warmup, cfg.Settle = 2, time.Second, 100*time.Millisecond
	var reports []Progress
	cfg.Progress = func(p Progress) { reports = append(reports, p) }
	virtual(t, &stub{answer: tokensAnswer(50*time.Millisecond, 0, 1)}, cfg, chatTrace(1000, 100*time.Millisecond), func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		var loads []float64
		replicates := make(map[float64]int32)
		for i, l := range res.Levels {
			loads = append(loads, l.OfferedPerS)
			if l.Index != int32(i) || l.Order != int32(i) || l.Replicate != replicates[l.OfferedPerS] {
				t.Errorf("level %d: index %d, order %d, replicate %d", i, l.Index, l.Order, l.Replicate)
			}
			replicates[l.OfferedPerS]++
			if n := int64(l.OfferedPerS); l.Scheduled != n || l.Outcomes[trace.OutcomeOK] != n {
				t.Errorf("level %d at %v/s: scheduled %d, outcomes %v", i, l.OfferedPerS, l.Scheduled, l.Outcomes)
			}
			if i > 0 && l.BeginUnixNs < res.Levels[i-1].DrainedUnixNs+int64(cfg.Settle) {
				t.Errorf("level %d begins before level %d has settled", i, i-1)
			}
		}
		if loads[0] != 5 || loads[6] != 5 || replicates[5] != 3 || replicates[10] != 2 || replicates[20] != 2 {
			t.Errorf("loads in order %v", loads)
		}
		if d := cmp.Diff(res.Levels, out.levels); d != "" {
			t.Errorf("levels written: %s", d)
		}
		last := reports[len(reports)-1]
		if !last.Done || last.LevelsDone != 7 || last.Levels != 7 || last.Left != 0 {
			t.Errorf("last report %+v", last)
		}
		if !out.manifest.Clean || out.manifest.Run.Validity.Verdict != trace.Valid {
			t.Errorf("manifest %+v", out.manifest)
		}
	})
}

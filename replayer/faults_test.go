package replayer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/fault"
	"github.com/lambdac/lambdac/trace"
)

func faults(t testing.TB, flags ...string) (specs []fault.Spec) {
	t.Helper()
	for _, flag := range flags {
		s, err := fault.ParseFlag(flag)
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, s)
	}
	return specs
}

// TestFaultWindow: a fault that begins while connections are open hits each
// request of its window, on old connections too, and none outside.
// Shopify/toxiproxy#148.
func TestFaultWindow(t *testing.T) {
	arrived := make(map[string]time.Time) // by body: each prompt is another
	s := &stub{answer: tokensAnswer(50*ms, 0, 2)}
	answer := s.answer
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		arrived[s.bodies[len(s.bodies)-1]] = time.Now()
		s.mu.Unlock()
		answer(w, r)
	}
	cfg := one(20, 30*time.Second)
	cfg.Faults = faults(t, "delay,delay=300ms,from=10s,for=10s")
	virtual(t, s, cfg, chatTrace(600, 50*ms), func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		start, faulted, reused := res.Levels[0].StartUnixNs, 0, 0
		for _, r := range out.records {
			at := time.Duration(r.StartUnixNs - start)
			in := at >= 10*time.Second && at < 20*time.Second
			want, ttft := []string{}, int64(50_000)
			if in {
				want, ttft = []string{"delay"}, 350_000
				faulted++
				if *r.ConnReused {
					reused++
				}
			}
			if !slices.Equal(r.Faults, want) || *r.TFirstTokenUs != ttft {
				t.Errorf("due at %v: faults %v, TTFT %d µs; want %v, %d", at, r.Faults, *r.TFirstTokenUs, want, ttft)
			}
			if r.LagCause != nil {
				t.Errorf("due at %v: lag cause %v", at, *r.LagCause)
			}
		}
		if faulted != 200 || reused < 190 {
			t.Errorf("%d faulted, %d of them on connections used before; want 200, nearly all", faulted, reused)
		}
		late := 0
		for _, at := range arrived { // what the service saw
			if phase := at.UnixNano() - start; phase%int64(50*ms) == 0 && phase >= int64(10300*ms) && phase < int64(20300*ms) {
				late++
			}
		}
		if late < 200 {
			t.Errorf("the service saw %d requests between 10.3 s and 20.3 s, want the 200 that were delayed", late)
		}
		want := []trace.Mark{{
			ID: "delay/0", Name: "delay", Kind: "fault/integration.delay", Level: new(int32(0)),
			StartUnixNs: start + int64(10*time.Second), EndUnixNs: start + int64(20*time.Second), Effect: trace.EffectSeen,
		}}
		if len(out.marks) != 1 || *out.marks[0].Level != 0 || func(m trace.Mark) trace.Mark { m.Level = want[0].Level; return m }(out.marks[0]) != want[0] {
			t.Errorf("marks %+v, want %+v", out.marks, want)
		}
		if l := res.Levels[0]; l.Faulted != 200 || len(l.Invalid) > 0 {
			t.Errorf("level: %d faulted, invalid %v", l.Faulted, l.Invalid)
		}
	})
}

// armRun is one arm of an experiment: what became of each request, and what
// the service saw.
type armRun struct {
	faults map[string][]string // by id
	bodies []string
	out    *memory
	res    *Result
}

func runArm(t *testing.T, seed uint64, flags ...string) armRun {
	t.Helper()
	s := &stub{answer: tokensAnswer(10*ms, 5*ms, 8)}
	cfg := one(50, 20*time.Second)
	cfg.Seed, cfg.Faults = seed, faults(t, flags...)
	arm := armRun{faults: make(map[string][]string)}
	virtual(t, s, cfg, chatTrace(1000, 20*ms), func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range out.records {
			if len(r.Faults) > 0 {
				arm.faults[r.RequestID] = r.Faults
			}
		}
		arm.out, arm.res = out, res
	})
	arm.bodies = slices.Sorted(slices.Values(s.bodies))
	return arm
}

// TestFaultsOfEqualSeeds: equal seeds fault equal requests, others do not; the
// rest is untouched.
func TestFaultsOfEqualSeeds(t *testing.T) {
	flags := []string{"http-429,share=5%", "cut,share=2%,after=3"}
	a, b, other, without := runArm(t, 1, flags...), runArm(t, 1, flags...), runArm(t, 2, flags...), runArm(t, 1)
	if len(a.faults) != len(b.faults) {
		t.Errorf("%d and %d requests faulted by one seed", len(a.faults), len(b.faults))
	}
	refused, cuts, same := 0, 0, 0
	for id, names := range a.faults {
		if !slices.Equal(names, b.faults[id]) {
			t.Errorf("%s: faults %v and %v by one seed", id, names, b.faults[id])
		}
		if slices.Equal(names, other.faults[id]) {
			same++
		}
		if names[0] == "http-429" {
			refused++
		} else {
			cuts++
		}
	}
	// 1,000 draws: 5 % is 50 ± 6.9, 2 % is 19 ± 4.3 of those left; four sigma.
	if refused < 22 || refused > 78 || cuts < 2 || cuts > 37 || same > len(a.faults)/2 {
		t.Errorf("%d refused, %d cut, %d of them by another seed too", refused, cuts, same)
	}
	if got := a.out.count(trace.OutcomeHTTPError, ""); got != refused {
		t.Errorf("%d http_error, want %d", got, refused)
	}
	if got := a.out.count(trace.OutcomeServerAbort, trace.DetailFIN); got != cuts {
		t.Errorf("%d server_abort, want %d", got, cuts)
	}
	if got := a.out.count(trace.OutcomeOK, ""); got != 1000-refused-cuts {
		t.Errorf("%d ok, want %d", got, 1000-refused-cuts)
	}
	// The service: all but the refused, byte for byte as without faults.
	if len(a.bodies) != 1000-refused || len(without.bodies) != 1000 || len(without.faults) != 0 {
		t.Errorf("the service saw %d and %d requests, want %d and 1000", len(a.bodies), len(without.bodies), 1000-refused)
	}
	for _, body := range a.bodies {
		if _, found := slices.BinarySearch(without.bodies, body); !found {
			t.Fatalf("the service saw a body that it does not see without faults: %s", body)
		}
	}
	for _, r := range a.out.records {
		if names := a.faults[r.RequestID]; len(names) == 1 && names[0] == "cut" && *r.EventCount != 3 {
			t.Errorf("%s: %d events before the cut, want 3", r.RequestID, *r.EventCount)
		}
	}
	for _, r := range without.out.records {
		if r.Faults != nil {
			t.Errorf("%s: faults %v in a run without any: want NULL", r.RequestID, r.Faults)
		}
	}
}

// TestLatencySpike: for 500 ms no answer begins before 180 ms; before and
// after the service's own 120 ms hold.
func TestLatencySpike(t *testing.T) {
	cfg := one(40, 4*time.Second)
	cfg.Faults = faults(t, "latency-spike,to=180ms,from=2s")
	virtual(t, &stub{answer: tokensAnswer(120*ms, 0, 3)}, cfg, chatTrace(160, 25*ms), func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		spiked := 0
		for _, r := range out.records {
			at := time.Duration(r.StartUnixNs - res.Levels[0].StartUnixNs)
			want := int64(120_000)
			if at >= 2*time.Second && at < 2500*ms {
				want = 180_000
				spiked++
			}
			if *r.TFirstTokenUs != want || (len(r.Faults) > 0) != (want == 180_000) {
				t.Errorf("due at %v: TTFT %d µs, faults %v; want %d", at, *r.TFirstTokenUs, r.Faults, want)
			}
		}
		if spiked != 20 {
			t.Errorf("%d requests in the spike, want 20", spiked)
		}
	})
}

// TestInjectedFailuresStopNothing: the breaker is about the service.
func TestInjectedFailuresStopNothing(t *testing.T) {
	cfg := one(100, 10*time.Second)
	cfg.Faults = faults(t, "http-5xx,for=9s")
	virtual(t, &stub{answer: tokensAnswer(ms, 0, 2)}, cfg, chatTrace(1000, 10*ms), func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if n := out.count(trace.OutcomeHTTPError, ""); n != 900 || res.Levels[0].Faulted != 900 {
			t.Errorf("%d http_error, %d faulted, want 900", n, res.Levels[0].Faulted)
		}
	})
}

// TestFaultWithoutEffect: a stream that is over before the cut is not faulted,
// and the mark says so; a fault for others is not known to have an effect.
func TestFaultWithoutEffect(t *testing.T) {
	cfg := one(10, time.Second)
	cfg.Faults = faults(t, "cut,after=100", "delay,model=another")
	virtual(t, &stub{answer: tokensAnswer(ms, 0, 2)}, cfg, chatTrace(10, 100*ms), func(t *testing.T, _ *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		effects := map[string]trace.MarkEffect{}
		for _, m := range out.marks {
			effects[m.Name] = m.Effect
		}
		if effects["cut"] != trace.EffectNotSeen || effects["delay"] != trace.EffectUnknown || out.count(trace.OutcomeOK, "") != 10 {
			t.Errorf("effects %v, %d ok", effects, out.count(trace.OutcomeOK, ""))
		}
	})
}

func TestFaultsRefused(t *testing.T) {
	for flag, want := range map[string]string{
		"delay,from=60s":        "starts at 1m0s",
		"delay,from=50s,for=1m": "ends at 1m50s",
		"retrieval.empty":       "put lambdac fault-proxy in front of the store",
	} {
		cfg := one(1, time.Minute)
		cfg.Target, cfg.Faults = "http://192.0.2.1", faults(t, flag)
		err := Check(cfg, chatTrace(60, time.Second))
		if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want an ErrInput with %q", flag, err, want)
		}
	}
}

// TestGenerationFaults: what the client reads of a stream of 8 tokens.
func TestGenerationFaults(t *testing.T) {
	for flag, want := range map[string]struct {
		outcome trace.Outcome
		detail  trace.OutcomeDetail
		events  int32
	}{
		"cut,after=3":                      {trace.OutcomeServerAbort, trace.DetailFIN, 3},
		"stall,after=3,pause=2s":           {trace.OutcomeOK, "", 11},
		"duplicate-event,after=3":          {trace.OutcomeOK, "", 12},
		"bad-json,after=3":                 {trace.OutcomeOK, "", 11},
		"error-event,after=3":              {trace.OutcomeErrorInStream, "", 4},
		"no-end":                           {trace.OutcomeServerAbort, trace.DetailFIN, 8},
		"reset,after=300B":                 {trace.OutcomeServerAbort, trace.DetailRST, 0},
		"reset":                            {trace.OutcomeConnError, trace.DetailReset, 0},
		"integration.bandwidth,rate=1KB/s": {trace.OutcomeOK, "", 11},
		"slow-reader,rate=500B/s":          {trace.OutcomeOK, "", 11},
	} {
		t.Run(flag, func(t *testing.T) {
			cfg := one(1, 2*time.Second)
			cfg.Faults = faults(t, flag)
			virtual(t, &stub{answer: tokensAnswer(ms, ms, 8)}, cfg, chatTrace(2, time.Second), func(t *testing.T, _ *Result, out *memory, err error) {
				if err != nil && !errors.Is(err, ErrStopped) {
					t.Fatal(err)
				}
				r := out.byStart()[0]
				detail := trace.OutcomeDetail("")
				if r.OutcomeDetail != nil {
					detail = *r.OutcomeDetail
				}
				events := int32(0)
				if r.EventCount != nil {
					events = *r.EventCount
				}
				if r.Outcome != want.outcome || detail != want.detail || want.events > 0 && events != want.events {
					t.Errorf("%s %s, %d events; want %s %s, %d", r.Outcome, detail, events, want.outcome, want.detail, want.events)
				}
				if len(r.Faults) != 1 {
					t.Errorf("faults %v, want one", r.Faults)
				}
			})
		})
	}
}

// TestRetryStorm: each failed request comes four times, at once.
func TestRetryStorm(t *testing.T) {
	n := 0
	s := &stub{answer: func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "{}")
	}}
	cfg := one(1, 4*time.Second)
	cfg.Faults = faults(t, "retry-storm,retries=3,from=1s,for=2s")
	virtual(t, s, cfg, chatTrace(4, time.Second), func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil && !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}
		if n != 2+2*4 || res.Levels[0].Faulted != 2 {
			t.Errorf("the service was asked %d times, want 10; %d faulted, want 2", n, res.Levels[0].Faulted)
		}
		for _, r := range out.byStart()[1:3] {
			if r.StatusCode == nil || *r.StatusCode != 503 {
				t.Errorf("%s: status %v, want the last attempt's", r.RequestID, r.StatusCode)
			}
		}
	})
}

// fallbackApp answers from a store that it asks for each prompt, and without it
// where that finds nothing, and says so in a header field.
func fallbackApp(t *testing.T, store string) string {
	t.Helper()
	app := httptest.NewServer(&stub{answer: func(w http.ResponseWriter, r *http.Request) {
		resp, err := http.Post(store+"/collections/facts/points/search", "application/json", strings.NewReader(`{"vector":[1,2],"limit":1}`))
		found := struct{ Result []any }{}
		if err == nil {
			err = json.NewDecoder(resp.Body).Decode(&found)
			_ = resp.Body.Close()
		}
		text := "from the store"
		if err != nil || len(found.Result) == 0 {
			w.Header().Set("X-Fallback", "nothing found")
			text = "from memory"
		}
		e := stream200(w)
		e.text(text)
		e.finish(20, 3)
	}})
	t.Cleanup(app.Close)
	return app.URL
}

// TestFallbackSeen: a replay against a service whose store is behind the fault
// proxy: each record says whether that request fell back, and when it was
// answered.
func TestFallbackSeen(t *testing.T) {
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"result":[{"id":1,"score":0.9}]}`)
	}))
	defer store.Close()
	target, err := url.Parse(store.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := fault.NewProxy(t.Context(), fault.ProxyConfig{Target: target, Faults: faults(t, "retrieval.empty,share=40%"), Seed: 3, Rules: fault.BuiltinRules()})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- proxy.Serve(ctx, ln) }()
	cfg := one(100, time.Second)
	cfg.Target, cfg.KeepHeaders = fallbackApp(t, "http://"+ln.Addr().String()), []string{"X-Fallback"}
	out := &memory{}
	if _, err := Run(t.Context(), cfg, chatTrace(100, 10*ms), out); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	fell := int64(0)
	for _, r := range out.records {
		if r.Outcome != trace.OutcomeOK || r.TFirstTokenUs == nil {
			t.Errorf("%s: %s, first token %v", r.RequestID, r.Outcome, us(r.TFirstTokenUs))
		}
		if r.RespHeaders["x-fallback"] == "nothing found" {
			fell++
		}
	}
	if acted := proxy.Report().Faults[0].Acted; fell != acted || fell < 20 || fell > 60 { // 40 ± 4.9, four sigma
		t.Errorf("%d of 100 records fell back, the store came back empty %d times", fell, acted)
	}
}

package replayer

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Each reason, alone, by numbers just inside and just outside its limit.
func TestJudge(t *testing.T) {
	many := func(n int, v int64) []int64 { return slices.Repeat([]int64{v}, n) }
	rows := []struct {
		name   string
		change func(f *facts, l *trace.Level)
		want   string // the only reason; "" = valid
	}{
		{"healthy", func(*facts, *trace.Level) {}, ""},
		{"achieved 99 %", func(f *facts, _ *trace.Level) { f.sentInTime = 990 }, ""},
		{"achieved less", func(f *facts, _ *trace.Level) { f.sentInTime = 989 }, "achieved 98.9/s of 100/s scheduled (98.9 %"},
		{"dropped by policy", func(f *facts, l *trace.Level) {
			f.policy, f.sentInTime, l.Outcomes[trace.OutcomeNotSent] = CapDrop, 500, 500
		}, ""},
		{"lag 5 ms", func(f *facts, _ *trace.Level) { f.lags = many(1000, 5000) }, ""},
		{"lag more", func(f *facts, _ *trace.Level) { f.lags = many(1000, 5001) }, "client lag p99 5.001ms above 5ms"},
		{"lag of 1 in 100", func(f *facts, _ *trace.Level) { f.lags = append(many(991, 0), many(9, 1e6)...) }, ""},
		{"lag 20 ms of TTFT 1 s", func(f *facts, _ *trace.Level) {
			f.lags, f.ttfts = many(1000, 20_000), many(1000, 1_000_000)
		}, ""},
		{"lag 21 ms of TTFT 1 s", func(f *facts, _ *trace.Level) {
			f.lags, f.ttfts = many(1000, 21_000), many(1000, 1_000_000)
		}, "client lag p99 21ms above 20ms"},
		{"limit held", func(f *facts, _ *trace.Level) { f.capHeld = true }, "the client's own limit of 7 in flight held"},
		{"lost 1 %", func(_ *facts, l *trace.Level) { l.Tally.ExcludedByUs = 10 }, ""},
		{"lost more", func(_ *facts, l *trace.Level) { l.Tally.ExcludedByUs = 11 }, "11 of 1000 requests (1.1 %) were lost by the client"},
		{"CPU 80 %", func(f *facts, _ *trace.Level) { f.cpu = new(0.8) }, ""},
		{"CPU more", func(f *facts, _ *trace.Level) { f.cpu = new(0.81) }, "the client used 81 % of its 2 cores"},
		{"stopped", func(f *facts, _ *trace.Level) { f.stopped = "because" }, "stopped before its end: because"},
		{"refused 10 %", func(_ *facts, l *trace.Level) { l.Tally.Excluded = 100 }, ""},
		{
			"refused more", func(_ *facts, l *trace.Level) { l.Tally.Excluded = 101 },
			"101 of 1000 requests (10.1 %) were refused as wrong, status 400 1 times, status 404 5 times, is the model there? see --model",
		},
		{"lost and not refused", func(_ *facts, l *trace.Level) { l.Tally.Excluded, l.Tally.ExcludedByUs = 101, 101 }, "101 of 1000 requests (10.1 %) were lost"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			l := &trace.Level{OfferedPerS: 100, Scheduled: 1000, InFlightCap: 7, Outcomes: map[trace.Outcome]int64{}, Tally: trace.Tally{OK: 1}}
			f := &facts{level: l, refused: map[int32]int64{404: 5, 400: 1}, hold: 10 * time.Second, sentInTime: 1000, lags: many(1000, 100), ttfts: many(1000, 100_000), cores: 2, policy: CapQueue, maxLag: defaultMaxLag}
			row.change(f, l)
			f.judge()
			if row.want == "" && len(l.Invalid) > 0 || row.want != "" && (len(l.Invalid) != 1 || !strings.HasPrefix(l.Invalid[0], row.want)) {
				t.Errorf("reasons %q, want %q", l.Invalid, row.want)
			}
			v := verdict([]trace.Level{*l})
			if (v.Verdict == trace.Valid) != (row.want == "") || len(v.Reasons) != len(l.Invalid) {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}

func TestJudgeWarnings(t *testing.T) {
	l := &trace.Level{OfferedPerS: 100, Scheduled: 1000}
	f := &facts{level: l, hold: 10 * time.Second, sentInTime: 1000, cpu: new(0.95), cores: 2, maxLag: defaultMaxLag, shared: true, drift: -0.03}
	f.judge()
	if len(l.Invalid) != 0 || len(l.Warnings) != 2 {
		t.Errorf("invalid %q, warnings %q", l.Invalid, l.Warnings)
	}
}

// One usable level makes a usable run.
func TestVerdictOfSeveralLevels(t *testing.T) {
	v := verdict([]trace.Level{{Index: 0, OfferedPerS: 5, Tally: trace.Tally{OK: 1}}, {Index: 1, OfferedPerS: 50, Invalid: []string{"why"}}})
	if v.Verdict != trace.Valid || len(v.Reasons) != 1 || v.Reasons[0] != "level 2 (50/s): why" {
		t.Errorf("%+v", v)
	}
	if v := verdict(nil); v.Verdict != trace.Invalid {
		t.Errorf("no level: %+v", v)
	}
	// A service that only refuses (503) is none under load.
	v = verdict([]trace.Level{{Tally: trace.Tally{Sheds: 100}}, {Tally: trace.Tally{Sheds: 100}}})
	if v.Verdict != trace.Invalid || !slices.ContainsFunc(v.Reasons, func(s string) bool { return strings.HasPrefix(s, "not one request was answered") }) {
		t.Errorf("refusals only: %+v", v)
	}
}

// Many levels with one reason are one line; each level keeps its own.
func TestVerdictGroupsReasons(t *testing.T) {
	var levels []trace.Level
	for i := range 6 {
		levels = append(levels, trace.Level{
			Index: int32(i), OfferedPerS: 20 * float64(i+1), Tally: trace.Tally{OK: 1},
			Invalid: []string{fmt.Sprintf("client lag p99 %d.5ms above 5ms", 7+i)},
		})
	}
	levels[4].Invalid = append(levels[4].Invalid, "stopped before its end: by hand")
	want := []string{
		"6 levels of 20 to 120/s, such as level 1 (20/s): client lag p99 7.5ms above 5ms",
		"level 5 (100/s): stopped before its end: by hand",
	}
	if got := verdict(levels).Reasons; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Case 18: a client that stands still is told from a slow service.
func TestStalledClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := newPipes()
		server := &http.Server{Handler: &stub{answer: tokensAnswer(10*ms, 0, 1)}}
		go func() { _ = server.Serve(pipes) }()
		cfg := one(10, 10*time.Second).withDefaults()
		cfg.Target, cfg.Dial = "http://192.0.2.1", pipes.dial
		r, err := newRun(&cfg, chatTrace(100, 100*ms), &memory{})
		if err != nil {
			t.Fatal(err)
		}
		_ = r.connect(t.Context())
		base, began := r.sender.base, time.Now()
		r.sender.base = roundTripper(func(req *http.Request) (*http.Response, error) {
			if d := time.Since(began); d >= 3*time.Second && d < 5*time.Second {
				time.Sleep(5*time.Second - d)
			}
			return base.RoundTrip(req)
		})
		err = r.all(t.Context())
		base.(*http.Transport).CloseIdleConnections()
		_ = server.Close()
		if err != nil {
			t.Fatal(err)
		}
		r.result.Validity = verdict(r.result.Levels)
		if *r.result.Levels[0].LagP99Us < 1_800_000 || *r.result.Levels[0].LagP50Us > 1000 {
			t.Errorf("lag p50 %d µs, p99 %d µs", *r.result.Levels[0].LagP50Us, *r.result.Levels[0].LagP99Us)
		}
		mustBeInvalid(t, &r.result, "client lag p99")
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A busy client, by a clock of CPU time that runs at 0.9 of all cores.
func TestBusyClient(t *testing.T) {
	for _, shared := range []bool{false, true} {
		cfg := one(10, 10*time.Second)
		cfg.SharedProcess = shared
		reads := 0
		cfg.cpuTime = func() (time.Duration, bool) {
			reads++
			return time.Duration(reads) * time.Hour, true
		}
		virtual(t, &stub{answer: tokensAnswer(0, 0, 1)}, cfg, chatTrace(100, 100*ms), func(t *testing.T, res *Result, _ *memory, err error) {
			if err != nil {
				t.Fatal(err)
			}
			if shared {
				if l := res.Levels[0]; len(l.Invalid) != 0 || len(l.Warnings) != 1 {
					t.Errorf("invalid %q, warnings %q", l.Invalid, l.Warnings)
				}
				return
			}
			mustBeInvalid(t, res, "cores, over 80 %")
		})
	}
}

func TestFuse(t *testing.T) {
	began := time.Unix(0, 0)
	bad, good, shed := &trace.Result{Outcome: trace.OutcomeServerAbort}, &trace.Result{Outcome: trace.OutcomeOK},
		&trace.Result{Outcome: trace.OutcomeHTTPError, StatusCode: new(int32(503))}
	blame := &trace.Result{Outcome: trace.OutcomeHTTPError, StatusCode: new(int32(404))}
	rows := []struct {
		name  string
		rule  Breaker
		first bool
		at    func(i int) *trace.Result // one a second, 100 s
		trips int                       // the second; -1 = never
	}{
		{"healthy", Breaker{}, true, func(int) *trace.Result { return good }, -1},
		{"dead", Breaker{}, false, func(int) *trace.Result { return bad }, 30},
		{"half, first level", Breaker{}, true, func(i int) *trace.Result { return []*trace.Result{good, bad}[i%2] }, 30},
		{"half, later level", Breaker{}, false, func(i int) *trace.Result { return []*trace.Result{good, bad}[i%2] }, -1},
		{"a tenth, by rule", Breaker{ErrorRate: 0.1}, false, func(i int) *trace.Result {
			if i%10 == 0 {
				return bad
			}
			return good
		}, 30},
		{"blaming every request", Breaker{}, false, func(int) *trace.Result { return blame }, 30},
		{"blaming half of them, first level", Breaker{}, true, func(i int) *trace.Result { return []*trace.Result{good, blame}[i%2] }, 30},
		{"refusing", Breaker{}, true, func(int) *trace.Result { return shed }, -1},
		{"off", Breaker{Off: true}, true, func(int) *trace.Result { return bad }, -1},
		{"too few", Breaker{MinRequests: 40}, true, func(int) *trace.Result { return bad }, -1},
		{"dies later", Breaker{}, true, func(i int) *trace.Result {
			if i >= 50 {
				return bad
			}
			return good
		}, 64}, // the first second with 15 bad of the last 30
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f := newFuse(row.rule.withDefaults(), row.first, began, 0)
			tripped := -1
			for i := 0; i < 100 && tripped < 0; i++ {
				if f.add(began.Add(time.Duration(i)*time.Second), row.at(i)) != "" {
					tripped = i
				}
			}
			if tripped != row.trips {
				t.Errorf("tripped at %d s, want %d", tripped, row.trips)
			}
		})
	}
	// A pause longer than the window empties it.
	f := newFuse(Breaker{}.withDefaults(), true, began, 0)
	for range 50 {
		f.add(began, bad)
	}
	if why := f.add(began.Add(time.Hour), good); why != "" {
		t.Errorf("tripped by what is an hour old: %s", why)
	}
}

// Levels of a few requests each trip the breaker together.
func TestFuseAcrossLevels(t *testing.T) {
	s := &stub{answer: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", http.StatusInternalServerError) }}
	cfg := one(1, 5*time.Second)
	cfg.Replicates, cfg.NoRepeat = 8, true
	virtual(t, s, cfg, chatTrace(100, time.Second), func(t *testing.T, res *Result, _ *memory, err error) {
		if !errors.Is(err, ErrStopped) || !strings.Contains(err.Error(), "the last 20 answers failed, mostly status 500") {
			t.Errorf("error %v", err)
		}
		if len(res.Levels) != 4 || res.Validity.Verdict != trace.Invalid {
			t.Errorf("%d levels, %+v; 4 of 5 requests each have 20", len(res.Levels), res.Validity)
		}
		if w := strings.Join(res.Warnings, "\n"); !strings.Contains(w, "in level 4 of 8") {
			t.Errorf("warnings %q", w)
		}
	})
}

// One answer among the failures keeps it closed.
func TestFuseStreakIsBroken(t *testing.T) {
	n := 0
	s := &stub{answer: func(w http.ResponseWriter, r *http.Request) {
		if n++; n%19 == 0 {
			tokensAnswer(0, 0, 1)(w, r)
			return
		}
		http.Error(w, "{}", http.StatusInternalServerError)
	}}
	cfg := one(1, 5*time.Second)
	cfg.Replicates, cfg.NoRepeat = 8, true
	virtual(t, s, cfg, chatTrace(100, time.Second), func(t *testing.T, res *Result, _ *memory, err error) {
		if err != nil || len(res.Levels) != 8 {
			t.Errorf("%d levels, error %v", len(res.Levels), err)
		}
	})
}

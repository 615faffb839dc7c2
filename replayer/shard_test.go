package replayer

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

func TestParseShard(t *testing.T) {
	for in, want := range map[string]Shard{"1/1": {Index: 1, Count: 1}, "2/8": {Index: 2, Count: 8}} {
		if got, err := ParseShard(in); err != nil || got != want || got.String() != in {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "1", "0/8", "9/8", "a/b", "1/0", "-1/2", "1/2/3"} {
		if _, err := ParseShard(in); err == nil || !strings.Contains(err.Error(), "2/8") {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// sessionsTrace has n chats in sessions of three, a gap apart, 200 ms each.
func sessionsTrace(n int, gap time.Duration) Trace {
	tr := chatTrace(n, gap)
	for i, r := range tr.Records {
		r.SessionID, r.TEndUs = new(fmt.Sprint("s", i%(n/3))), new(int64(200_000))
	}
	return tr
}

// sharded runs the shards of one replay at once, against one service, in one
// bubble, and merges what the first `keep` of them wrote.
func sharded(t *testing.T, s *stub, cfg Config, tr Trace, shards int, edit func([]Part) []Part) (*Result, *memory, error) {
	t.Helper()
	net := newPipes()
	server := &http.Server{Handler: s}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(net) }()
	cfg.Dial, cfg.Target = net.dial, "http://192.0.2.1:8000"
	outs := make([]*memory, shards)
	var wg sync.WaitGroup
	start := time.Now().Add(10 * time.Second)
	for i := range shards {
		outs[i] = &memory{}
		own := cfg
		own.Shard = Shard{Index: i + 1, Count: shards, StartAt: start}
		wg.Go(func() {
			if _, err := Run(t.Context(), own, tr, outs[i]); err != nil {
				t.Errorf("shard %d: %v", i+1, err)
			}
		})
	}
	wg.Wait()
	_ = server.Shutdown(context.Background())
	<-served
	synctest.Wait()
	parts := make([]Part, shards)
	for i, out := range outs {
		parts[i] = Part{Name: fmt.Sprint("run", i+1), Manifest: &out.manifest, Levels: out.levels, Rows: rowsOf(out.records)}
	}
	if edit != nil {
		parts = edit(parts)
	}
	merged := &memory{}
	res, err := Merge(parts, merged)
	return res, merged, err
}

func rowsOf(records []*trace.Record) iter.Seq2[*trace.Record, error] {
	return func(yield func(*trace.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// sent is what tells two runs of one schedule apart: which request was due
// when, relative to its level's start, and when its first token came.
func sent(levels []trace.Level, records []*trace.Record) []string {
	var out []string
	for _, r := range records {
		ttft, _ := r.TTFTUser()
		out = append(out, fmt.Sprint(*r.Level, " ", r.RequestID, " ", r.StartUnixNs-levels[*r.Level].StartUnixNs, " ", ttft, " ", r.Outcome))
	}
	slices.Sort(out)
	return out
}

// Case 24: eight shards and one process send the same requests at the same
// times and measure the same.
func TestShardsEqualOneProcess(t *testing.T) {
	tr := sessionsTrace(300, 100*ms)
	cfg := one(10, 30*time.Second)
	cfg.Loads = []Load{{PerS: 10}, {PerS: 25}, {PerS: 40}}
	cfg.Warmup, cfg.Drain = 2*time.Second, 20*time.Second
	answer := tokensAnswer(300*ms, 20*ms, 10)
	synctest.Test(t, func(t *testing.T) {
		whole := &memory{}
		want, err := replayTo(t, t.Context(), &stub{answer: answer}, cfg, tr, whole)
		if err != nil {
			t.Fatal(err)
		}
		got, merged, err := sharded(t, &stub{answer: answer}, cfg, tr, 8, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(sent(want.Levels, whole.records), sent(got.Levels, merged.records)); d != "" {
			t.Errorf("requests: %s", d)
		}
		if got.Validity.Verdict != trace.Valid || got.Scheduled != want.Scheduled || merged.manifest.Run.Shard != "" {
			t.Errorf("validity %+v, scheduled %d of %d", got.Validity, got.Scheduled, want.Scheduled)
		}
		for i := range got.Levels {
			a, b := want.Levels[i], got.Levels[i]
			// Vegeta takes the next tick at any of two equal moments: what ends
			// and what begins at one instant is counted in either order.
			if diff := a.InFlightMax - b.InFlightMax; diff < -1 || diff > 1 {
				t.Errorf("level %d: %d in flight, want %d", i, b.InFlightMax, a.InFlightMax)
			}
			if d := cmp.Diff([]any{a.OfferedPerS, a.Scheduled, a.Outcomes, a.Tally, a.AchievedPerS}, []any{b.OfferedPerS, b.Scheduled, b.Outcomes, b.Tally, b.AchievedPerS},
				cmp.Comparer(func(x, y float64) bool { return x == y || x-y < 1e-9 && y-x < 1e-9 })); d != "" {
				t.Errorf("level %d: %s", i, d)
			}
		}
	})
}

func TestMergeOfWhatIsNotWhole(t *testing.T) {
	tr := sessionsTrace(60, 100*ms)
	cfg := one(10, 6*time.Second)
	for _, row := range []struct {
		name    string
		edit    func([]Part) []Part
		refused string // an error
		invalid string // a reason
	}{
		{"a shard is missing", func(p []Part) []Part { return p[:2] }, "", "shard 3/3 is missing"},
		{"a shard was killed", func(p []Part) []Part { p[1].Manifest.Clean = false; return p }, "", "shard 2/3 was killed"},
		{"a shard has no level", func(p []Part) []Part { p[1].Levels = nil; return p }, "", "shard 2/3 has 0 of 1 levels"},
		{"a shard started late", func(p []Part) []Part {
			p[2].Levels = slices.Clone(p[2].Levels)
			p[2].Levels[0].StartUnixNs += int64(60 * ms)
			return p
		}, "", "shards started up to 60ms apart"},
		{"a level of a shard is invalid", func(p []Part) []Part {
			p[0].Levels = slices.Clone(p[0].Levels)
			p[0].Levels[0].Invalid = []string{"because"}
			return p
		}, "", "shard 1/3: because"},
		{"a shard twice", func(p []Part) []Part { p[1] = p[0]; p[1].Name = "again"; return p }, "shard 1/3 is there twice", ""},
		{"another seed", func(p []Part) []Part {
			run := *p[1].Manifest.Run
			run.Seed++
			p[1].Manifest = &trace.Manifest{Run: &run, Clean: true}
			return p
		}, "seed 1 and 2", ""},
		{"a whole run", func(p []Part) []Part {
			run := *p[1].Manifest.Run
			run.Shard = "1/1"
			p[1].Manifest = &trace.Manifest{Run: &run, Clean: true}
			return p
		}, "run2 is a whole run", ""},
		{"a trace", func(p []Part) []Part { p[1].Manifest = &trace.Manifest{}; return p }, "run2 is not a run", ""},
		{"nothing", func([]Part) []Part { return nil }, "nothing to merge", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			res, _, err := sharded(t, &stub{answer: tokensAnswer(10*ms, 0, 1)}, cfg, tr, 3, row.edit)
			switch {
			case row.refused != "":
				if err == nil || !strings.Contains(err.Error(), row.refused) {
					t.Errorf("%s: error %v", row.name, err)
				}
			case err != nil || res.Validity.Verdict != trace.Invalid || !strings.Contains(strings.Join(res.Validity.Reasons, "\n"), row.invalid):
				t.Errorf("%s: error %v, validity %+v", row.name, err, res.Validity)
			}
		})
	}
}

func TestShardInput(t *testing.T) {
	for want, s := range map[string]Shard{
		"no common start": {Index: 1, Count: 2},
		"is over":         {Index: 1, Count: 2, StartAt: time.Unix(1, 0)},
		"shard 3/2":       {Index: 3, Count: 2, StartAt: time.Now().Add(time.Hour)},
	} {
		cfg := one(1, time.Second)
		cfg.Target, cfg.Shard = "http://127.0.0.1:1", s
		if err := Check(cfg, chatTrace(2, time.Second)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v", s, err)
		}
	}
}

// A shard whose slot has passed does not send alone.
func TestShardThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one(10, time.Second)
		cfg.Loads = []Load{{PerS: 10}, {PerS: 5}}
		cfg.Drain = time.Second
		cfg.Shard = Shard{Index: 1, Count: 2, StartAt: time.Now().Add(time.Minute)}
		out := &memory{}
		slow := &slowWriter{memory: out, wait: 20 * time.Second}
		res, err := replayTo(t, t.Context(), &stub{answer: tokensAnswer(0, 0, 1)}, cfg, sessionsTrace(30, 100*ms), slow)
		if err == nil || !strings.Contains(err.Error(), "too late for level 2") || len(res.Levels) != 1 {
			t.Errorf("error %v, result %+v", err, res)
		}
	})
}

// slowWriter takes long to write the levels down.
type slowWriter struct {
	*memory
	wait time.Duration
}

func (w *slowWriter) SetLevels(l []trace.Level) error {
	time.Sleep(w.wait)
	return w.memory.SetLevels(l)
}

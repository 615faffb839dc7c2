package twin

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// plain is a server without limits that matter: one step costs 10 ms, 1 ms
// for each prompt token and 2 ms for each sequence.
func plain() Params {
	p := DefaultParams()
	p.StepFixed, p.PerPrefillToken, p.PerSequence = 10*time.Millisecond, time.Millisecond, 2*time.Millisecond
	p.MaxQueue = Unbounded
	p.PrefixCaching = false
	return p
}

// run submits all jobs and runs the engine to the end.
func run(t *testing.T, p Params, seed uint64, jobs ...Job) (*Engine, []Event) {
	t.Helper()
	e, err := New(p, seed)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if err := e.Submit(j); err != nil {
			t.Fatal(err)
		}
	}
	return e, slices.Clone(e.Advance(Never))
}

var eventNames = [...]string{"admitted", "first_token", "token", "done", "shed", "failed", "cut", "cancelled", "preempted"}

// script writes events as "ms job kind", which is easy to compare by hand.
func script(events []Event) []string {
	lines := make([]string, len(events))
	for i, ev := range events {
		lines[i] = fmt.Sprintf("%d job %d %s", ev.AtNs/1e6, ev.Job, eventNames[ev.Kind])
		switch {
		case ev.Status != 0:
			lines[i] += fmt.Sprintf(" %d", ev.Status)
		case ev.Cached != 0:
			lines[i] += fmt.Sprintf(" cached %d", ev.Cached)
		}
	}
	return lines
}

// TestStepsByHand follows the step formula: each expected time is worked out
// in the comment.
func TestStepsByHand(t *testing.T) {
	ms := int64(time.Millisecond)
	tests := []struct {
		name string
		set  func(*Params)
		jobs []Job
		want []string
	}{
		{
			"one job", nil,
			[]Job{{ID: 1, ArriveNs: 5 * ms, InputTokens: 8, OutputTokens: 3}},
			[]string{ // 10+8+2 = 20 for the prompt, then 12 a token
				"5 job 1 admitted", "25 job 1 first_token", "37 job 1 token", "49 job 1 token", "49 job 1 done",
			},
		},
		{
			"a second joins at the end of a step", nil,
			[]Job{{ID: 1, InputTokens: 8, OutputTokens: 2}, {ID: 2, ArriveNs: 1 * ms, InputTokens: 4, OutputTokens: 1}},
			[]string{ // 20; then 10 + 4 + 2·2 = 18
				"0 job 1 admitted", "20 job 1 first_token", "20 job 2 admitted",
				"38 job 1 token", "38 job 1 done", "38 job 2 first_token", "38 job 2 done",
			},
		},
		{
			"chunked prefill fills the budget", func(p *Params) { p.TokenBudget, p.MaxRunning = 10, 4 },
			[]Job{{ID: 1, InputTokens: 25, OutputTokens: 1}},
			[]string{ // 10+10+2 twice, then 10+5+2
				"0 job 1 admitted", "61 job 1 first_token", "61 job 1 done",
			},
		},
		{
			"unchunked prompt beyond the budget goes alone", func(p *Params) { p.TokenBudget, p.MaxRunning, p.ChunkedPrefill = 10, 4, false },
			[]Job{{ID: 1, InputTokens: 25, OutputTokens: 1}, {ID: 2, InputTokens: 3, OutputTokens: 1}},
			[]string{ // 10+25+2 = 37, then 10+3+2 = 15
				"0 job 1 admitted", "37 job 1 first_token", "37 job 1 done", "37 job 2 admitted", "52 job 2 first_token", "52 job 2 done",
			},
		},
		{
			"embedding ends with its prompt", nil,
			[]Job{{ID: 1, InputTokens: 8}},
			[]string{"0 job 1 admitted", "20 job 1 done"},
		},
		{
			"one place, one waits, the third is shed", func(p *Params) { p.MaxRunning, p.MaxQueue, p.ShedStatus = 1, 1, 503 },
			[]Job{{ID: 1, InputTokens: 8, OutputTokens: 1}, {ID: 2, InputTokens: 8, OutputTokens: 1}, {ID: 3, InputTokens: 8, OutputTokens: 1}},
			[]string{
				"0 job 3 shed 503", "0 job 1 admitted", "20 job 1 first_token", "20 job 1 done",
				"20 job 2 admitted", "40 job 2 first_token", "40 job 2 done",
			},
		},
		{
			"beyond the context", func(p *Params) { p.MaxContext = 10 },
			[]Job{{ID: 1, InputTokens: 8, OutputTokens: 3}},
			[]string{"0 job 1 failed 400"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plain()
			if tt.set != nil {
				tt.set(&p)
			}
			_, events := run(t, p, 1, tt.jobs...)
			if diff := cmp.Diff(tt.want, script(events)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	ms := int64(time.Millisecond)
	tests := []struct {
		name      string
		at        int64
		abandoned bool
		want      []string
	}{
		{"running, its slot is free at the end of the step", 5 * ms, false, []string{
			"0 job 1 admitted", "5 job 1 cancelled", "20 job 2 admitted", "40 job 2 first_token", "40 job 2 done",
		}},
		{"running, served to its end for nobody", 5 * ms, true, []string{
			"0 job 1 admitted", "5 job 1 cancelled", "32 job 2 admitted", "52 job 2 first_token", "52 job 2 done",
		}},
		{"after its end nothing happens", 500 * ms, false, []string{
			"0 job 1 admitted", "20 job 1 first_token", "32 job 1 token", "32 job 1 done",
			"32 job 2 admitted", "52 job 2 first_token", "52 job 2 done",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plain()
			p.MaxRunning, p.ServeAbandoned = 1, tt.abandoned
			e, err := New(p, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range []Job{{ID: 1, InputTokens: 8, OutputTokens: 2}, {ID: 2, InputTokens: 8, OutputTokens: 1}} {
				if err := e.Submit(j); err != nil {
					t.Fatal(err)
				}
			}
			e.Cancel(1, tt.at)
			if diff := cmp.Diff(tt.want, script(e.Advance(Never))); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if e.kv.inUse() != 0 || len(e.running) != 0 {
				t.Errorf("%d blocks and %d sequences are left", e.kv.inUse(), len(e.running))
			}
		})
	}
}

// TestCancelFreesQueue: a waiting job that is cancelled makes room at once.
func TestCancelFreesQueue(t *testing.T) {
	p := plain()
	p.MaxRunning, p.MaxQueue = 1, 1
	e, err := New(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	for id := range uint64(3) {
		_ = e.Submit(Job{ID: id, ArriveNs: int64(id), InputTokens: 8, OutputTokens: 1})
	}
	e.Cancel(1, 1)
	e.Advance(Never)
	if st := e.Stats(); st.Done != 2 || st.Cancelled != 1 || st.Shed != 0 {
		t.Errorf("done %d, cancelled %d, shed %d: want 2, 1, 0", st.Done, st.Cancelled, st.Shed)
	}
}

// TestPreemption: two sequences outgrow the memory; the later one is computed
// again, and every token is delivered once.
func TestPreemption(t *testing.T) {
	p := plain()
	p.KVBlocks = 5 // 80 tokens
	e, events := run(t, p, 1,
		Job{ID: 1, InputTokens: 16, OutputTokens: 32}, Job{ID: 2, InputTokens: 16, OutputTokens: 32})
	tokens := map[uint64]int32{}
	preempted := 0
	for _, ev := range events {
		switch ev.Kind {
		case FirstToken, Token:
			if ev.Token != tokens[ev.Job] {
				t.Errorf("job %d: token %d after %d tokens", ev.Job, ev.Token, tokens[ev.Job])
			}
			tokens[ev.Job]++
		case Preempted:
			preempted++
			if ev.Job != 2 {
				t.Errorf("job %d was preempted: want the one admitted last", ev.Job)
			}
		}
	}
	if preempted == 0 || tokens[1] != 32 || tokens[2] != 32 || e.Stats().Preemptions != int64(preempted) {
		t.Errorf("preempted %d, tokens %v", preempted, tokens)
	}
}

// TestPrefixCache is worked out by hand: blocks of 16 tokens.
func TestPrefixCache(t *testing.T) {
	p := plain()
	p.PrefixCaching = true
	far := int64(time.Hour)
	jobs := []Job{
		{ID: 1, InputTokens: 40, OutputTokens: 1, Blocks: []int64{11, 12}},                        // cold
		{ID: 2, ArriveNs: far, InputTokens: 50, OutputTokens: 1, Blocks: []int64{11, 12, 13}},     // 32 of 50
		{ID: 3, ArriveNs: 2 * far, InputTokens: 48, OutputTokens: 1, Blocks: []int64{11, 12, 13}}, // all cached, but one block is computed: 32
		{ID: 4, ArriveNs: 3 * far, InputTokens: 49, OutputTokens: 1, Blocks: []int64{11, 12, 13}}, // 48
		{ID: 5, ArriveNs: 4 * far, InputTokens: 49, OutputTokens: 1, Blocks: []int64{21, 12, 13}}, // another start: 0
	}
	e, events := run(t, p, 1, jobs...)
	got := map[uint64]int32{}
	for _, ev := range events {
		if ev.Kind == Admitted {
			got[ev.Job] = ev.Cached
		}
	}
	if diff := cmp.Diff(map[uint64]int32{1: 0, 2: 32, 3: 32, 4: 48, 5: 0}, got); diff != "" {
		t.Errorf("cached tokens (-want +got):\n%s", diff)
	}
	st := e.Stats()
	if st.PrefixQueries != 40+50+48+49+49 || st.PrefixHits != 32+32+48 {
		t.Errorf("queries %d, hits %d: want 236, 112", st.PrefixQueries, st.PrefixHits)
	}
}

// TestEviction: a cache of four blocks, filled by five single-block prompts.
func TestEviction(t *testing.T) {
	tests := []struct {
		name   string
		policy Eviction
		retain float64
		keys   []int64 // of prompts of one block and a token
		want   []int32 // cached tokens
	}{
		{"lru keeps what was used again", EvictLRU, 1, []int64{1, 2, 3, 4, 1, 5, 1, 2}, []int32{0, 0, 0, 0, 16, 0, 16, 0}},
		{"a window forgets the oldest, used or not", EvictWindow, 1, []int64{1, 2, 3, 4, 1, 5, 1}, []int32{0, 0, 0, 0, 16, 0, 0}},
		{"half is retained after an overflow", EvictLRU, 0.5, []int64{1, 2, 3, 4, 5, 4, 3}, []int32{0, 0, 0, 0, 0, 16, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plain()
			p.PrefixCaching, p.CacheBlocks, p.Eviction, p.RetainRatio = true, 4, tt.policy, tt.retain
			var jobs []Job
			for i, key := range tt.keys {
				jobs = append(jobs, Job{ID: uint64(i), ArriveNs: int64(i) * int64(time.Minute), InputTokens: 17, OutputTokens: 1, Blocks: []int64{key}})
			}
			_, events := run(t, p, 1, jobs...)
			var got []int32
			for _, ev := range events {
				if ev.Kind == Admitted {
					got = append(got, ev.Cached)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("cached tokens (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBaseErrors: the share is that of the parameter, and the same jobs fail
// at any load.
func TestBaseErrors(t *testing.T) {
	p := plain()
	p.ErrorRate = 0.05
	failed := func(gap int64) []uint64 {
		var jobs []Job
		for id := range uint64(20_000) {
			jobs = append(jobs, Job{ID: id, ArriveNs: int64(id) * gap, InputTokens: 1, OutputTokens: 1})
		}
		_, events := run(t, p, 9, jobs...)
		var ids []uint64
		for _, ev := range events {
			if ev.Kind == Failed {
				ids = append(ids, ev.Job)
			}
		}
		slices.Sort(ids)
		return ids
	}
	idle, busy := failed(int64(time.Second)), failed(1)
	if diff := cmp.Diff(idle, busy); diff != "" {
		t.Errorf("failures depend on load:\n%s", diff)
	}
	if n := len(idle); n < 1000-4*31 || n > 1000+4*31 { // sd of Binomial(20000, .05)
		t.Errorf("%d of 20000 failed: want about 1000", n)
	}
}

func TestSubmitTwice(t *testing.T) {
	e, err := New(plain(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Submit(Job{ID: 1}); err != nil {
		t.Fatal(err)
	}
	if e.Submit(Job{ID: 1}) == nil {
		t.Error("an open id was taken twice")
	}
	e.Advance(Never)
	if err := e.Submit(Job{ID: 1}); err != nil {
		t.Errorf("the id of a job that ended: %v", err)
	}
}

// TestAnySplit: the events do not depend on how time is cut by Advance, nor on
// whether arrivals are handed in early.
func TestAnySplit(t *testing.T) {
	p := DemoParams(1)
	p.KVBlocks, p.PrefixCaching = 48, true
	r := rand.New(rand.NewPCG(5, 6))
	jobs, cancels := randomJobs(r, 300)
	want := early(t, p, jobs, cancels)
	e, err := New(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	var got []Event
	for _, j := range jobs { // in order of arrival
		for e.now+1 < j.ArriveNs {
			got = append(got, e.Advance(min(e.now+1+r.Int64N(int64(20*time.Millisecond)), j.ArriveNs-1))...)
		}
		if err := e.Submit(j); err != nil {
			t.Fatal(err)
		}
		if at, ok := cancels[j.ID]; ok {
			e.Cancel(j.ID, at)
		}
	}
	got = append(got, e.Advance(Never)...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-at once +in pieces):\n%s", diff)
	}
}

// early submits everything at time 0.
func early(t *testing.T, p Params, jobs []Job, cancels map[uint64]int64) []Event {
	t.Helper()
	e, err := New(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if err := e.Submit(j); err != nil {
			t.Fatal(err)
		}
		if at, ok := cancels[j.ID]; ok {
			e.Cancel(j.ID, at)
		}
	}
	return slices.Clone(e.Advance(Never))
}

func randomJobs(r *rand.Rand, n int) (jobs []Job, cancels map[uint64]int64) {
	cancels = map[uint64]int64{}
	at := int64(0)
	for id := range uint64(n) {
		at += 1 + r.Int64N(int64(14*time.Millisecond))
		j := Job{ID: id, ArriveNs: at, InputTokens: r.IntN(120), OutputTokens: r.IntN(30)}
		for len(j.Blocks) < j.InputTokens/BlockTokens && r.IntN(4) > 0 {
			j.Blocks = append(j.Blocks, int64(len(j.Blocks)*10+r.IntN(3)))
		}
		jobs = append(jobs, j)
		if r.IntN(5) == 0 {
			cancels[id] = at + r.Int64N(int64(300*time.Millisecond))
		}
	}
	return jobs, cancels
}

package sim

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambdac/lambdac/internal/twin"
)

// TestSimEqualsTwin sends one arrival list to the HTTP server and to the
// engine: every token comes at the same time, and every request ends alike.
func TestSimEqualsTwin(t *testing.T) {
	p := twin.DemoParams(7)
	p.ErrorRate = 0.05
	t.Run("healthy", func(t *testing.T) { compareWithTwin(t, p) })
	for _, x := range twin.Pathologies() {
		p.Pathologies = []string{x.Name}
		t.Run(x.Name, func(t *testing.T) { compareWithTwin(t, p) })
	}
}

func compareWithTwin(t *testing.T, p twin.Params) {
	jobs := arrivals(400, 140)
	want := map[uint64][]string{}
	e, err := twin.New(p, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if err := e.Submit(j); err != nil {
			t.Fatal(err)
		}
	}
	for _, ev := range e.Advance(twin.Never) {
		switch ev.Kind {
		case twin.FirstToken, twin.Token:
			want[ev.Job] = append(want[ev.Job], fmt.Sprintf("token %d", ev.AtNs))
		case twin.Shed, twin.Failed:
			if len(want[ev.Job]) > 0 {
				continue // its stream just ends
			}
			want[ev.Job] = append(want[ev.Job], fmt.Sprintf("%d %d", ev.Status, ev.AtNs))
		}
	}
	got := map[uint64][]string{}
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{Params: p, Seed: 3})
		defer b.stop()
		start := time.Now()
		var mu sync.Mutex
		var clients sync.WaitGroup
		for _, j := range jobs {
			time.Sleep(time.Duration(j.ArriveNs) - time.Since(start))
			clients.Go(func() {
				seen := follow(b, j, start)
				mu.Lock()
				defer mu.Unlock()
				got[j.ID] = seen
			})
		}
		clients.Wait()
	})
	kinds := map[string]int{}
	for _, j := range jobs {
		if len(want[j.ID]) != len(got[j.ID]) {
			t.Fatalf("job %d: twin %v, sim %v", j.ID, want[j.ID], got[j.ID])
		}
		for i := range want[j.ID] {
			compareStamps(t, j.ID, want[j.ID][i], got[j.ID][i])
			kinds[strings.Fields(want[j.ID][i])[0]]++
		}
	}
	if kinds["token"] < 1000 || kinds["429"] < 10 || kinds["500"] < 5 {
		t.Errorf("the list exercises too little: %v", kinds)
	}
}

// arrivals are Poisson at the rate, with ids as the server numbers them.
func arrivals(n int, perS float64) []twin.Job {
	r := rand.New(rand.NewPCG(1, 2))
	jobs, at := make([]twin.Job, n), 0.0
	for i := range jobs {
		at += r.ExpFloat64() / perS * 1e9
		jobs[i] = twin.Job{ID: uint64(i + 1), ArriveNs: int64(at), InputTokens: 20 + r.IntN(200), OutputTokens: 5 + r.IntN(12)}
	}
	return jobs
}

func compareStamps(t *testing.T, id uint64, want, got string) {
	t.Helper()
	var kindW, kindG string
	var atW, atG int64
	_, errW := fmt.Sscan(want, &kindW, &atW)
	_, errG := fmt.Sscan(got, &kindG, &atG)
	if errW != nil || errG != nil || kindW != kindG || max(atW-atG, atG-atW) > int64(time.Millisecond) {
		t.Fatalf("job %d: twin %q, sim %q", id, want, got)
	}
}

// follow sends the job as a streamed chat and returns what came when.
func follow(b *bench, j twin.Job, start time.Time) (seen []string) {
	body := fmt.Sprintf(`{"stream":true,"max_tokens":%d,"messages":[{"role":"user","content":%q}]}`, j.OutputTokens, filler(j.InputTokens))
	resp, err := b.client.Post("http://sim/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return []string{err.Error()}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return []string{fmt.Sprintf("%d %d", resp.StatusCode, time.Since(start))}
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), `"delta":{"content":`) {
			seen = append(seen, fmt.Sprintf("token %d", time.Since(start)))
		}
	}
	return seen
}

package replayer

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// TestFeatures: answers of a share of the prompts, the same at each load, are
// counted and clustered; one prompt is asked every 5 s; no text is kept.
func TestFeatures(t *testing.T) {
	s := &stub{}
	n := 0
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		body := s.bodies[len(s.bodies)-1]
		n++
		text := [...]string{"the queue is full, try again later", "bananas grow where it is warm"}[n%2]
		s.mu.Unlock()
		if strings.Contains(body, "load balancer") {
			text = "it spreads requests over servers"
			if strings.Contains(body, `"temperature":0`) {
				t.Error("the prompt of the steady state is asked without chance")
			}
		}
		chunk, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]string{"content": text}, "finish_reason": "stop"}}})
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chunk)
	}
	cfg := one(50, 20*time.Second)
	cfg.Seed, cfg.Features = 3, 0.2
	cfg.Loads = append(cfg.Loads, Load{PerS: 25})
	virtual(t, s, cfg, chatTrace(1000, 20*ms), func(t *testing.T, _ *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		known := make(map[string]bool)
		for _, r := range out.records {
			if r.Features != nil {
				t.Errorf("%s: features %+v", r.RequestID, r.Features)
			}
			known[fmt.Sprint(r.RequestID, *r.Level)] = true
		}
		steady, clustered := make(map[int32]int), make(map[int32]map[int32]bool)
		for _, f := range out.features {
			at := *f.Level
			switch {
			case !known[fmt.Sprint(f.RequestID, at)]:
				t.Errorf("features of %q, which is no record", f.RequestID)
			case *f.OutTokensSeen < 4 || len(f.OutTokenBins) != 256:
				t.Errorf("%s: %d tokens", f.RequestID, *f.OutTokensSeen)
			case f.ProbeID != nil:
				if steady[at]++; *f.ProbeID != trace.ProbeSteady || f.ProbeScore != nil || f.OutCluster != nil {
					t.Errorf("%s: %+v", f.RequestID, f)
				}
			case f.OutCluster != nil:
				if clustered[at] == nil {
					clustered[at] = make(map[int32]bool)
				}
				if clustered[at][*f.OutCluster] = true; *f.ClusterMethod != "lexical" || f.Reason != nil {
					t.Errorf("%s: %+v", f.RequestID, f)
				}
			}
		}
		for at := range int32(2) {
			if steady[at] != 4 || len(clustered[at]) != 2 || !clustered[at][0] || !clustered[at][1] {
				t.Errorf("level %d: asked %d times in 20 s, clusters %v", at, steady[at], clustered[at])
			}
		}
		if n := len(out.features); n < 238 || n > 362 { // as in TestQuality
			t.Errorf("%d rows of features", n)
		}
		if knobs := strings.Join(out.manifest.Run.Knobs, "\n"); !strings.Contains(knobs, "features=0.2 of the answers, clusters lexical") {
			t.Errorf("knobs %s", knobs)
		}
	})
}

func TestFeaturesShare(t *testing.T) {
	for _, share := range []float64{-0.1, 1.1} {
		cfg := one(1, time.Second)
		cfg.Features = share
		if err := cfg.check(); !errors.Is(err, ErrInput) {
			t.Errorf("%v: %v", share, err)
		}
	}
}

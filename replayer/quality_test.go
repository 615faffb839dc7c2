package replayer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

func TestQuestionScores(t *testing.T) {
	byKind := make(map[string]question)
	for _, q := range newProbes(1) {
		byKind[q.kind.name] = q
	}
	for _, tt := range []struct {
		kind, want, answer string
		score              float64
	}{
		{"arithmetic", "42", "42", 1},
		{"arithmetic", "42", " 42.\n", 1},
		{"arithmetic", "42", "**42**", 1},
		{"arithmetic", "42", "The answer is 42.", 1},
		{"arithmetic", "1042", "1,042", 1},
		{"arithmetic", "-7", "-7", 1},
		{"arithmetic", "7", "-7", 0},
		{"arithmetic", "42", "42 or 43", 0}, // a guess is no answer
		{"arithmetic", "42", "142", 0},
		{"arithmetic", "42", "", 0},
		{"retrieval", "48213", "The code is 48213", 1},
		{"retrieval", "48213", "unit-017 is 48213", 0},
		{"json", `{"a":1,"b":["x"]}`, "```json\n{\"b\": [\"x\"], \"a\": 1}\n```", 1},
		{"json", `{"a":1,"b":["x"]}`, `{"a":1,"b":["x"]`, 0},
		{"json", `{"a":1,"b":["x"]}`, `{"a":1,"b":["y"]}`, 0},
		{"json", `{"a":1,"b":["x"]}`, `Here: {"a":1,"b":["x"]}`, 0}, // exactly was asked for
		{"backwards", "enots", `"Enots"`, 1},
		{"backwards", "enots", "stone", 0},
	} {
		q := byKind[tt.kind]
		q.want = tt.want
		if got := q.score(tt.answer); got != tt.score {
			t.Errorf("%s: %q for %q scores %v, want %v", tt.kind, tt.answer, tt.want, got, tt.score)
		}
	}
}

// TestQuestionsAreRight: each question's own answer is right, another's is not,
// and the prompt holds it only where it has to be found or repeated.
func TestQuestionsAreRight(t *testing.T) {
	list := newProbes(7)
	seen := make(map[string]bool)
	for i, q := range list {
		if q.score(q.want) != 1 || q.score(list[(i+len(probeKinds))%len(list)].want) == 1 && q.want != list[(i+len(probeKinds))%len(list)].want {
			t.Errorf("%s: %q is not told from others", q.id, q.want)
		}
		if given := strings.Contains(q.prompt, q.want); given && q.kind.name == "backwards" {
			t.Errorf("%s gives its answer away", q.id)
		}
		if seen[q.id] || q.id == "" {
			t.Errorf("id %q twice", q.id)
		}
		seen[q.id] = true
	}
	if again := newProbes(7); again[17].prompt != list[17].prompt || newProbes(8)[17].prompt == list[17].prompt {
		t.Error("the questions do not follow the seed")
	}
}

// TestProbes: a share of the requests is asked as questions, the same at every
// load, scored by what comes back, and no other request changes.
func TestProbes(t *testing.T) {
	known := make(map[string]string)
	for _, q := range newProbes(3) {
		known[q.prompt] = q.want
	}
	asked := 0
	s := &stub{}
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		body := s.bodies[len(s.bodies)-1]
		s.mu.Unlock()
		var req struct {
			MaxTokens int `json:"max_tokens"`
			Messages  []struct{ Content string }
		}
		if err := json.Unmarshal([]byte(body), &req); err != nil {
			t.Error(err)
		}
		text, finish := "words", "stop"
		if want, is := known[req.Messages[len(req.Messages)-1].Content]; is {
			asked++
			if text = want; strings.HasPrefix(want, "{") {
				text = "{}" // this service cannot write JSON
			}
			if asked == 1 {
				finish = "length"
			}
			if req.MaxTokens != probeTokens {
				t.Errorf("a question may take %d tokens, want %d", req.MaxTokens, probeTokens)
			}
		}
		chunk, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]string{"content": text}, "finish_reason": finish}}})
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chunk)
	}
	cfg := one(50, 20*time.Second)
	cfg.Seed, cfg.Probes = 3, 0.2
	cfg.Loads = append(cfg.Loads, Load{PerS: 25})
	virtual(t, s, cfg, chatTrace(1000, 20*ms), func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		kinds := make(map[string][2]int) // right, all
		byLevel := make(map[int32]int)
		truncated := 0
		for _, r := range out.records {
			if r.Features == nil {
				continue
			}
			f := r.Features
			byLevel[*r.Level]++
			if f.ProbeScore == nil {
				if truncated++; *f.Reason != trace.FeatureTruncated {
					t.Errorf("%s has no score: %s", *f.ProbeID, *f.Reason)
				}
				continue
			}
			kind, _, _ := strings.Cut(*f.ProbeID, "-")
			n := kinds[kind]
			n[1]++
			n[0] += int(*f.ProbeScore)
			kinds[kind] = n
			if f.RequestID != r.RequestID || *f.OutCluster != 0 || *f.ClusterMethod != trace.ClusterExact {
				t.Errorf("features %+v", f)
			}
		}
		// 1,500 draws of 20 %: 300 ± 15.5, four sigma; half as many at half the load.
		if n := byLevel[0] + byLevel[1]; n < 238 || n > 362 || n != asked || truncated != 1 {
			t.Errorf("%d probes recorded, %d asked, %d truncated", n, asked, truncated)
		}
		for kind, n := range kinds {
			if right := n[1]; kind != "json" && n[0] != right || kind == "json" && n[0] != 0 || right < 30 {
				t.Errorf("%s: %d of %d right", kind, n[0], n[1])
			}
		}
		if len(kinds) != len(probeKinds) {
			t.Errorf("kinds %v", kinds)
		}
		if knobs := strings.Join(out.manifest.Run.Knobs, "\n"); !strings.Contains(knobs, "probes=builtin: 20 %") {
			t.Errorf("knobs %s", knobs)
		}
	})
}

// FuzzBare: whatever a model answers, it can be scored.
func FuzzBare(f *testing.F) {
	for _, text := range []string{"", "42", "```json\n{}\n```", "```", "\"'`", "-", "9999999999999999999999", "{\"a\":", "\xff"} {
		f.Add(text)
	}
	probes := newProbes(1)
	f.Fuzz(func(t *testing.T, answer string) {
		for i := range probes[:len(probeKinds)] {
			if s := probes[i].score(answer); s != 0 && s != 1 {
				t.Errorf("score %v", s)
			}
		}
	})
}

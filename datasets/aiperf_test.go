package datasets

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

// aiperfTurn is a line of ours, and a turn that AIPerf's loader made of it.
type aiperfTurn struct {
	Timestamp    float64         `json:"timestamp"`
	Delay        *float64        `json:"delay"`
	InputLength  *int64          `json:"input_length"`
	OutputLength *int64          `json:"output_length"`
	HashIDs      []int64         `json:"hash_ids"`
	Payload      json.RawMessage `json:"payload"`
}

// TestAIPerfLoadsExports: AIPerf's own loader takes every line of what is
// exported, with its session, order, times, lengths and blocks.
func TestAIPerfLoadsExports(t *testing.T) {
	python := testenv.Python(t, "aiperf")
	bodies := make([]*trace.Record, 3)
	for i := range bodies {
		r := (&draw{}).record(i)
		r.StartUnixNs, r.SessionID, r.APIKind = int64(i)*1_500_000, new("s\x01\""), trace.KindOpenAIChat
		r.Bodies = []trace.Body{{RequestID: r.RequestID, Side: trace.SideRequest, Body: []byte(`{"model":"m","messages":[{"role":"user","content":"w"}]}`)}}
		bodies[i] = r
	}
	agentic, release, err := Open("agentic")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	})
	mooncake, _ := exportDir(t, agentic.Path(), ExportConfig{Format: "mooncake"})
	payload, _ := exportDir(t, writeTrace(t, bodies).Path(), ExportConfig{Format: "payload"})
	texts := []string{mooncake, payload}
	args := []string{filepath.Join("testdata", "aiperf_load.py")}
	for i, name := range []string{"mooncake.jsonl", "payload.jsonl"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(texts[i]), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	cmd := exec.CommandContext(t.Context(), python, args...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, complaints.String())
	}
	loaded := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, sessions := range []int{36, 1} {
		var got map[string][]aiperfTurn
		if err := json.Unmarshal([]byte(loaded[i]), &got); err != nil {
			t.Fatalf("%v\n%.2000s", err, loaded[i])
		}
		want := linesBySession(t, texts[i])
		if diff := cmp.Diff(want, got, cmp.Comparer(sameJSON)); diff != "" || len(got) != sessions {
			t.Errorf("%s: %d sessions, want %d (-want +got):\n%.4000s", args[i+1], len(got), sessions, diff)
		}
	}
}

func linesBySession(t *testing.T, text string) map[string][]aiperfTurn {
	t.Helper()
	sessions := map[string][]aiperfTurn{}
	for line := range strings.Lines(text) {
		var row struct {
			aiperfTurn
			SessionID string `json:"session_id"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		sessions[row.SessionID] = append(sessions[row.SessionID], row.aiperfTurn)
	}
	return sessions
}

// sameJSON compares values but for blanks; null is none.
func sameJSON(a, b json.RawMessage) bool {
	tight := func(v json.RawMessage) string {
		return strings.ReplaceAll(strings.TrimPrefix(string(v), "null"), " ", "")
	}
	return tight(a) == tight(b)
}

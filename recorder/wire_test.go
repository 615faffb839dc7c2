package recorder

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

// wireWant is one row of the samples' expected.json: what an independent
// reader and the providers' own final numbers say of a recorded answer.
type wireWant struct {
	Port            int32    `json:"client_port"`
	Name            string   `json:"name"`
	Path            string   `json:"path"`
	Status          int32    `json:"status_code"`
	Outcome         string   `json:"outcome"`
	Input           *int64   `json:"input_tokens"`
	Output          *int64   `json:"output_tokens"`
	CacheRead       *int64   `json:"cache_read_tokens"`
	CacheWrite      *int64   `json:"cache_write_tokens"`
	Reasoning       *int64   `json:"reasoning_tokens"`
	Finish          []string `json:"finish_reasons"`
	TextChunks      int32    `json:"text_chunks"`
	ReasoningChunks int32    `json:"reasoning_chunks"`
	ToolChunks      int32    `json:"tool_arg_chunks"`
	Events          int32    `json:"events"`
	DoneMark        bool     `json:"done_mark"`
	Model           string   `json:"model"`
	TTFTMs          *int64   `json:"server_ttft_ms"`
	TotalMs         *int64   `json:"server_total_ms"`
	TotalUs         *int64   `json:"server_total_us"`
	FirstEvent      int64    `json:"t_first_event_us"`
	FirstToken      int64    `json:"t_first_token_us"`
}

// TestPublicRecorded reads the recorded answers of real services and compares
// them field by field.
func TestPublicRecorded(t *testing.T) {
	dir := filepath.Join(testenv.Samples(t), "public", "wire")
	data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Exchanges int
		Tolerance int64 `json:"tolerance_us"`
		Records   []wireWant
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	got, rep := record(t, Config{KeepText: true}, filepath.Join(dir, "recorded.pcap"))
	check(t, "exchanges", len(got.list), want.Exchanges)
	check(t, "faults", fmt.Sprint(rep.Faults), "map[]")
	byPort := map[int32]*trace.Exchange{}
	for _, x := range got.list {
		byPort[*x.Record.ClientPort] = x
	}
	for _, w := range want.Records {
		t.Run(w.Name, func(t *testing.T) {
			x := byPort[w.Port]
			if x == nil {
				t.Fatalf("no exchange on client port %d", w.Port)
			}
			compareWire(t, x, &w, want.Tolerance)
		})
	}
}

func compareWire(t *testing.T, x *trace.Exchange, w *wireWant, tolerance int64) {
	r := x.Record
	check(t, "target", x.Target, w.Path)
	check(t, "status", deref(r.StatusCode), fmt.Sprint(w.Status))
	check(t, "outcome", string(r.Outcome), w.Outcome)
	for _, c := range []struct {
		what      string
		got, want *int64
	}{
		{"input", r.InputTokens, w.Input},
		{"output", r.OutputTokens, w.Output},
		{"cache read", r.CacheReadTokens, w.CacheRead},
		{"cache write", r.CacheWriteTokens, w.CacheWrite},
		{"reasoning", r.ReasoningTokens, w.Reasoning},
	} {
		check(t, c.what, deref(c.got), deref(c.want))
	}
	if w.TTFTMs != nil {
		check(t, "server ttft", deref(r.ServerTTFTUs), deref(scaled(w.TTFTMs, 1000)))
	}
	if total := scaled(w.TotalMs, 1000); total != nil || w.TotalUs != nil {
		if total == nil {
			total = w.TotalUs
		}
		check(t, "server total", deref(r.ServerTotalUs), deref(total))
	}
	// The samples list a reason of the Responses API only where the answer is
	// incomplete; ours is the status then (ARCHITECTURE.md), as in the truth of
	// our own captures.
	if r.APIKind == trace.KindOpenAIResponses && len(w.Finish) == 0 {
		w.Finish = []string{"completed"}
	}
	if diff := cmp.Diff(strings.Join(w.Finish, ","), strings.Join(x.Said.FinishReasons, ",")); diff != "" {
		t.Errorf("finish reasons (-want +got):\n%s", diff)
	}
	check(t, "events", deref(r.EventCount), fmt.Sprint(w.Events))
	check(t, "text chunks", countKind(r, trace.ChunkText), w.TextChunks)
	check(t, "reasoning chunks", countKind(r, trace.ChunkReasoning), w.ReasoningChunks)
	check(t, "tool chunks", countKind(r, trace.ChunkToolArgs), w.ToolChunks)
	check(t, "end mark", countKind(r, trace.ChunkDone) > 0, w.DoneMark)
	if w.Model != "" {
		check(t, "model", x.Said.ResponseModel, w.Model)
	}
	near(t, "first event", r.TFirstEventUs, w.FirstEvent, tolerance)
	near(t, "first token", r.TFirstTokenUs, w.FirstToken, tolerance)
}

func scaled(v *int64, by int64) *int64 {
	if v == nil {
		return nil
	}
	return new(*v * by)
}

func near(t *testing.T, what string, got *int64, want, tolerance int64) {
	t.Helper()
	if got == nil || max(*got-want, want-*got) > tolerance {
		t.Errorf("%s: got %s µs, want %d ± %d", what, deref(got), want, tolerance)
	}
}

package datasets

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// exported imports a source and exports what came of it.
func exported(t *testing.T, in Config, cfg ExportConfig) (string, ExportReport) {
	t.Helper()
	in.Out, in.Version = filepath.Join(t.TempDir(), "trace"), "test"
	if _, err := Import(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return exportDir(t, in.Out, cfg)
}

func exportDir(t *testing.T, path string, cfg ExportConfig) (string, ExportReport) {
	t.Helper()
	dir, err := tracedir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cfg.Version = "test"
	report, err := Export(t.Context(), dir, cfg, &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), report
}

// Ten thousand arrivals 0.4 ms apart, three times as fast, to Mooncake and
// back (cases.md 24): no drift, and no two arrivals fall together unless the
// resolution asked for makes them, which is counted.
func TestRoundingIsOfStampsNotOfGaps(t *testing.T) {
	var text strings.Builder
	const n = 10_000
	for i := range n {
		fmt.Fprintf(&text, "{\"timestamp\":%d.%d,\"input_length\":10,\"output_length\":5}\n", i*4/10, i*4%10)
	}
	in := Config{Format: "mooncake", Path: source(t, text.String())}
	out, report := exported(t, in, ExportConfig{Format: "mooncake", Scale: 3})
	if report.Rows != n || report.MergedStamps != 0 {
		t.Errorf("rows, merged = %d, %d", report.Rows, report.MergedStamps)
	}
	back, rows := importFile(t, Config{Format: "mooncake", Path: source(t, out)})
	const want = 9_999 * 400_000 / 3
	if math.Abs(float64(back.SpanNs-want)) > 1 {
		t.Errorf("span = %d ns, want %d", back.SpanNs, want)
	}
	for i, r := range rows {
		if ideal := math.Round(float64(i) * 400_000 / 3); math.Abs(float64(r.StartUnixNs)-ideal) > 0.5 {
			t.Fatalf("arrival %d at %d ns, want %.0f: a drift", i, r.StartUnixNs, ideal)
		}
	}
	// Whole milliseconds hold 7.5 arrivals each.
	out, report = exported(t, in, ExportConfig{Format: "mooncake", Scale: 3, Resolution: 1e6})
	back, rows = importFile(t, Config{Format: "mooncake", Path: source(t, out)})
	distinct := map[int64]bool{}
	for _, r := range rows {
		distinct[r.StartUnixNs] = true
	}
	if report.MergedStamps != n-int64(len(distinct)) || math.Abs(float64(back.SpanNs-want)) > 1e6/2 {
		t.Errorf("merged %d with %d distinct, span %d", report.MergedStamps, len(distinct), back.SpanNs)
	}
}

// What was imported comes out as it was, row for row.
func TestRoundTripOfSamples(t *testing.T) {
	samples := testenv.Samples(t)
	t.Run("azure", func(t *testing.T) {
		path := filepath.Join(samples, "azure_llm_2023_conv_head4000.csv")
		out, report := exported(t, Config{Format: "azure2023", Path: path}, ExportConfig{Format: "azure"})
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimRight(out, "\r\n") != strings.TrimRight(string(want), "\r\n") || report.MergedStamps != 0 {
			t.Error("the file changed")
		}
	})
	t.Run("mooncake", func(t *testing.T) {
		path := filepath.Join(samples, "mooncake_fast25_conversation_head790.jsonl")
		out, _ := exported(t, Config{Format: "mooncake", Path: path}, ExportConfig{Format: "mooncake"})
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(jsonRows(t, string(want)), jsonRows(t, out)); diff != "" {
			t.Errorf("rows (-want +got):\n%.2000s", diff)
		}
	})
}

func jsonRows(t *testing.T, text string) (rows []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		row := map[string]any{}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// Sessions, think times and blocks of other sizes, as Mooncake's lines.
func TestExportMooncake(t *testing.T) {
	bailianPath := source(t, `{"chat_id": 1, "parent_chat_id": -1, "timestamp": 5, "input_length": 40, "output_length": 1, "turn": 1, "hash_ids": [7, 8, 9]}
{"chat_id": 2, "parent_chat_id": 1, "timestamp": 6.5, "input_length": 70, "output_length": 3, "turn": 2, "hash_ids": [7, 8, 10, 11, 12]}
{"chat_id": 3, "parent_chat_id": -1, "timestamp": 6, "input_length": 33, "output_length": 3, "turn": 1, "hash_ids": [7, 8, 20]}
`)
	out, _ := exported(t, Config{Format: "bailian", Path: bailianPath}, ExportConfig{Format: "mooncake", BlockTokens: 32})
	want := `{"timestamp":0,"session_id":"chat-1","context_mode":"message_array_with_responses","input_length":40,"output_length":1,"hash_ids":[0,1]}
{"timestamp":1000,"session_id":"chat-3","context_mode":"message_array_with_responses","input_length":33,"output_length":3,"hash_ids":[0,2]}
{"timestamp":1500,"session_id":"chat-1","context_mode":"message_array_with_responses","input_length":70,"output_length":3,"hash_ids":[0,3,4]}
`
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Smaller blocks than the trace has: as many as the tokens fill.
	out, _ = exported(t, Config{Format: "bailian", Path: bailianPath}, ExportConfig{Format: "mooncake", BlockTokens: 8})
	if rows := jsonRows(t, out); len(rows[0]["hash_ids"].([]any)) != 5 || rows[0]["hash_ids"].([]any)[1] == rows[0]["hash_ids"].([]any)[0] {
		t.Errorf("blocks of 8: %v", rows[0])
	}
	// WEKA counts full blocks only: the tail is known to no other row.
	for _, sample := range formatSamples {
		if sample.format == "weka" {
			out, _ = exported(t, Config{Format: "weka", Path: source(t, sample.text)}, ExportConfig{Format: "mooncake", BlockTokens: 64})
		}
	}
	rows := jsonRows(t, out)
	if diff := cmp.Diff([]any{0., 1., 2., 3.}, rows[0]["hash_ids"]); diff != "" {
		t.Errorf("first row of WEKA (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{0., 1., 2., 5.}, rows[2]["hash_ids"]); diff != "" || rows[2]["delay"] != 1500. {
		t.Errorf("its second turn: delay %v (-want +got):\n%s", rows[2]["delay"], diff)
	}
}

// Spans come back as the rows that they were made from.
func TestRoundTripOTel(t *testing.T) {
	for _, sample := range formatSamples {
		if sample.format != "otel" && sample.format != "weka" && sample.format != "azure2023" {
			continue
		}
		t.Run(sample.format, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "trace")
			if _, err := Import(t.Context(), Config{Format: sample.format, Path: source(t, sample.text), Out: path, Version: "test"}); err != nil {
				t.Fatal(err)
			}
			dir, err := tracedir.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			out, _ := exportDir(t, path, ExportConfig{Format: "otel"})
			again, _ := exportDir(t, path, ExportConfig{Format: "otel"})
			if out != again {
				t.Error("a second export differs")
			}
			if strings.Contains(out, "gen_ai.input.messages") {
				t.Error("an attribute with content was written")
			}
			report, rows := importFile(t, Config{Format: "otel", Path: source(t, out)})
			if report.Refused+report.Skipped > 0 {
				t.Fatalf("refused, skipped = %d, %d: %v", report.Refused, report.Skipped, report.Errors)
			}
			i := 0
			for want, err := range tracedir.Rows[trace.Record](dir) {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(spanOf(want), spanOf(rows[i])); diff != "" {
					t.Errorf("row %d (-want +got):\n%s", i, diff)
				}
				i++
			}
			if i != len(rows) {
				t.Errorf("%d rows back of %d", len(rows), i)
			}
		})
	}
}

// spanOf is what a span holds of a record, less pseudonyms.
func spanOf(r *trace.Record) map[string]any {
	out := map[string]any{"start": r.StartUnixNs, "end": r.TEndUs, "session": r.SessionID != nil}
	for _, c := range otelColumns() {
		if v, ok := c.write(r); ok && !c.id && c.name != "gen_ai.operation.name" {
			out[c.name] = v
		}
	}
	return out
}

// Bodies go out where the trace keeps them, and are asked for where not.
func TestExportBodies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	w, err := tracedir.Create(path, &trace.Manifest{Seal: &trace.Seal{Mode: trace.ModeFiller, Version: "test"}}, tracedir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"model": "m", "messages": [{"role": "user", "content": "word word"}]}`
	for i := range 3 {
		r := &trace.Record{Identity: trace.Identity{RequestID: fmt.Sprint(i)}, Arrival: trace.Arrival{StartUnixNs: int64(i) * 1_500_000}}
		r.APIKind, r.Method = trace.KindOpenAIChat, "POST"
		if i < 2 {
			r.Bodies = []trace.Body{{RequestID: r.RequestID, Side: trace.SideRequest, Body: []byte(body)}, {RequestID: r.RequestID, Side: trace.SideResponse, Body: []byte("x")}}
		}
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out, report := exportDir(t, path, ExportConfig{Format: "payload"})
	want := `{"timestamp":0,"payload":{"model":"m","messages":[{"role":"user","content":"word word"}]}}
{"timestamp":1.5,"payload":{"model":"m","messages":[{"role":"user","content":"word word"}]}}
`
	if diff := cmp.Diff(want, out); diff != "" || report.LeftOut["no body kept"] != 1 {
		t.Errorf("left out %v (-want +got):\n%s", report.LeftOut, diff)
	}
	out, _ = exportDir(t, path, ExportConfig{Format: "vegeta", Target: "http://staging:8000/"})
	row := jsonRows(t, out)[1]
	if got, err := base64.StdEncoding.DecodeString(row["body"].(string)); err != nil || string(got) != body || row["url"] != "http://staging:8000/v1/chat/completions" {
		t.Errorf("target %v, %v", row, err)
	}
	back, rows := importFile(t, Config{Format: "vegeta", Path: source(t, out), PerS: 10})
	if back.Rows != 2 || rows[0].APIKind != trace.KindOpenAIChat || *rows[0].MessageCount != 1 {
		t.Errorf("back: %+v", back)
	}
}

func TestExportRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	if _, err := Import(t.Context(), Config{Format: "editor", Path: source(t, "time\n1767225600000\n"), Out: path, Version: "test"}); err != nil {
		t.Fatal(err)
	}
	dir, err := tracedir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		cfg  ExportConfig
		want string
	}{
		{ExportConfig{Format: "nope"}, "known are azure, mooncake, otel, payload, vegeta"},
		{ExportConfig{Format: "azure"}, "input_tokens unknown: 1"},
		{ExportConfig{Format: "azure", Scale: -1}, "scale -1"},
		{ExportConfig{Format: "payload"}, "the trace keeps no bodies; record with --mode filler"},
		{ExportConfig{Format: "vegeta", Target: "staging:8000"}, "want a URL such as"},
	} {
		_, err := Export(t.Context(), dir, row.cfg, &bytes.Buffer{})
		if !errors.Is(err, ErrExport) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%+v: %v, want %q", row.cfg, err, row.want)
		}
	}
}

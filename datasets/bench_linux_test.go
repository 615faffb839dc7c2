package datasets

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// benchRows are rows of each format of the length that real files have:
// some 15 block ids in a row of Mooncake, 60 of Bailian, 300 of WEKA.
var benchRows = map[string]struct {
	head, row string
	ids       int
	cfg       Config
}{
	"azure2023": {"TIMESTAMP,ContextTokens,GeneratedTokens\r\n", "2023-11-16 18:17:%02d.%07d,4808,10\r\n", 0, Config{}},
	"azure2024": {"TIMESTAMP,ContextTokens,GeneratedTokens\n", "2024-05-12 00:00:%02d.%06d+00:00,100,10\n", 0, Config{}},
	"azure2025": {"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n", "2024-10-15T12:00:%02d.%06dZ,2,100,10\n", 0, Config{}},
	"burstgpt":  {"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n", "%d%03d,s-1,43,GPT-4,906,446,1352,Conversation log\n", 0, Config{}},
	"mooncake":  {"", `{"timestamp": 1%d%06d, "input_length": 7322, "output_length": 490, "hash_ids": [%s]}` + "\n", 15, Config{}},
	"bailian":   {"", `{"chat_id": 1%d%06[2]d, "parent_chat_id": -1, "timestamp": %[2]d, "input_length": 950, "output_length": 132, "type": "text", "turn": 1, "hash_ids": [%[3]s]}` + "\n", 60, Config{}},
	"editor":    {"time,context_length,latency_ms,accepted,model,session_id,user\n", "1767225600%03d.%06d,812,143.5,true,coder-7b,s1,u1\n", 0, Config{}},
	"vegeta":    {"", `{"method":"POST","url":"http://10.0.0.1:8000/v1/chat/completions?%d.%d","body":"eyJtb2RlbCI6Im0iLCJtZXNzYWdlcyI6W3sicm9sZSI6InVzZXIiLCJjb250ZW50IjoiaGVsbG8gd29ybGQifV19"}` + "\n", 0, Config{PerS: 1}},
	"otel":      {"", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"chat m","kind":3,"startTimeUnixNano":"17672256%02d%09d","endTimeUnixNano":"1767225601500000001","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.provider.name","value":{"stringValue":"openai"}},{"key":"gen_ai.request.model","value":{"stringValue":"m"}},{"key":"gen_ai.usage.input_tokens","value":{"intValue":"923"}},{"key":"gen_ai.usage.output_tokens","value":{"intValue":"92"}}]}]}]}]}` + "\n", 0, Config{}},
	"tracelab":  {"", `{"provider":"claude","session_id":"s","round_index":0,"round_id":"msg_%d_%d","model":"claude-x","input_tokens_total":30,"prefix_tokens":20,"claude_uncached_input_tokens":4,"claude_cache_creation_input_tokens":6,"output_tokens":9,"timing_events":[{"event_type":"user_message","timestamp":"2026-06-01T05:40:20.151Z","content_chars":146},{"event_type":"text","timestamp":"2026-06-01T05:40:29.887Z","content_chars":116}],"tools":[{"tool_index":0,"tool_name":"Bash","tool_call_id":"toolu_2a5c","emitted_at":"2026-06-01T05:40:30.836Z","input_chars":168,"result_chars":231,"tool_wall_latency_ms":860,"is_error":false,"result_at":"2026-06-01T05:40:31.696Z"}]}` + "\n", 0, Config{}},
	"weka":      {`{"id":"x","block_size":64,"requests":[{"t":0,"type":"n","in":1,"out":1}` + "\n", `,{"t":%d.%06d,"type":"n","model":"claude-x","in":19205,"out":82,"hash_ids":[%s],"input_types":["tool_result"],"output_types":["tool_use"],"stop":"tool_use","api_time":2.87,"think_time":12.0}` + "\n", 300, Config{}},
}

// cpuTime is what this process has used of its processors.
func cpuTime(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// BenchmarkImport measures whole imports, Parquet written: rows per second of
// processor time, which a busy machine does not change much. Beside it, in
// ns of processor time a row, is what no import can do without: to read the
// file and hash it, to find its lines, and to write the same Records.
func BenchmarkImport(b *testing.B) {
	const n = 50_000
	for _, name := range Formats() {
		b.Run(name, func(b *testing.B) {
			cfg := benchSource(b, name, n)
			info, err := os.Stat(cfg.Path)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(info.Size())
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				report, err := Import(b.Context(), cfg)
				if err != nil || report.Rows < n || report.Refused > 0 {
					b.Fatalf("%+v, %v", report, err)
				}
			}
			perRow := (cpuTime(b) - before) / time.Duration(b.N*n)
			b.ReportMetric(1e9/float64(perRow), "rows/cpu-s")
			b.ReportMetric(float64(perRow), "cpu-ns/row")
			b.ReportMetric(float64(bareRead(b, cfg.Path))/n, "read-ns/row")
			b.ReportMetric(float64(bareWrite(b, cfg.Out))/n, "write-ns/row")
		})
	}
}

// benchSource is a file of n rows, and the import of it.
func benchSource(tb testing.TB, name string, n int) Config {
	tb.Helper()
	sample := benchRows[name]
	var text strings.Builder
	text.WriteString(sample.head)
	var ids []byte
	for i := range n {
		args := []any{i * 60 / n, i}
		if sample.ids > 0 {
			ids = ids[:0]
			for k := range sample.ids { // a prefix of its conversation's, which grows
				ids = strconv.AppendInt(append(ids, ", "...), int64(10_000+i/20*400+k+i%20), 10)
			}
			args = append(args, ids[2:])
		}
		fmt.Fprintf(&text, sample.row, args...)
	}
	if name == "weka" {
		text.WriteString("]}\n")
	}
	cfg := sample.cfg
	cfg.Format, cfg.Path, cfg.Out, cfg.Version, cfg.Force = name, filepath.Join(tb.TempDir(), "source"), filepath.Join(tb.TempDir(), "out"), "bench", true
	if err := os.WriteFile(cfg.Path, []byte(text.String()), 0o600); err != nil {
		tb.Fatal(err)
	}
	return cfg
}

// bareRead is the processor time to hash a file and find its lines.
func bareRead(b *testing.B, path string) time.Duration {
	before := cpuTime(b)
	file, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewReaderSize(io.TeeReader(file, sha256.New()), maxLine)
	for err == nil {
		_, err = lines.ReadSlice('\n')
	}
	if !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
	return cpuTime(b) - before
}

// bareWrite is the processor time to write a trace's Records again.
func bareWrite(b *testing.B, path string) time.Duration {
	dir, err := tracedir.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	var rows []*trace.Record
	for r, err := range tracedir.Rows[trace.Record](dir) {
		if err != nil {
			b.Fatal(err)
		}
		rows = append(rows, r)
	}
	runtime.GC()
	before := cpuTime(b)
	w, err := tracedir.Create(b.TempDir(), dir.Manifest(), tracedir.Options{MaxPartBytes: importPart})
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range rows {
		if err := w.Write(r); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return cpuTime(b) - before
}

// gauge is a context that measures, as an import asks after it with every
// row, what the import can reach.
type gauge struct {
	context.Context
	asked      int
	base, most uint64
}

func (g *gauge) Err() error {
	if g.asked++; g.asked%4096 == 0 {
		g.most = max(g.most, reachable())
	}
	return g.Context.Err()
}

func reachable() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// An import of rows with 300 block ids each holds what a row group, a window
// of the file and the compressors need, however long it is: 36 MiB, of which
// garbage makes twice as much, are below the 128 MiB that it may take.
func TestImportHoldsLittle(t *testing.T) {
	testenv.Long(t)
	cfg := benchSource(t, "weka", 30_000)
	g := &gauge{Context: t.Context(), base: reachable()}
	if _, err := Import(g, cfg); err != nil {
		t.Fatal(err)
	}
	if held := g.most - min(g.base, g.most); g.asked < 60_000 || held > 36<<20 {
		t.Errorf("%d MiB are held, measured %d times", held>>20, g.asked/4096)
	} else {
		t.Logf("%d MiB", held>>20)
	}
}

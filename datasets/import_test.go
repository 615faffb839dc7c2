package datasets

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

func source(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "source.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// imported imports text and returns the report and the rows.
func imported(t *testing.T, format, text string) (Report, []*trace.Record) {
	t.Helper()
	return importFile(t, Config{Format: format, Path: source(t, text)})
}

func importFile(t *testing.T, cfg Config) (Report, []*trace.Record) {
	t.Helper()
	cfg.Out, cfg.Version = filepath.Join(t.TempDir(), "trace"), "test"
	report, err := Import(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := tracedir.Open(cfg.Out)
	if err != nil {
		t.Fatal(err)
	}
	if got := dir.Manifest().Seal; got == nil || got.Mode != trace.ModeImport {
		t.Fatalf("seal = %+v, want an import's", got)
	}
	var rows []*trace.Record
	for r, err := range tracedir.Rows[trace.Record](dir) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return report, rows
}

func TestAzure2023(t *testing.T) {
	const text = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n" +
		"2023-11-16 18:17:03.9799600,4808,10\r\n" +
		"2023-11-16 18:17:04,3180,0\r\n" +
		"2023-11-16 18:17:xx,1,1\r\n" +
		"2023-11-16 18:17:05.0000001,-3,1\r\n"
	report, rows := imported(t, "azure2023", text)
	if report.Rows != 2 || report.Refused != 2 {
		t.Fatalf("rows, refused = %d, %d, want 2, 2", report.Rows, report.Refused)
	}
	want := []string{
		`source.txt:4: TIMESTAMP "2023-11-16 18:17:xx": want a time such as 2023-11-16 18:17:03.9799600`,
		`source.txt:5: ContextTokens "-3": want a whole number of tokens, 0 or more`,
	}
	var got []string
	for _, e := range report.Errors {
		got = append(got, e.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("row errors (-want +got):\n%s", diff)
	}
	first := rows[0]
	// 2023-11-16T18:17:03Z is 1700158623.
	if first.StartUnixNs != 1700158623_979960000 || first.ArrivalResolutionNs != 100 {
		t.Errorf("start, resolution = %d, %d", first.StartUnixNs, first.ArrivalResolutionNs)
	}
	if *first.InputTokens != 4808 || *first.OutputTokens != 10 || *first.ImportRow != 2 {
		t.Errorf("tokens, row = %d, %d, %d", *first.InputTokens, *first.OutputTokens, *first.ImportRow)
	}
	if first.StatusCode != nil || first.Chunks != nil || first.TFirstTokenUs != nil || first.Class() != trace.ClassExcluded {
		t.Error("what the source does not say must be NULL, and its outcome no verdict")
	}
	if *rows[1].OutputTokens != 0 {
		t.Errorf("0 tokens that the source states = %d", *rows[1].OutputTokens)
	}
}

func TestAzure2023WithoutHeader(t *testing.T) {
	out := filepath.Join(t.TempDir(), "trace")
	_, err := Import(t.Context(), Config{Format: "azure2023", Path: source(t, "5,ChatGPT,472,18,490,Conversation log\n"), Out: out, Version: "test"})
	if !errors.Is(err, ErrFormat) {
		t.Fatalf("error = %v, want ErrFormat", err)
	}
	for _, want := range []string{"line 1 lacks the columns TIMESTAMP, ContextTokens, GeneratedTokens", `"5,ChatGPT,472,18,490,Conversation log"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was left at the destination: %v", err)
	}
}

// A block too few or too many is an error of its row, not of the file
// (ai-dynamo/aiperf#786).
func TestMooncakeOneBadRow(t *testing.T) {
	const text = `{"timestamp":0,"input_length":600,"output_length":8,"hash_ids":[0,1]}
{"timestamp":200,"input_length":20,"output_length":8,"hash_ids":[0,1]}
{"timestamp":400,"input_length":512,"output_length":8,"hash_ids":[0]}
not json
`
	report, rows := imported(t, "mooncake", text)
	if len(rows) != 2 || report.Refused != 2 {
		t.Fatalf("rows, refused = %d, %d, want 2, 2", len(rows), report.Refused)
	}
	if got, want := report.Errors[0].Error(), "source.txt:2: 2 hash_ids for 20 tokens, want 1 blocks of 512"; got != want {
		t.Errorf("row error = %q, want %q", got, want)
	}
	if diff := cmp.Diff([]int64{0, 1}, rows[0].PrefixBlockIDs); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if *rows[0].PrefixBlockUnit != trace.UnitToken || *rows[0].PrefixBlockSize != 512 {
		t.Errorf("block = %d %s", *rows[0].PrefixBlockSize, *rows[0].PrefixBlockUnit)
	}
}

func TestStrictStopsAtTheFirstBadRow(t *testing.T) {
	out := filepath.Join(t.TempDir(), "trace")
	_, err := Import(t.Context(), Config{Format: "mooncake", Path: source(t, "{\"timestamp\":0,\"input_length\":1,\"output_length\":1}\n{}\n"), Out: out, Strict: true, Version: "test"})
	var row *RowError
	if !errors.As(err, &row) || row.Line != 2 {
		t.Fatalf("error = %v, want a RowError of line 2", err)
	}
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was left at the destination: %v", err)
	}
}

// Seconds taken for milliseconds are kept as written and called in question
// (vllm-project/guidellm#948).
func TestMooncakeSecondsAreCalledInQuestion(t *testing.T) {
	var text strings.Builder
	for i := range 3600 {
		fmt.Fprintf(&text, "{\"timestamp\":%g,\"input_length\":10,\"output_length\":5}\n", float64(i)*0.2)
	}
	report, _ := imported(t, "mooncake", text.String())
	if want := "0.7198 s, 5000/s: are the times in another unit than ms? see --time-unit"; report.Warnings[0] != want {
		t.Errorf("warning = %q, want %q", report.Warnings[0], want)
	}
	report, _ = importFile(t, Config{Format: "mooncake", Path: source(t, text.String()), TimeUnit: "s"})
	if math.Abs(*report.RatePerS-5) > 1e-9 {
		t.Errorf("rate with --time-unit s = %v, want 5", *report.RatePerS)
	}
	if report.ArrivalResolutionNs != 200_000_000 {
		t.Errorf("resolution = %d, want 200 ms", report.ArrivalResolutionNs)
	}
}

func TestLongLineIsOneBadRow(t *testing.T) {
	text := `{"timestamp":0,"input_length":1,"output_length":1}` + "\n{\"x\":\"" + strings.Repeat("y", 3*maxLine) + "\"}\n" + `{"timestamp":5,"input_length":1,"output_length":1}`
	report, rows := imported(t, "mooncake", text)
	if len(rows) != 2 || report.Refused != 1 || report.Errors[0].Line != 2 {
		t.Errorf("rows, refused, line = %d, %d, %v", len(rows), report.Refused, report.Errors)
	}
}

func TestUnknownFormatAndUnit(t *testing.T) {
	for name, cfg := range map[string]Config{
		"format":        {Format: "nope"},
		"unit":          {Format: "mooncake", TimeUnit: "min"},
		"unit of dates": {Format: "azure2023", TimeUnit: "s"},
		"empty file":    {Format: "mooncake", Path: source(t, "")},
	} {
		if _, err := Import(t.Context(), cfg); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: error = %v, want ErrFormat", name, err)
		}
	}
}

// The real files: their figures are those of the publishers' own rows.
func TestPublicSamples(t *testing.T) {
	samples := testenv.Samples(t)
	for _, row := range []struct {
		format, file string
		rows         int64
		resolution   int64
		firstInput   int64
	}{
		{"azure2023", "azure_llm_2023_conv_head4000.csv", 4000, 100, 374},
		{"azure2023", "azure_llm_2023_code_head4000.csv", 4000, 100, 4808},
		{"mooncake", "mooncake_fast25_conversation_head790.jsonl", 790, 3_000_000_000, 6758},
	} {
		t.Run(row.file, func(t *testing.T) {
			report, rows := importFile(t, Config{Format: row.format, Path: filepath.Join(samples, row.file)})
			if report.Rows != row.rows || report.Refused != 0 || int64(len(rows)) != row.rows {
				t.Errorf("rows, refused, read = %d, %d, %d", report.Rows, report.Refused, len(rows))
			}
			if report.ArrivalResolutionNs != row.resolution {
				t.Errorf("resolution = %d, want %d", report.ArrivalResolutionNs, row.resolution)
			}
			if *rows[0].InputTokens != row.firstInput {
				t.Errorf("first input = %d, want %d", *rows[0].InputTokens, row.firstInput)
			}
			gridWarned := strings.Contains(strings.Join(report.Warnings, "\n"), "no burstiness")
			if want := row.format == "mooncake"; gridWarned != want {
				t.Errorf("warned of a wide grid: %v, want %v", gridWarned, want)
			}
		})
	}
}

// FuzzImport gives every importer what it may not expect: no panic, no more
// rows than the source can hold, and every row fit to be written.
func FuzzImport(f *testing.F) {
	for _, sample := range formatSamples {
		f.Add(sample.format, sample.text)
	}
	f.Add("mooncake", `{"timestamp":1e308,"input_length":1,"output_length":1}`)
	f.Add("otel", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"1","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}}]}`)
	f.Add("weka", `{"requests":[{"type":"subagent","t":1,"requests":[{"t":0,"in":1,"out":1}]}]}{"id":`)
	f.Fuzz(func(t *testing.T, name, text string) {
		i := slices.IndexFunc(formats(), func(f format) bool { return f.name == name })
		if i < 0 {
			return
		}
		good, bad := 0, 0
		err := formats()[i].scan(&scan{
			in: strings.NewReader(text), unit: time.Millisecond, perS: 1, key: []byte("k"),
			row: func(_ int64, r *trace.Record) error {
				good++
				if r.StartUnixNs < -maxNs || r.StartUnixNs > 3*maxNs/2 {
					t.Errorf("start %d", r.StartUnixNs)
				}
				return nil
			},
			bad:  func(int64, string) error { bad++; return nil },
			skip: func() {},
		})
		if err != nil && !errors.Is(err, ErrFormat) {
			t.Error(err)
		}
		if good+bad > len(text)+1 {
			t.Errorf("%d rows from %d bytes", good+bad, len(text))
		}
	})
}

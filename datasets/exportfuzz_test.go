package datasets

import (
	"bytes"
	order "cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// draw makes values of a Record from a fuzzer's bytes; behind their end all are 0.
type draw []byte

func (d *draw) byte() byte {
	if len(*d) == 0 {
		return 0
	}
	b := (*d)[0]
	*d = (*d)[1:]
	return b
}

func (d *draw) int() int64 {
	var raw [8]byte
	kind := d.byte()
	edges := []int64{0, 1, -1, 16, 511, 512, 513, math.MaxInt32, math.MaxInt32 + 1, math.MaxInt64, math.MinInt64, maxNs, maxNs + 1, -maxNs, 1_700_000_000_000_000_099}
	if int(kind) < len(edges) {
		return edges[kind]
	}
	n := copy(raw[:int(kind)%9], *d)
	*d = (*d)[n:]
	return int64(binary.LittleEndian.Uint64(raw[:]))
}

func (d *draw) text() string {
	edges := []string{"", "gpt-4o", "müller\x00\"\\", "\xff\xfe", "日本語モデル", "chat", "execute_tool", strings.Repeat("m", 81), "line\nfeed", "anthropic"}
	if i := int(d.byte()); i < len(edges) {
		return edges[i]
	}
	n := min(int(d.byte())%40, len(*d))
	s := string((*d)[:n])
	*d = (*d)[n:]
	return s
}

// or is NULL for a third of the bytes.
func or[T any](d *draw, value func() T) *T {
	if d.byte()%3 == 0 {
		return nil
	}
	return new(value())
}

func (d *draw) int32() int32 { return int32(d.int()) }

func (d *draw) float() float64 {
	f := math.Float64frombits(uint64(d.int()))
	if math.IsNaN(f) || math.IsInf(f, 0) { // no writer takes them
		return 0.1
	}
	return f
}

func (d *draw) record(n int) *trace.Record {
	r := &trace.Record{}
	r.RequestID, r.StartUnixNs = fmt.Sprint(n), d.int()
	r.SessionID, r.ThinkTimeUs = or(d, d.text), or(d, d.int)
	kinds := []trace.APIKind{trace.KindOpenAIChat, trace.KindAnthropicMessages, trace.KindOpenAICompletions, trace.KindGemini, trace.KindOther, trace.KindOllamaGenerate, ""}
	r.APIKind, r.Method = kinds[int(d.byte())%len(kinds)], []string{"POST", "", "other", "P\xff"}[d.byte()%4]
	r.InputTokens, r.OutputTokens = or(d, d.int), or(d, d.int)
	r.CacheReadTokens, r.CacheWriteTokens, r.ReasoningTokens = or(d, d.int), or(d, d.int), or(d, d.int)
	r.Provider, r.Operation, r.RequestModel, r.ResponseModel = or(d, d.text), or(d, d.text), or(d, d.text), or(d, d.text)
	r.Stream, r.MaxTokens, r.Seed, r.Temperature = d.byte()%2 == 0, or(d, d.int32), or(d, d.int), or(d, d.float)
	r.StatusCode, r.ServerPort, r.ErrorType = or(d, d.int32), d.int32(), or(d, d.text)
	r.TEndUs, r.TFirstTokenUs, r.TFirstEventUs = or(d, d.int), or(d, d.int), or(d, d.int)
	if d.byte()%2 == 0 {
		r.FinishReasons = []string{d.text(), d.text()}
	}
	outcomes := append(slices.Clone(trace.Outcomes), "", "nonsense")
	r.Outcome = outcomes[int(d.byte())%len(outcomes)]
	r.PrefixBlockSize, r.PrefixBlockUnit = or(d, d.int32), or(d, func() trace.BlockUnit { return []trace.BlockUnit{trace.UnitToken, trace.UnitByte}[d.byte()%2] })
	r.ReqBodyBytes = d.int()
	for range d.byte() % 8 {
		r.PrefixBlockIDs = append(r.PrefixBlockIDs, d.int())
	}
	if d.byte()%3 > 0 {
		texts := []string{`{"model":"m","messages":[{"role":"user","content":"word"}]}`, `{}`, `no JSON`, "\xff", `{"prompt":"a","prompt":"b"}`}
		r.Bodies = []trace.Body{{RequestID: r.RequestID, Side: trace.SideRequest, Body: []byte(texts[int(d.byte())%len(texts)])}}
	}
	return r
}

// FuzzExport writes traces of any values in every format: an error that says
// why, or lines that the importer of the format takes, with the values it has
// of those that the format holds. What is not written is counted.
func FuzzExport(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{1}, 300))
	f.Add(bytes.Repeat([]byte{2, 4, 7}, 200))
	f.Add(bytes.Repeat([]byte{14, 1, 0, 1, 0, 5, 1, 2, 13}, 80))
	f.Add(bytes.Repeat([]byte{9, 10, 11, 12, 13, 200, 3}, 90))
	for seed := range uint64(4) { // hundreds of rows each
		rng, data := rand.New(rand.NewPCG(seed, 10)), make([]byte, 30_000)
		for i := range data {
			data[i] = byte(rng.IntN(16)) // edges above all
			if seed%2 == 1 && rng.IntN(4) == 0 {
				data[i] = byte(rng.Uint32())
			}
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := draw(data[:min(len(data), 1<<15)])
		var rows []*trace.Record
		for n := 0; n == 0 || len(d) > 0; n++ {
			rows = append(rows, d.record(n))
		}
		dir := writeTrace(t, rows)
		slices.SortStableFunc(rows, func(a, b *trace.Record) int { return order.Compare(a.StartUnixNs, b.StartUnixNs) })
		for format, back := range map[string]func(*testing.T, []*trace.Record, string, ExportReport){
			"azure": azureBack, "mooncake": mooncakeBack, "otel": otelBack, "vegeta": vegetaBack, "payload": payloadBack,
		} {
			var out bytes.Buffer
			report, err := Export(t.Context(), dir, ExportConfig{Format: format, Target: "http://h:1", Version: "fuzz"}, &out)
			if err != nil {
				if !errors.Is(err, ErrExport) {
					t.Errorf("%s: %v", format, err)
				}
				continue
			}
			left := int64(0)
			for _, n := range report.LeftOut {
				left += n
			}
			if report.Rows+left != int64(len(rows)) {
				t.Errorf("%s: %d rows and %v of %d", format, report.Rows, report.LeftOut, len(rows))
			}
			back(t, rows, out.String(), report)
		}
	})
}

func writeTrace(t *testing.T, rows []*trace.Record) *tracedir.Dir {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace")
	w, err := tracedir.Create(path, &trace.Manifest{Seal: &trace.Seal{Mode: trace.ModeFiller, Version: "test"}}, tracedir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		kept := *r
		if err := w.Write(&kept); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir, err := tracedir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// readBack scans what was written; none of it may be refused unless refuse
// says so.
func readBack(t *testing.T, name, text string, refuse func(string) bool) (rows []trace.Record, skipped int) {
	t.Helper()
	i := slices.IndexFunc(formats(), func(f format) bool { return f.name == name })
	err := formats()[i].scan(&scan{
		in: strings.NewReader(text), unit: time.Millisecond, perS: 1, key: []byte("k"),
		row: func(_ int64, r *trace.Record) error { rows = append(rows, *r); return nil },
		bad: func(line int64, msg string) error {
			if !refuse(msg) {
				t.Errorf("%s: line %d: %s\n%.400s", name, line, msg, text)
			}
			return nil
		},
		skip: func() { skipped++ },
	})
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return rows, skipped
}

func never(string) bool { return false }

// written are the rows that have both counts and a time from earliest on, and
// lie no more than maxNs from the first of them.
func written(rows []*trace.Record, earliest int64) (kept []*trace.Record) {
	for _, r := range rows {
		if r.InputTokens == nil || r.OutputTokens == nil || min(*r.InputTokens, *r.OutputTokens) < 0 ||
			max(*r.InputTokens, *r.OutputTokens) > math.MaxInt32 || r.StartUnixNs < earliest || r.StartUnixNs > maxNs {
			continue
		}
		if len(kept) == 0 || float64(r.StartUnixNs-kept[0].StartUnixNs) < maxNs {
			kept = append(kept, r)
		}
	}
	return kept
}

// sameLengths compares counts and times row by row.
func sameLengths(t *testing.T, format string, want []*trace.Record, got []trace.Record, start func(first, at int64) int64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d rows back, want %d", format, len(got), len(want))
		return
	}
	for i, w := range want {
		g := got[i]
		if *g.InputTokens != *w.InputTokens || *g.OutputTokens != *w.OutputTokens || g.StartUnixNs != start(want[0].StartUnixNs, w.StartUnixNs) {
			t.Errorf("%s: row %d is %d, %d at %d", format, i, *g.InputTokens, *g.OutputTokens, g.StartUnixNs)
		}
	}
}

func azureBack(t *testing.T, rows []*trace.Record, text string, _ ExportReport) {
	got, _ := readBack(t, "azure2023", text, never)
	sameLengths(t, "azure", written(rows, 0), got, func(first, at int64) int64 {
		return first/100*100 + (at-first+50)/100*100
	})
}

func mooncakeBack(t *testing.T, rows []*trace.Record, text string, _ ExportReport) {
	got, _ := readBack(t, "mooncake", text, never)
	want := written(rows, -maxNs)
	sameLengths(t, "mooncake", want, got, func(first, at int64) int64 { return at - first })
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var row struct {
			SessionID *string  `json:"session_id"`
			Delay     *float64 `json:"delay"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("mooncake: %v: %s", err, line)
		}
		if i < len(want) && !sameText(want[i].SessionID, row.SessionID) {
			t.Errorf("mooncake: session %q of line %s", *want[i].SessionID, line)
		}
	}
}

// sameText compares texts of which what is no UTF-8 was replaced.
func sameText(want, got *string) bool {
	if want == nil || got == nil {
		return want == got
	}
	return strings.ToValidUTF8(*want, "") == strings.ReplaceAll(strings.ToValidUTF8(*got, ""), "\uFFFD", "")
}

// otelBack compares what a span holds. Names that may be text come back as
// NULL, and a span of another operation than a call of a model is skipped.
func otelBack(t *testing.T, rows []*trace.Record, text string, report ExportReport) {
	got, skipped := readBack(t, "otel", text, never)
	if int64(len(got)+skipped) != report.Rows {
		t.Errorf("otel: %d rows and %d skipped of %d", len(got), skipped, report.Rows)
	}
	byStart := map[int64][]map[string]any{}
	for i := range got {
		byStart[got[i].StartUnixNs] = append(byStart[got[i].StartUnixNs], spanKept(&got[i]))
	}
	for _, r := range rows {
		if r.StartUnixNs < 0 || r.StartUnixNs > maxNs || r.Operation != nil && !modelCall(*r.Operation) {
			continue
		}
		want, candidates := spanKept(r), byStart[r.StartUnixNs]
		if !slices.ContainsFunc(candidates, func(have map[string]any) bool { return cmp.Equal(want, have) }) {
			t.Errorf("otel: no span of row %s: %s", r.RequestID, cmp.Diff([]map[string]any{want}, candidates))
		}
	}
}

// spanKept is what an importer keeps of a span: its numbers, and texts that are
// names.
func spanKept(r *trace.Record) map[string]any {
	kept := map[string]any{"end": r.TEndUs}
	if r.TEndUs != nil && (*r.TEndUs < 0 || *r.TEndUs >= maxNs/1000 || *r.TEndUs == 0 && cutShort(r)) {
		kept["end"] = (*int64)(nil)
	}
	for _, c := range otelColumns() {
		switch v := c.field(r).(type) {
		case **string:
			if *v != nil && isWord(**v) && !c.id && c.name != "gen_ai.operation.name" {
				kept[c.name] = **v
			}
		case **int64:
			if *v != nil && !c.seconds {
				kept[c.name] = **v
			} else if *v != nil && **v >= 0 && **v < 1<<50 { // beyond, a double has no microseconds
				kept[c.name] = **v
			}
		case **int32:
			if *v != nil {
				kept[c.name] = **v
			}
		case **float64:
			if *v != nil {
				kept[c.name] = **v
			}
		case *int32:
			if *v > 0 && *v <= math.MaxUint16 {
				kept[c.name] = *v
			}
		case *bool:
			kept[c.name] = *v
		case *[]string:
			kept[c.name] = strings.Join(slices.DeleteFunc(slices.Clone(*v), func(s string) bool { return !isWord(s) }), ",")
		}
	}
	return kept
}

func cutShort(r *trace.Record) bool {
	return r.Outcome == trace.OutcomeCutByCapture || r.Outcome == trace.OutcomeUnknown
}

// vegetaBack: targets of a method, a URL and the body as it was. One whose
// body is no request is refused when it is read, as it would be by a service.
func vegetaBack(t *testing.T, rows []*trace.Record, text string, report ExportReport) {
	refused := 0
	got, _ := readBack(t, "vegeta", text, func(msg string) bool { refused++; return strings.HasPrefix(msg, "body: no request of") })
	if int64(len(got)+refused) != report.Rows {
		t.Errorf("vegeta: %d rows and %d refused of %d", len(got), refused, report.Rows)
	}
	bodies := map[string]int{}
	for _, r := range rows {
		for _, b := range r.Bodies {
			bodies[string(b.Body)]++
		}
	}
	for line := range strings.Lines(text) {
		var target vegetaOut
		err := json.Unmarshal([]byte(line), &target)
		body, encoded := base64.StdEncoding.DecodeString(target.Body)
		if err := errors.Join(err, encoded); err != nil || target.Method == "" || !strings.HasPrefix(target.URL, "http://h:1/") {
			t.Fatalf("vegeta: %v: %s", err, line)
		}
		if bodies[string(body)]--; bodies[string(body)] < 0 {
			t.Errorf("vegeta: a body that no row has: %s", line)
		}
	}
}

func payloadBack(t *testing.T, _ []*trace.Record, text string, report ExportReport) {
	n := int64(0)
	for line := range strings.Lines(text) {
		n++
		var row struct {
			Timestamp float64        `json:"timestamp"`
			Payload   map[string]any `json:"payload"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil || row.Timestamp < 0 || row.Payload == nil {
			t.Errorf("payload: %v: %s", err, line)
		}
	}
	if n != report.Rows {
		t.Errorf("payload: %d lines of %d", n, report.Rows)
	}
}

// A prompt whose blocks no importer's line holds goes out without them.
func TestExportOfLongPrompts(t *testing.T) {
	var rows []*trace.Record
	for i, tokens := range []int64{1000, 200_000 * 512, math.MaxInt32} {
		r := &trace.Record{}
		r.RequestID, r.StartUnixNs, r.InputTokens, r.OutputTokens = fmt.Sprint(i), int64(i), &tokens, new(int64(1))
		r.PrefixBlockSize, r.PrefixBlockUnit, r.PrefixBlockIDs = new(int32(512)), new(trace.UnitToken), []int64{7, 8}
		rows = append(rows, r)
	}
	var out bytes.Buffer
	report, err := Export(t.Context(), writeTrace(t, rows), ExportConfig{Format: "mooncake", Version: "test"}, &out)
	if err != nil || !slices.Contains(report.Warnings, "2 prompts have more blocks than a line holds, and are without") {
		t.Errorf("%q, %v", report.Warnings, err)
	}
	mooncakeBack(t, rows, out.String(), report)
}

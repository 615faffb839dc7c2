package recorder

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// collector keeps what it is given, as the sanitizer would count it.
type collector struct {
	list    []*trace.Exchange
	windows []*trace.CaptureWindow
	totals  trace.LossTotals
	taken   int64
}

func (c *collector) Take(x *trace.Exchange) error {
	c.list = append(c.list, x)
	c.taken++
	return nil
}

func (c *collector) Window(w *trace.CaptureWindow) error {
	w.ExchangesWritten, c.taken = c.taken, 0
	c.windows = append(c.windows, w)
	c.totals.Add(w)
	return nil
}

// record runs one capture file.
func record(tb testing.TB, cfg Config, paths ...string) (*collector, Report) {
	tb.Helper()
	src, err := OpenFiles(paths)
	if err != nil {
		tb.Fatal(err)
	}
	var c collector
	rep, err := Run(context.Background(), src, &c, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	if !c.totals.Balanced() || c.totals.OpenAtEnd != 0 {
		tb.Errorf("loss account does not balance: %+v", c.totals)
	}
	return &c, rep
}

// truth is one line of a capture's truth file; see testdata/captures/README.md.
type truth struct {
	ID           string `json:"id"`
	ClientPort   *int32 `json:"client_port"`
	ServerPort   int32  `json:"server_port"`
	HTTPVersion  string `json:"http_version"`
	Method       string `json:"method"`
	Path         string `json:"path"`
	Family       string `json:"family"`
	Outcome      string `json:"outcome"`
	InCapture    bool   `json:"in_capture"`
	Status       *int32 `json:"status"`
	ReqBytes     int64  `json:"request_body_bytes"`
	RespBytes    *int64 `json:"response_body_bytes"`
	DecodedBytes *int64 `json:"decoded_body_bytes"`
	Encoding     string `json:"content_encoding"`
	RequestModel string `json:"request_model"`
	Model        string `json:"model"`
	Finish       string `json:"finish_reason"`
	Usage        *struct {
		Prompt, Completion, Total *int64
	} `json:"usage"`
	UsageRaw struct {
		Read    int64 `json:"cache_read_input_tokens"`
		Written int64 `json:"cache_creation_input_tokens"`
	} `json:"usage_raw"`
	Events        *int32            `json:"sse_events"`
	Chunks        *int32            `json:"content_chunks"`
	ToolChunks    *int32            `json:"tool_call_chunks"`
	TextSHA       string            `json:"text_sha256"`
	ChoiceSHA     map[string]string `json:"choices_text_sha256"`
	ToolSHA       string            `json:"tool_sha256"`
	RequestAt     *int64            `json:"t_request_packet_ns"`
	ResponseAt    *int64            `json:"t_response_packet_ns"`
	FirstAt       *int64            `json:"t_first_content_packet_ns"`
	LastContentAt *int64            `json:"t_last_content_packet_ns"`
	LastAt        *int64            `json:"t_last_packet_ns"`
	PacketsOnly   bool              `json:"from_packets_only"`
	ClosedFirst   bool              `json:"client_closed_after_terminal_event"`
	View          *struct {
		Status    *int32  `json:"status"`
		Events    *int32  `json:"sse_events"`
		Chunks    *int32  `json:"content_chunks"`
		RespBytes *int64  `json:"response_body_bytes"`
		Text      *string `json:"text"`
		Hole      bool    `json:"hole"`
		First     int64   `json:"first_packet_ns"`
	} `json:"capture_view"`
}

func readTruth(t *testing.T, path string) []*truth {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []*truth
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row truth
		if err := json.Unmarshal(bytes.ReplaceAll(lines.Bytes(), []byte(`"content_encoding": null`), []byte(`"content_encoding": ""`)), &row); err != nil {
			t.Fatal(err)
		}
		list = append(list, &row)
	}
	return list
}

// wantOutcome maps the words of the truth files (trace.md section 7).
var wantOutcome = map[string][2]string{
	"complete":           {"ok", ""},
	"error_status":       {"http_error", ""},
	"client_disconnect":  {"client_abort", "recorded"},
	"server_disconnect":  {"server_abort", "fin|rst"},
	"in_flight_at_start": {"cut_by_capture", "late_join"},
	"in_flight_at_end":   {"cut_by_capture", "recorder_stop"},
	"truncated_capture":  {"cut_by_capture", "gap"},
}

func TestCaptures(t *testing.T) {
	files, err := filepath.Glob("testdata/captures/*.truth.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".truth.jsonl")
		t.Run(name, func(t *testing.T) {
			path := strings.TrimSuffix(file, ".truth.jsonl") + ".pcap"
			if _, err := os.Stat(path); err != nil {
				path += "ng"
			}
			got, _ := record(t, Config{KeepText: true, KeyLog: keyLogOf(t, path)}, path)
			compareCapture(t, got.list, readTruth(t, file))
		})
	}
}

// keyLogOf reads the key log beside a capture; nil if it has none.
func keyLogOf(tb testing.TB, capture string) *KeyLog {
	tb.Helper()
	k, err := OpenKeyLog(strings.TrimSuffix(capture, filepath.Ext(capture)) + ".keylog")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		tb.Fatal(err)
	}
	return k
}

// compareCapture pairs by the client's port and the order on it.
func compareCapture(t *testing.T, got []*trace.Exchange, want []*truth) {
	byPort := map[[2]int32][]*trace.Exchange{}
	slices.SortFunc(got, func(a, b *trace.Exchange) int { return int(a.Ordinal) - int(b.Ordinal) })
	for _, x := range got {
		key := [2]int32{*x.Record.ClientPort, x.Record.ServerPort}
		byPort[key] = append(byPort[key], x)
	}
	rows := slices.DeleteFunc(slices.Clone(want), func(w *truth) bool { return w.Outcome == "connect_refused" })
	slices.SortStableFunc(rows, func(a, b *truth) int { return int(min(max(a.at()-b.at(), -1), 1)) })
	if len(got) != len(rows) {
		t.Errorf("exchanges: got %d, want %d", len(got), len(rows))
	}
	for _, w := range rows {
		key := [2]int32{*w.ClientPort, w.ServerPort}
		if len(byPort[key]) == 0 {
			t.Errorf("%s: no exchange on client port %d", w.ID, *w.ClientPort)
			continue
		}
		x := byPort[key][0]
		byPort[key] = byPort[key][1:]
		t.Run(w.ID, func(t *testing.T) { compareExchange(t, x, w) })
	}
}

func (w *truth) at() int64 {
	if w.RequestAt != nil {
		return *w.RequestAt
	}
	return 0
}

func compareExchange(t *testing.T, x *trace.Exchange, w *truth) {
	r := x.Record
	w.applyView()
	out := wantOutcome[w.Outcome]
	detail := ""
	if r.OutcomeDetail != nil {
		detail = string(*r.OutcomeDetail)
	}
	if string(r.Outcome) != out[0] || !slices.Contains(strings.Split(out[1], "|"), detail) {
		t.Errorf("outcome: got %s %q, want %s %q", r.Outcome, detail, out[0], out[1])
	}
	if w.Outcome == "in_flight_at_start" {
		if r.StartUnixNs != w.View.First || r.TSentUs != nil || r.StatusCode != nil {
			t.Errorf("joined late: start %d, want %d; sent %v, status %v", r.StartUnixNs, w.View.First, r.TSentUs, r.StatusCode)
		}
		return
	}
	check(t, "status", deref(r.StatusCode), deref(w.Status))
	check(t, "start", r.StartUnixNs, w.at())
	hole := w.View != nil && w.View.Hole
	if !hole {
		check(t, "method", x.Method, w.Method)
		check(t, "target", x.Target, w.Path)
		check(t, "request bytes", r.ReqBodyBytes, w.ReqBytes)
		if !w.PacketsOnly {
			check(t, "request model", x.Said.RequestModel, w.requestModel())
		}
	}
	if w.RespBytes != nil && r.StatusCode != nil {
		compareSizes(t, r, w)
	}
	compareTimes(t, x, w)
	if w.known() {
		compareFamily(t, x, w)
	}
}

// applyView replaces what the client saw by what is in the file.
func (w *truth) applyView() {
	v := w.View
	if v == nil {
		return
	}
	if v.Status != nil || w.Outcome == "in_flight_at_end" {
		w.Status = v.Status
	}
	if v.Events != nil {
		w.Events, w.Chunks = v.Events, v.Chunks
	}
	w.RespBytes = v.RespBytes
	w.DecodedBytes = v.RespBytes
	w.TextSHA, w.Usage, w.Model, w.Finish = "", nil, "", ""
	if v.Text != nil {
		w.TextSHA = *v.Text
	}
}

// known reports whether the exchange is of an API family.
func (w *truth) known() bool { return w.Method == "POST" && w.Family != "other" }

func (w *truth) requestModel() string {
	switch {
	case !w.known():
		return ""
	case w.Family == string(trace.KindGemini): // it stands in the path
		_, rest, _ := strings.Cut(w.Path, "/models/")
		model, _, _ := strings.Cut(rest, ":")
		return model
	default:
		return w.RequestModel
	}
}

func compareSizes(t *testing.T, r *trace.Record, w *truth) {
	if w.Encoding != "" && *w.RespBytes == *w.DecodedBytes {
		check(t, "decoded bytes", r.RespBodyBytes, *w.DecodedBytes)
		return // the client's library decodes by itself: the wire size is not known
	}
	if w.ClosedFirst && w.Encoding != "" {
		return // the client did not read the coding's own end
	}
	check(t, "wire bytes", r.RespWireBytes, *w.RespBytes)
	if w.View == nil {
		check(t, "decoded bytes", r.RespBodyBytes, *w.DecodedBytes)
	}
}

func compareTimes(t *testing.T, x *trace.Exchange, w *truth) {
	r := x.Record
	us := func(at *int64) int64 { return (*at - r.StartUnixNs) / 1000 }
	if w.FirstAt != nil && w.LastContentAt != nil && r.APIKind != trace.KindOther {
		check(t, "first content", firstText(r), us(w.FirstAt))
		check(t, "last content", lastText(r), us(w.LastContentAt))
	}
	if w.LastAt != nil && r.TEndUs != nil {
		check(t, "end", *r.TEndUs, us(w.LastAt))
	}
}

// firstText and lastText are the times of the first and last chunk of text;
// -1 = none.
func firstText(r *trace.Record) int64 {
	at := int64(0)
	for _, c := range r.Chunks {
		at += c.GapUs
		if c.Kind == trace.ChunkText {
			return at
		}
	}
	return -1
}

func lastText(r *trace.Record) int64 {
	at, last := int64(0), int64(-1)
	for _, c := range r.Chunks {
		at += c.GapUs
		if c.Kind == trace.ChunkText {
			last = at
		}
	}
	return last
}

func compareFamily(t *testing.T, x *trace.Exchange, w *truth) {
	r := x.Record
	if w.View == nil || !w.View.Hole {
		check(t, "api kind", string(r.APIKind), w.Family)
	}
	if w.Usage != nil {
		input := r.InputTokens
		if r.APIKind == trace.KindAnthropicMessages { // the truth leaves the cached ones out
			input = r.RawInputTokens
			check(t, "input tokens with cached ones", deref(r.InputTokens), fmt.Sprint(*w.Usage.Prompt+w.UsageRaw.Read+w.UsageRaw.Written))
		}
		check(t, "input tokens", deref(input), deref(w.Usage.Prompt))
		check(t, "output tokens", deref(r.OutputTokens), deref(w.Usage.Completion))
	}
	if w.Model != "" {
		check(t, "model", x.Said.ResponseModel, w.Model)
	}
	if w.Finish != "" && !slices.Contains(x.Said.FinishReasons, w.Finish) {
		t.Errorf("finish reasons: got %q, want %q in them", x.Said.FinishReasons, w.Finish)
	}
	if w.Events != nil {
		check(t, "events", deref(r.EventCount), deref(w.Events))
		check(t, "text chunks", countKind(r, trace.ChunkText), *w.Chunks)
		if w.ToolChunks != nil {
			check(t, "tool chunks", countKind(r, trace.ChunkToolArgs), *w.ToolChunks)
		}
	}
	compareText(t, x, w)
}

func compareText(t *testing.T, x *trace.Exchange, w *truth) {
	byChoice := map[string][]byte{}
	for _, a := range x.Answer {
		if a.Kind == trace.ChunkText {
			key := fmt.Sprint(a.Choice)
			byChoice[key] = append(byChoice[key], a.Text...)
		}
	}
	for choice, sum := range w.ChoiceSHA {
		check(t, "text of choice "+choice, sha(byChoice[choice]), sum)
	}
	if w.TextSHA != "" && len(w.ChoiceSHA) == 0 && x.Record.StatusCode != nil && *x.Record.StatusCode < 400 {
		check(t, "text", sha(byChoice["0"]), w.TextSHA)
	}
}

func countKind(r *trace.Record, kind trace.ChunkKind) int32 {
	n := int32(0)
	for _, c := range r.Chunks {
		if c.Kind == kind {
			n++
		}
	}
	return n
}

func sha(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func check[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func deref[T any](p *T) string {
	if p == nil {
		return "NULL"
	}
	return fmt.Sprint(*p)
}

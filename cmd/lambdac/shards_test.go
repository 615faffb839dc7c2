package main

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
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

// unevenStub streams ten tokens, the first after 10 to 200 ms, which the prompt
// decides.
func unevenStub(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"data":[]}`)
		return
	}
	body, _ := io.ReadAll(r.Body)
	hash := fnv.New32a()
	_, _ = hash.Write(body)
	w.Header().Set("Content-Type", "text/event-stream")
	time.Sleep(time.Duration(10+hash.Sum32()%191) * time.Millisecond)
	for range 10 {
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}`+"\n\n")
		w.(http.Flusher).Flush()
	}
	fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":10}}`+"\n\ndata: [DONE]\n\n")
}

// writeShortChats writes a trace of streamed chats of 20 and 8 tokens.
func writeShortChats(t *testing.T, dir string, n int, gap time.Duration) {
	t.Helper()
	seal := &trace.Seal{Mode: trace.ModeShape, Version: "1"}
	w, err := tracedir.Create(dir, &trace.Manifest{TraceID: "chats", Seal: seal, Clean: true}, tracedir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := &trace.Record{Identity: trace.Identity{RequestID: fmt.Sprint("r", i), Origin: trace.OriginCapture}}
		r.StartUnixNs, r.ArrivalResolutionNs = int64(time.Duration(i)*gap), 1
		r.APIKind, r.Stream, r.RequestModel, r.Method = trace.KindOpenAIChat, true, new("m"), "POST"
		r.PathTemplate = "/v1/chat/completions"
		r.Messages = []trace.Message{{Role: trace.RoleUser, Bytes: 80}}
		r.InputTokens, r.OutputTokens, r.TokenSource = new(int64(20)), new(int64(8)), trace.TokensUsage
		r.Outcome, r.SanitizerMode, r.SanitizerVersion = trace.OutcomeOK, seal.Mode, seal.Version
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// sentRow is a request of a run: which, of what level, due when after the
// level's start.
type sentRow struct {
	level int32
	id    string
	due   time.Duration
}

// TestEightProcesses replays one trace by one process and by eight that start
// together, and merges: the same requests are due at the same times, and no row
// of the eight is changed, missing or there twice. Were one of the eight killed,
// the merged run is invalid. The long form compares what they measured, too.
func TestEightProcesses(t *testing.T) {
	testenv.Long(t)
	_, _ = eightProcesses(t, 2*time.Second)
}

// TestCalibrateEightProcesses compares the times to the first token as well:
// two-sample Kolmogorov-Smirnov at 1e-6 for each level.
func TestCalibrateEightProcesses(t *testing.T) {
	testenv.Calibration(t)
	whole, merged := eightProcesses(t, 20*time.Second)
	for level := range int32(2) {
		a, b := ttftsOf(whole, level), ttftsOf(merged, level)
		n, m := float64(len(a)), float64(len(b))
		// P(D > d) < 2 exp(-2 d² nm/(n+m)) (Smirnov's limit).
		limit := math.Sqrt(-math.Log(1e-6/2) / 2 * (n + m) / (n * m))
		d := smirnov(a, b)
		t.Logf("level %d: %v and %v requests, D = %.4f, limit %.4f; medians %v, %v, p99 %v, %v", level, n, m, d, limit,
			a[len(a)/2], b[len(b)/2], a[len(a)*99/100], b[len(b)*99/100])
		if d > limit {
			t.Errorf("level %d: times to the first token are of two laws", level)
		}
	}
}

func eightProcesses(t *testing.T, hold time.Duration) (whole, merged map[sentRow]time.Duration) {
	t.Helper()
	target := httptest.NewServer(http.HandlerFunc(unevenStub))
	defer target.Close()
	lambdac, dir := buildBinary(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	writeShortChats(t, in("trace"), 600, 20*time.Millisecond)
	replay := func(out string, more ...string) *exec.Cmd {
		args := []string{"replay", in("trace"), "--target", target.URL, "--levels", "40,90", "--hold", hold.String(), "--drain", "2s", "--max-lag", "1m", "--quiet", "-o", in(out)}
		return exec.Command(lambdac, append(args, more...)...)
	}
	start := time.Now().Add(20 * time.Second) // longer than nine processes take to begin
	var shards []string
	var all []*exec.Cmd
	for i := range 9 { // the ninth is the eighth again, and dies
		name, shard := fmt.Sprint("s", i+1), fmt.Sprintf("%d/8", min(i+1, 8))
		shards = append(shards, in(name))
		cmd := replay(name, "--shard", shard, "--start-at", start.Format(time.RFC3339Nano))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	if said, err := replay("whole").CombinedOutput(); err != nil {
		t.Fatalf("one process: %v\n%s", err, said)
	}
	time.Sleep(time.Until(start.Add(hold / 2)))
	_ = all[8].Process.Kill()
	for i, cmd := range all {
		if err := cmd.Wait(); (err != nil) != (i == 8) {
			t.Fatalf("process %d: %v", i+1, err)
		}
	}
	if said, err := exec.Command(lambdac, slices.Concat([]string{"merge"}, shards[:8], []string{"-o", in("merged")})...).CombinedOutput(); err != nil {
		t.Fatalf("merge: %v\n%s", err, said)
	}
	whole, merged = sentRows(t, in("whole")), sentRows(t, in("merged"))
	if d := cmp.Diff(slices.SortedFunc(maps.Keys(whole), bySent), slices.SortedFunc(maps.Keys(merged), bySent), cmp.AllowUnexported(sentRow{})); d != "" {
		t.Errorf("requests of one process (-) and of eight (+): %s", d)
	}
	parts := make(map[sentRow]time.Duration)
	for _, shard := range shards[:8] {
		maps.Copy(parts, sentRows(t, shard))
	}
	if d := cmp.Diff(parts, merged, cmp.AllowUnexported(sentRow{})); d != "" {
		t.Errorf("rows of the eight (-) and of the merged run (+): %s", d)
	}
	died := slices.Concat([]string{"merge"}, shards[:7], shards[8:], []string{"-o", in("died")})
	said, _ := exec.Command(lambdac, died...).CombinedOutput()
	if !bytes.Contains(said, []byte("shard 8/8 was killed")) && !strings.Contains(string(said), "shard 8/8 has 0 of 2 levels") {
		t.Errorf("one was killed, and merge says:\n%s", said)
	}
	return whole, merged
}

// sentRows reads a run: each request once, with its time to the first token.
func sentRows(t *testing.T, run string) map[sentRow]time.Duration {
	t.Helper()
	dir, err := tracedir.Open(run)
	if err != nil {
		t.Fatal(err)
	}
	levels, err := dir.Levels()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[sentRow]time.Duration)
	for r, err := range tracedir.Rows[trace.Record](dir) {
		if err != nil {
			t.Fatal(err)
		}
		row := sentRow{*r.Level, r.RequestID, time.Duration(r.StartUnixNs - levels[*r.Level].StartUnixNs)}
		ttft, ok := r.TTFTUser()
		if _, twice := out[row]; twice || !ok {
			t.Errorf("%s: %+v: twice %v, first token %v", run, row, twice, ok)
		}
		out[row] = ttft
	}
	return out
}

func bySent(a, b sentRow) int {
	return strings.Compare(fmt.Sprintf("%d %020d %s", a.level, a.due, a.id), fmt.Sprintf("%d %020d %s", b.level, b.due, b.id))
}

func ttftsOf(rows map[sentRow]time.Duration, level int32) (out []time.Duration) {
	for row, ttft := range rows {
		if row.level == level {
			out = append(out, ttft)
		}
	}
	slices.Sort(out)
	return out
}

// smirnov is the greatest distance of the distributions of two sorted samples.
func smirnov(a, b []time.Duration) (d float64) {
	for _, at := range slices.Concat(a, b) {
		below := func(s []time.Duration) float64 {
			i, _ := slices.BinarySearch(s, at+1)
			return float64(i) / float64(len(s))
		}
		d = max(d, math.Abs(below(a)-below(b)))
	}
	return d
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// TestScale: what show and analyze take of a run of 20,000 rows. The long form
// is TestCalibrateScale.
func TestScale(t *testing.T) {
	testenv.Long(t)
	readWhole(t, 20_000, 1)
}

// TestCalibrateScale reads 10 million rows: 625,000 that are written once, and
// whose files have sixteen names.
func TestCalibrateScale(t *testing.T) {
	testenv.Calibration(t)
	readWhole(t, 625_000, 16)
}

// readWhole writes a run of 16 loads and has it shown and analyzed: every row
// is counted, and no process takes more than 1 GiB. Times are logged.
func readWhole(t *testing.T, written, copies int) {
	const limit = 1 << 30
	const loads = 16
	run := filepath.Join(t.TempDir(), "run")
	writeLargeRun(t, run, loads, 1, written/loads, copies)
	rows := written / loads * loads * copies
	binary := buildBinary(t)
	for _, args := range [][]string{{"show", run, "--json"}, {"analyze", run, "--json", "--quiet", "--slo", "error_rate 2%"}} {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		start := time.Now()
		text, err := cmd.Output()
		if err != nil && cmd.ProcessState.ExitCode() != exitInvalid {
			t.Fatalf("%s: %v", args[0], withStderr(err))
		}
		took := time.Since(start)
		usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		t.Logf("%s of %d rows: %.1f s, %.1f s of CPU, %d MiB", args[0], rows, took.Seconds(), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), usage.Maxrss>>10)
		if peak := usage.Maxrss << 10; peak > limit {
			t.Errorf("%s took %d MiB", args[0], peak>>20)
		}
		if n := countedIn(t, text); n != int64(rows) {
			t.Errorf("%s counts %d rows of %d", args[0], n, rows)
		}
	}
}

// countedIn is the number of requests of a summary or an analysis.
func countedIn(t *testing.T, text []byte) int64 {
	var doc struct {
		Exchanges int64
		Levels    []struct{ Requests int64 }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, l := range doc.Levels {
		doc.Exchanges += l.Requests
	}
	return doc.Exchanges
}

// writeLargeRun writes a run of a server that refuses what is beyond 100/s, each
// load some times over, whose rows are each there a number of times.
func writeLargeRun(t testing.TB, path string, loads, replicates, perLevel, copies int) {
	w, err := tracedir.Create(path, &trace.Manifest{
		Version: "test", Origin: trace.OriginReplay, TimeBase: trace.TimeUnix, Clean: true,
		Seal: &trace.Seal{Mode: trace.ModeShape, Version: "test"},
		Run:  &trace.Run{Loop: "open", Scaling: "superpose", Validity: trace.Validity{Verdict: trace.Valid}},
	}, tracedir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var levels []trace.Level
	at := int64(1_700_000_000e9)
	for i := range loads * replicates {
		perS := 40 + 8*float64(i%loads)
		window := int64(float64(perLevel*copies) / perS * 1e9)
		levels = append(levels, trace.Level{
			Index: int32(i), Order: int32(i), Replicate: int32(i / loads), OfferedPerS: perS, AchievedPerS: perS,
			BeginUnixNs: at, StartUnixNs: at, EndUnixNs: at + window, Scheduled: int64(perLevel * copies), Outcomes: map[trace.Outcome]int64{},
		})
		for k := range perLevel {
			if err := w.Write(largeRecord(int32(i), k, perS, at+window*int64(k)/int64(perLevel))); err != nil {
				t.Fatal(err)
			}
		}
		at += window + 10e9
	}
	if err := w.SetLevels(levels); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	parts, err := filepath.Glob(filepath.Join(path, "requests", "part-local-*.parquet"))
	if err != nil || len(parts) == 0 {
		t.Fatalf("parts %q: %v", parts, err)
	}
	for i := range len(parts) * (copies - 1) {
		name := fmt.Sprintf("part-local-%09d-%09d.parquet", 1000+i, 1000+i)
		if err := os.Link(parts[i%len(parts)], filepath.Join(filepath.Dir(parts[0]), name)); err != nil {
			t.Fatal(err)
		}
	}
}

// largeRecord is one of many: a chat with a session, a tenant and a prefix.
func largeRecord(level int32, k int, perS float64, start int64) *trace.Record {
	r := new(trace.Record)
	r.RequestID, r.Level, r.StartUnixNs, r.SampledWeight = fmt.Sprintf("%02d%08d", level, k), &level, start, 1
	mixed := k * 7919 % 100_003 // no order that would flatter an encoding
	r.APIKind, r.Stream = trace.KindOpenAIChat, true
	r.RequestModel = new("model-" + fmt.Sprint(k%3))
	r.SessionID, r.TenantID = new(fmt.Sprintf("s%d", k/4)), new(fmt.Sprintf("t%d", mixed%50))
	r.PrefixBlockSize, r.PrefixBlockUnit = new(int32(16)), new(trace.UnitToken)
	for b := range int64(8) {
		r.PrefixBlockIDs = append(r.PrefixBlockIDs, int64(k/4)*8+b)
	}
	r.InputTokens, r.TSentUs = new(int64(100+mixed%900)), new(int64(mixed%300))
	if float64(mixed)/100_003 < 1-100/perS || mixed%100 == 0 {
		r.SetOutcome(trace.OutcomeHTTPError, "")
		r.StatusCode, r.TEndUs = new(int32(429)), new(int64(2000))
		return r
	}
	r.SetOutcome(trace.OutcomeOK, "")
	r.StatusCode, r.OutputTokens = new(int32(200)), new(int64(10+mixed%300))
	r.TFirstTokenUs, r.TEndUs = new(int64(50_000+mixed)), new(int64(1_000_000+10*mixed))
	return r
}

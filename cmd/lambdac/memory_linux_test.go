package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/testenv"
)

// buildBinary builds the program as users run it, without the race detector
// and without tests.
func buildBinary(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "lambdac")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		tb.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// TestMemory: what a recording takes does not grow with its length. The long
// form is TestCalibrateMemory.
func TestMemory(t *testing.T) {
	testenv.Long(t)
	recordFromPipe(t, 100<<20)
}

// TestCalibrateMemory records 2.6 GB.
func TestCalibrateMemory(t *testing.T) {
	testenv.Calibration(t)
	recordFromPipe(t, 2600<<20)
}

// recordFromPipe lets the program record a capture of the given size from a
// pipe with a soft limit of 256 MiB: every exchange is counted, and the
// process never takes more than 400 MiB.
func recordFromPipe(t *testing.T, size int64) {
	const limit = 400 << 20
	cmd := exec.CommandContext(t.Context(), buildBinary(t), "record", "--pcap", "-", "-o", filepath.Join(t.TempDir(), "trace"), "--json", "--quiet")
	cmd.Env = append(os.Environ(), "GOMEMLIMIT=256MiB")
	var sent chatTotals
	in, out := io.Pipe()
	go func() {
		var err error
		sent, err = writeChats(out, size)
		_ = out.CloseWithError(err)
	}()
	cmd.Stdin = in
	start := time.Now()
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("record: %v", withStderr(err))
	}
	// Maxrss is what /proc/PID/status calls VmHWM, in kB; where this process
	// was larger when it forked, it is that.
	peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	took, cpu := time.Since(start), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	t.Logf("%+v in %.1f s, %.0f packets/core-s, peak %d MiB", sent, took.Seconds(), float64(sent.Packets)/cpu.Seconds(), peak>>20)
	if peak > limit {
		t.Errorf("peak of %d MiB, want at most %d", peak>>20, limit>>20)
	}
	var got struct {
		Exchanges int64            `json:"exchanges"`
		Outcomes  map[string]int64 `json:"outcomes"`
		Bytes     struct {
			Lost int64 `json:"lost"`
		} `json:"bytes"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Exchanges != sent.Exchanges || got.Outcomes["ok"] != sent.Exchanges || got.Bytes.Lost != 0 {
		t.Errorf("recorded %+v, sent %d exchanges", got, sent.Exchanges)
	}
}

func withStderr(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return err
}

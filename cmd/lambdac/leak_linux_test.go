package main

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/leaktest"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// planted are the secrets in the traffic of a capture.
func planted(t *testing.T) (needles [][]byte) {
	t.Helper()
	files, err := filepath.Glob("../../recorder/testdata/captures/*planted*.t*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			value := strings.TrimSpace(line[strings.LastIndexByte(line, '\t')+1:])
			if len(value) >= 8 {
				needles = append(needles, []byte(value))
			}
		}
	}
	if len(needles) < 50 {
		t.Fatalf("%d planted values", len(needles))
	}
	return needles
}

// A recording that is killed at any moment leaves nothing that was not
// sanitized: not in its parts, nor in what it had begun to write, nor in what
// it said.
func TestKilledRecordingLeavesNoPlantedValue(t *testing.T) {
	testenv.Long(t)
	capture, err := os.ReadFile("../../recorder/testdata/captures/d-8-concurrent-streams.pcap")
	if err != nil {
		t.Fatal(err)
	}
	binary, needles := buildBinary(t), planted(t)
	r := rand.New(rand.NewPCG(8, 9))
	var wg sync.WaitGroup
	var mu sync.Mutex
	parts := 0
	for i := range 6 {
		mode := []trace.Mode{trace.ModeShape, trace.ModeFiller, trace.ModeRedact}[i%3]
		size, after := len(capture)*(i+1)/6, time.Duration(r.IntN(2500))*time.Millisecond
		root := t.TempDir()
		wg.Go(func() {
			said := killedRecording(t, binary, root, mode, capture[:size], after)
			hits, err := leaktest.Find(root, needles)
			if err != nil {
				t.Error(err)
			}
			for _, hit := range hits {
				t.Errorf("%s, %d bytes, killed after %v: %s", mode, size, after, hit)
			}
			for n, needle := range needles {
				if bytes.Contains(said, needle) {
					t.Errorf("%s: a message holds needle %d", mode, n)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			parts += countParts(t, filepath.Join(root, "trace"))
		})
	}
	wg.Wait()
	if parts == 0 {
		t.Error("no recording lived to write a part: the test shows nothing")
	}
}

// killedRecording records from a pipe that stays open, until it is killed.
func killedRecording(t *testing.T, binary, root string, mode trace.Mode, capture []byte, after time.Duration) (said []byte) {
	cmd := exec.Command(binary, "record", "--pcap", "-", "--mode", string(mode), "-o", filepath.Join(root, "trace"))
	cmd.Dir = root
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Error(err)
		return nil
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return nil
	}
	kill := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	if _, err := in.Write(capture); err != nil && !errors.Is(err, syscall.EPIPE) {
		t.Error(err)
	}
	err = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Errorf("it was not killed: %v", err)
	}
	return out.Bytes()
}

// empty reports whether a folder holds no finished file.
func empty(t *testing.T, dir string) bool {
	finished := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && filepath.Ext(path) != ".tmp" {
			finished++
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return finished == 0
}

// countParts opens what is left of a trace, which must be readable, and counts
// its files.
func countParts(t *testing.T, dir string) (n int) {
	d, err := tracedir.Open(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, trace.ErrUnsanitized) && empty(t, dir) {
		return 0 // it was killed before it began
	}
	if err != nil {
		t.Error(err)
		return 0
	}
	for _, err := range tracedir.Rows[trace.Record](d) {
		if err != nil {
			t.Error(err)
			return n
		}
		n++
	}
	return n
}

// On a full disk a recording ends with what it could write, and neither that
// nor its messages hold a secret.
func TestFullDiskLeavesNoPlantedValue(t *testing.T) {
	testenv.Root(t)
	binary, needles := buildBinary(t), planted(t)
	for _, mode := range []trace.Mode{trace.ModeShape, trace.ModeFiller, trace.ModeRedact} {
		root := t.TempDir()
		if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=32k"); err != nil {
			testenv.Missing(t, "permission to mount a tmpfs", "run the test with CAP_SYS_ADMIN")
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(root, 0); err != nil {
				t.Error(err)
			}
		})
		cmd := exec.Command(binary, "record", "--pcap", "../../recorder/testdata/captures/d-8-concurrent-streams.pcap", "--mode", string(mode), "-o", filepath.Join(root, "trace"))
		said, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != exitInvalid || !strings.Contains(string(said), "no space left on device") {
			t.Errorf("%s: exit %d: %s", mode, cmd.ProcessState.ExitCode(), said)
		}
		hits, err := leaktest.Find(root, needles)
		if err != nil || len(hits) > 0 {
			t.Errorf("%s: %v %v", mode, hits, err)
		}
		for n, needle := range needles {
			if bytes.Contains(said, needle) {
				t.Errorf("%s: a message holds needle %d", mode, n)
			}
		}
	}
}

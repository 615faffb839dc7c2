package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A process that records, is told to leave a core and crashes, leaves none:
// its memory has the secrets in it.
func TestNoCoreDump(t *testing.T) {
	data, err := os.ReadFile("../../recorder/testdata/captures/a-openai-python-chat.pcap")
	if err != nil {
		t.Fatal(err)
	}
	binary, dir := buildBinary(t), t.TempDir()
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd := exec.Command(binary, "record", "--pcap", "-", "-o", filepath.Join(dir, "trace"))
	cmd.Dir, cmd.Stdin = dir, in
	cmd.Env = append(os.Environ(), "GOTRACEBACK=crash")
	messages, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_CORE, nil, &limit); err == nil {
		limit.Cur = limit.Max
		_ = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_CORE, &limit, nil)
	}
	if _, err := w.Write(data[:30000]); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(messages)
	if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, "recording from") {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	crash, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() || status.CoreDump() {
		t.Errorf("ended by %v, core %v; want a signal and no core", status.Signal(), status.CoreDump())
	}
	if bytes.Contains(crash, []byte("planted")) {
		t.Error("the crash report holds captured text")
	}
	err = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if text, err := os.ReadFile(path); err != nil || bytes.Contains(text, []byte("sk-planted")) {
			t.Errorf("%s holds captured text (%v)", path, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

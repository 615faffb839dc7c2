//go:build amd64 || arm64

package main

import (
	"bufio"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/testenv"
)

// TestDoctorProcess: a program that listens is listed with its port and its
// kind of TLS, and nothing of how it was started is told.
func TestDoctorProcess(t *testing.T) {
	testenv.Root(t)
	cmd := exec.Command(buildBinary(t), "sim", "--listen", "127.0.0.1:0", "--preset", "demo")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(strings.TrimSpace(strings.TrimPrefix(line, "listening ")))
	if err != nil {
		t.Fatal(err)
	}
	r, _ := runDoctor(t, "--port", at.Port())
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		t.Fatal(err)
	}
	want := []doctorProcess{{
		PID: cmd.Process.Pid, Comm: "lambdac", Ports: []int{port},
		TLS: []doctorTLS{{Kind: "go", Covered: true}}, Notes: []string{},
	}}
	if diff := cmp.Diff(want, r.Processes); diff != "" {
		t.Error(diff)
	}
}

// TestDoctorPrograms: each program is listed with its size, and root may load
// them all on the kernel that runs this.
func TestDoctorPrograms(t *testing.T) {
	testenv.Root(t)
	r, code := runDoctor(t)
	if code != exitOK {
		t.Errorf("exit %d", code)
	}
	if len(r.Programs) == 0 || r.Rings.DataBytes != 64<<20 {
		t.Errorf("%d programs, %+v", len(r.Programs), r.Rings)
	}
	if slices.ContainsFunc(r.Programs, func(p doctorProgram) bool { return p.Instructions > bpf.MaxInstructions }) {
		t.Errorf("too large: %+v", r.Programs)
	}
}

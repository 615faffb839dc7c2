//go:build amd64 || arm64

package bpf

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/lambdac/lambdac/internal/testenv"
)

// holderVar makes the test binary a process that loads the programs, prints
// their ids, and waits; or, with "serve", a server.
const holderVar = "LAMBDAC_TEST_HOLD"

func TestMain(m *testing.M) {
	switch os.Getenv(holderVar) {
	case "":
		os.Exit(m.Run())
	case "serve":
		serveEcho()
	}
	k, err := Load(Options{Ports: []int{1}})
	if err != nil {
		panic(err)
	}
	ids, err := k.programIDs()
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.Trim(fmt.Sprint(ids), "[]"))
	select {}
}

func (k *Kernel) programIDs() ([]ebpf.ProgramID, error) {
	var ids []ebpf.ProgramID
	for _, p := range k.coll.Programs {
		info, err := p.Info()
		if err != nil {
			return nil, err
		}
		id, ok := info.ID()
		if !ok {
			return nil, errors.New("a program has no id")
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func loadHere(t *testing.T, o Options) *Kernel {
	t.Helper()
	testenv.Root(t)
	k, err := Load(o)
	if refused := (*ebpf.VerifierError)(nil); errors.As(err, &refused) {
		t.Fatal(err) // which may be a matter of permission too, to the kernel
	}
	if errors.Is(err, ebpf.ErrNotSupported) || errors.Is(err, fs.ErrPermission) {
		testenv.Missing(t, "eBPF", "run on a kernel from 6.1 on that allows BPF programs: "+err.Error())
	}
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return k
}

// waitUnloaded waits until the kernel knows none of the programs.
func waitUnloaded(t *testing.T, ids []ebpf.ProgramID) {
	t.Helper()
	for range 1000 {
		left := 0
		for _, id := range ids {
			p, err := ebpf.NewProgramFromID(id)
			if err == nil {
				p.Close()
				left++
			} else if !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		if left == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("programs are still loaded")
}

// TestNothingLeft: after Close, and after kill -9, no program is loaded.
func TestNothingLeft(t *testing.T) {
	k := loadHere(t, Options{Ports: []int{8000}})
	ids, err := k.programIDs()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	waitUnloaded(t, ids)

	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderVar+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if killed := cmd.Process.Kill(); err != nil || killed != nil {
		t.Fatal(err, killed)
	}
	_ = cmd.Wait() // killed
	ids = nil
	for word := range strings.FieldsSeq(line) {
		var id ebpf.ProgramID
		if _, err := fmt.Sscan(word, &id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if len(ids) < 5 {
		t.Fatalf("programs %q", line)
	}
	waitUnloaded(t, ids)
}

// TestOptions: what cannot be is refused before anything is loaded.
func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"ring over 1 GiB": {RingBytes: 1<<30 + 1},
		"ring below 0":    {RingBytes: -1},
		"many ports":      {Ports: make([]int, 257)},
		"long path":       {Paths: []string{strings.Repeat("p", 108)}},
		"long comm":       {Comms: []string{strings.Repeat("c", 16)}},
	} {
		if k, err := Load(o); err == nil {
			t.Errorf("%s: loaded", name)
			k.Close()
		}
	}
	for _, row := range [][3]int{{0, 64 << 20, 64 << 20}, {1, 0, 1 << 16}, {70000, 0, 1 << 17}, {1 << 20, 0, 1 << 20}} {
		if got := ringSize(row[0], row[1]); got != uint32(row[2]) {
			t.Errorf("ringSize(%d, %d) = %d, want %d", row[0], row[1], got, row[2])
		}
	}
}

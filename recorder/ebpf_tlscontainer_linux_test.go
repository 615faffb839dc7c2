//go:build amd64 || arm64

package recorder

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/testenv"
)

// inContainer runs the peer as a container does: below a root that is a file
// system in layers, as process 1 of a namespace of its own.
func inContainer(t *testing.T, root, peer, cert, key string, port int) *exec.Cmd {
	t.Helper()
	inside := inRoot(t, root, peer, cert, key, port)
	layers := t.TempDir()
	script := fmt.Sprintf(`set -e
mount -t tmpfs none %[2]s
mkdir %[2]s/upper %[2]s/work %[2]s/merged
mount -t overlay none -o lowerdir=%[1]s,upperdir=%[2]s/upper,workdir=%[2]s/work %[2]s/merged
exec chroot %[2]s/merged "$@"`, root, layers)
	args := append([]string{"--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh"}, inside.Args[2:]...)
	return exec.Command(testenv.Command(t, "unshare"), args...)
}

// TestTLSInContainers: two containers from one image, of which one began before
// the recording; the library's file is the same in both, and each has a process
// with the same number within.
func TestTLSInContainers(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	peer := buildPeer(t)
	root := privateRoot(t, peer)
	var ports []int
	var addrs []string
	start := func() {
		port := ports[len(addrs)]
		cmd := inContainer(t, root, peer, cert, key, port)
		addrs = append(addrs, startListening(t, cmd, port))
		t.Cleanup(func() { _ = cmd.Process.Kill() })
	}
	ports = append(ports, freePort(t), freePort(t))
	start()
	src := openEBPF(t, bpf.Options{Ports: ports, Nested: true})
	follower := src.(*ebpfSource).tls.(*tlsFollower)
	r := startRecording(t, src, Config{KeepText: true})
	start()
	getOnce(t, addrs[1], "/warm") // whether it is seen is a matter of milliseconds
	until(t, "both processes are covered", func() bool {
		follower.mu.Lock()
		defer follower.mu.Unlock()
		n := 0
		for pid, p := range follower.processes {
			if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && strings.HasSuffix(exe, peer) && p.covered {
				n++
			}
		}
		return n == 2
	})
	for i, addr := range addrs {
		for j := range 3 {
			getOnce(t, addr, fmt.Sprintf("/%d/%d", i, j))
		}
	}
	got, rep := r.stop()
	seen := make(map[string]string)
	for _, x := range got.list {
		if x.Record.TLS && x.Record.RespComplete {
			seen[x.Target] = fmt.Sprint(string(x.RespBody), " ", x.Server.Port())
		}
	}
	for i, port := range ports {
		for j := range 3 {
			target := fmt.Sprintf("/%d/%d", i, j)
			if want := fmt.Sprint(target, " ", port); seen[target] != want {
				t.Errorf("%s: got %q, want %q: %v", target, seen[target], want, rep.Warnings)
			}
		}
	}
	if n := len(seen); n != 6 && (n != 7 || seen["/warm"] == "") {
		t.Errorf("exchanges %v", seen)
	}
}

//go:build amd64 || arm64

package recorder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/internal/tlslib"
)

// privateRoot is a folder to change the root to, with a program and its
// libraries, as a container has them: files of their own.
func privateRoot(t *testing.T, program string) string {
	t.Helper()
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("ldd", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	files := []string{program}
	for field := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(field, "/") {
			files = append(files, field)
		}
	}
	root := t.TempDir()
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// buildPeer compiles the server in testdata against the system's OpenSSL.
func buildPeer(t *testing.T) string {
	t.Helper()
	lib := ""
	out, err := exec.Command("ldd", testenv.Command(t, "openssl")).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 2 && strings.HasPrefix(fields[0], "libssl.") {
			lib = fields[2]
		}
	}
	if lib == "" {
		testenv.Missing(t, "OpenSSL's library", "install openssl")
	}
	peer := filepath.Join(t.TempDir(), "tlspeer")
	msg, err := exec.Command(testenv.Command(t, "cc"), "-o", peer, "testdata/tlspeer/server.c", lib).CombinedOutput()
	if err != nil {
		t.Fatalf("compile: %v\n%s", err, msg)
	}
	return peer
}

// inRoot runs the peer below a root of its own.
func inRoot(t *testing.T, root, peer, cert, key string, port int) *exec.Cmd {
	t.Helper()
	for _, file := range []string{cert, key} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, filepath.Base(file)), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return exec.Command("chroot", root, peer, fmt.Sprint(port), "/"+filepath.Base(cert), "/"+filepath.Base(key))
}

// getOnce asks once over a connection of its own.
func getOnce(t *testing.T, addr, path string) {
	t.Helper()
	c := tlsClient(t)
	defer c.CloseIdleConnections()
	resp, err := c.Get("https://" + addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != path {
		t.Fatalf("%q, %v", b, err)
	}
}

// Processes come and go while it is recorded: with libraries that were there,
// with libraries of their own below a root of their own, and for a moment only
// (case 23).
func TestTLSProcessesComeAndGo(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	peer := buildPeer(t)
	root := privateRoot(t, peer)
	port := freePort(t)
	src := openTLS(t, bpf.Options{Ports: []int{port}})
	src.follower.mu.Lock()
	src.follower.keep = 0
	src.follower.mu.Unlock()
	private := func() int { // which files these are can be told by their place alone
		return src.follower.probed(func(_ tlslib.FileID, f *probedFile) bool { return strings.HasPrefix(f.path, root) })
	}
	r := startRecording(t, src, Config{KeepText: true})
	const rounds = 3
	for i := range rounds {
		t.Run(fmt.Sprint("round ", i), func(t *testing.T) {
			addr := startListening(t, inRoot(t, root, peer, cert, key, port), port)
			until(t, "the libraries have probes", func() bool { return private() == 2 })
			getOnce(t, addr, fmt.Sprint("/round/", i))
		})
		if i == 0 {
			continue // the files are used again at once
		}
		until(t, "the probes are gone with the last process", func() bool { return private() == 0 })
	}
	got, _ := r.stop()
	seen := make(map[string]int)
	for _, x := range got.list {
		if x.Record.TLS && x.Record.RespComplete && string(x.RespBody) == x.Target {
			seen[x.Target]++
		}
	}
	for i := range rounds {
		if target := fmt.Sprint("/round/", i); seen[target] != 1 {
			t.Errorf("%s was recorded %d times", target, seen[target])
		}
	}
	if links := openLinks(t); links != 0 {
		t.Errorf("%d links are left", links)
	}
}

// openLinks counts this process's descriptors of BPF links and programs.
func openLinks(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if strings.Contains(to, "bpf_link") || strings.Contains(to, "bpf-link") || strings.Contains(to, "bpf-prog") {
			n++
		}
	}
	return n
}

// pythonBrief serves one connection and ends.
const pythonBrief = `
import socket, ssl, sys
ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
ctx.load_cert_chain(sys.argv[1], sys.argv[2])
l = socket.create_server(("127.0.0.1", 0))
print("127.0.0.1:%d" % l.getsockname()[1], flush=True)
c = ctx.wrap_socket(l.accept()[0], server_side=True)
target = c.recv(1000).split()[1]
c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(target), target))
c.unwrap()
`

// Of a process that begins while it is recorded and lives for a moment, either
// what it said is recorded, or how much of it was missed. Once the library has
// its probes, what the next ones say is.
func TestTLSBriefProcesses(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	python := testenv.Python(t, "ssl")
	libraries := librariesOf(t, python)
	src := openTLS(t, bpf.Options{Comms: []string{comm(t, python)}})
	r := startRecording(t, src, Config{KeepText: true})
	probed := func() bool {
		return src.follower.probed(func(id tlslib.FileID, _ *probedFile) bool { return slices.Contains(libraries, id) }) == len(libraries)
	}
	n := 0
	brief := func() {
		addr := startProgram(t, exec.Command(python, "-c", pythonBrief, cert, key))
		getOnce(t, addr, fmt.Sprint("/brief/", n))
		n++
	}
	until(t, "the library has probes", func() bool {
		brief() // it may be gone before anybody looks
		return probed()
	})
	missable := n
	brief()
	brief()
	got, rep := r.stop()
	seen := make(map[string]bool)
	for _, x := range got.list {
		seen[x.Target] = x.Record.ReqComplete && x.Record.RespComplete
	}
	missed := slices.ContainsFunc(rep.Source.Warnings, func(w string) bool { return strings.Contains(w, "bytes of TLS were not read") })
	for i := range n {
		if target := fmt.Sprint("/brief/", i); !seen[target] && (i >= missable || !missed) {
			t.Errorf("%s is not recorded whole; all that is: %v; warnings: %q", target, seen, rep.Source.Warnings)
		}
	}
}

// librariesOf are the files that hold a Python's TLS.
func librariesOf(t *testing.T, python string) []tlslib.FileID {
	t.Helper()
	cmd := exec.Command(python, "-c", "import ssl, sys; print('ready', flush=True); sys.stdin.read()")
	startProgram(t, cmd)
	p, err := tlslib.NewScanner("/proc").Process(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	var ids []tlslib.FileID
	for _, file := range p.Files {
		if slices.ContainsFunc(file.TLS, func(im tlslib.Implementation) bool { return im.Reason == "" }) {
			ids = append(ids, file.ID)
		}
	}
	return ids
}

// comm is the name under which a Python runs: that of the link it was begun
// by, or of what the link's script begins.
func comm(t *testing.T, python string) string {
	t.Helper()
	name, err := exec.Command(python, "-c", "print(open('/proc/self/comm').read().strip())").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(name))
}

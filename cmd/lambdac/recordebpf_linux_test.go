//go:build amd64 || arm64

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lambdac/lambdac/internal/testenv"
)

// openTemp is a folder that every user may enter and write to.
func openTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lambdac")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// within is a shell command that runs behind changes to the file system that
// only it sees. In it "$@" is the program.
func within(script, binary string, args ...string) *exec.Cmd {
	cmd := exec.Command("sh", append([]string{"-ec", script + "\nexec \"$@\"", "sh", binary}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return cmd
}

// hideFile puts a file with another content over one.
func hideFile(path, content string) string {
	return fmt.Sprintf("d=$(mktemp -d); printf '%%s\\n' '%s' > $d/f; mount --bind $d/f %s", content, path)
}

// hideDir puts an empty folder over one, if it is there.
func hideDir(path string) string {
	return "if [ -d " + path + " ]; then mount -t tmpfs none " + path + "; fi"
}

// as runs a command as nobody with some capabilities.
func as(cmd *exec.Cmd, caps ...uintptr) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: 65534, Gid: 65534},
		AmbientCaps: caps,
	}
	return cmd
}

// TestRecordEBPF: recordings by eBPF under bad and narrow conditions, as a user
// meets them.
func TestRecordEBPF(t *testing.T) {
	testenv.Root(t)
	binary := filepath.Join(openTemp(t), "lambdac")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	t.Run("refused", func(t *testing.T) { recordRefused(t, binary) })
	t.Run("with little", func(t *testing.T) { recordWithLittle(t, binary) })
	t.Run("target dies", func(t *testing.T) { recordTargetDies(t, binary) })
	t.Run("two signals at once", func(t *testing.T) { recordInterrupted(t, binary) })
	t.Run("disk full", func(t *testing.T) { recordDiskFull(t, binary) })
}

// recordRefused: each thing that keeps eBPF from working on a host is told
// in one line before anything is started, with a remedy in another; exit code
// 3, and no directory is made.
func recordRefused(t *testing.T, binary string) {
	dir := openTemp(t)
	out := filepath.Join(dir, "trace")
	args := []string{"record", "--ebpf", "--port", "8000", "-o", out}
	rows := []struct {
		name        string
		cmd         *exec.Cmd
		error, hint string
	}{
		{"no root", as(exec.Command(binary, args...)), "capabilities: this process lacks CAP_BPF and CAP_PERFMON", "run as root, or grant CAP_BPF and CAP_PERFMON"},
		{"one capability", as(exec.Command(binary, args...), unix.CAP_BPF), "lacks CAP_PERFMON", "grant CAP_PERFMON"},
		{"no BTF", within(hideDir("/sys/kernel/btf"), binary, args...), "btf: the kernel does not describe its types", "CONFIG_DEBUG_INFO_BTF"},
		{"lockdown", within(hideDir("/sys/kernel/security")+"; echo 'none integrity [confidentiality]' > /sys/kernel/security/lockdown", binary, args...), "lockdown: confidentiality", "lockdown=integrity"},
		{"old kernel", within(hideFile("/proc/sys/kernel/osrelease", "5.15.0-91-generic"), binary, args...), "kernel: 5.15.0-91-generic is older than 6.1", "--iface"},
		{"ring too large", within(hideFile("/proc/meminfo", "MemAvailable:     262144 kB"), binary, append(args, "--ring", "512MiB")...), "memory: rings of 512 MiB, and the machine leaves 256 MiB", "smaller ring"},
		{"packets without root", as(exec.Command(binary, "record", "--iface", "lo", "--port", "8000", "-o", out)), "packets: this process lacks CAP_NET_RAW", "run as root, or grant CAP_NET_RAW"},
		{"TLS before 6.6", within(hideFile("/proc/sys/kernel/osrelease", "6.1.0-18-amd64")+"; exec setpriv --bounding-set=-sys_admin \"$@\"", binary, append(args, "--tls")...), "capabilities for TLS: CAP_SYS_ADMIN is missing", "6.6"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var said bytes.Buffer
			row.cmd.Stderr = &said
			row.cmd.Dir = dir
			_ = row.cmd.Run()
			if code := row.cmd.ProcessState.ExitCode(); code != exitUsage {
				t.Errorf("exit code %d", code)
			}
			lines := strings.Split(strings.TrimSpace(said.String()), "\n")
			if len(lines) != 2 || !strings.HasPrefix(lines[0], "lambdac: error: ") || !strings.HasPrefix(lines[1], "lambdac: hint: ") ||
				!strings.Contains(lines[0], row.error) || !strings.Contains(lines[1], row.hint) {
				t.Errorf("said:\n%s", &said)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("a directory was made")
			}
		})
	}
}

// chatServer answers chat completions.
func chatServer(t *testing.T, tls bool) (server *httptest.Server, port string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"chat.completion","model":"m","choices":[{"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
	})
	server = httptest.NewUnstartedServer(mux)
	if tls {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return server, port
}

const chatRequest = `{"model":"m","messages":[{"role":"user","content":"say yes"}]}`

func askChats(t *testing.T, client *http.Client, url string, n int) {
	t.Helper()
	for range n {
		resp, err := client.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(chatRequest))
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// recorderProcess is a lambdac record under way.
type recorderProcess struct {
	t    *testing.T
	cmd  *exec.Cmd
	said *bytes.Buffer
	done chan struct{}
}

// startRecord runs a recording and returns when it has begun.
func startRecord(t *testing.T, cmd *exec.Cmd) *recorderProcess {
	t.Helper()
	r := &recorderProcess{t, cmd, &bytes.Buffer{}, make(chan struct{})}
	messages, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	began := make(chan struct{})
	go func() {
		defer close(r.done)
		b := make([]byte, 4096)
		for first := true; ; {
			n, err := messages.Read(b)
			r.said.Write(b[:n])
			if first && strings.Contains(r.said.String(), "recording from") {
				first = false
				close(began)
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	select {
	case <-began:
	case <-r.done:
		t.Fatalf("the recording did not begin:\n%s", r.said)
	case <-time.After(30 * time.Second):
		t.Fatal("the recording does not begin")
	}
	return r
}

// end stops the recording, unless it has ended, and returns its exit code.
func (r *recorderProcess) end() (code int, said string) {
	r.t.Helper()
	_ = r.cmd.Process.Signal(os.Interrupt)
	select {
	case <-r.done:
	case <-time.After(30 * time.Second):
		r.t.Fatal("the recording does not end")
	}
	_ = r.cmd.Wait()
	return r.cmd.ProcessState.ExitCode(), r.said.String()
}

// exchangesIn counts what is in a trace, as lambdac show has it.
func exchangesIn(t *testing.T, dir string) int {
	t.Helper()
	var out, messages bytes.Buffer
	if code := run([]string{"show", "--json", dir}, strings.NewReader(""), &out, &messages); code != exitOK {
		t.Fatalf("show: exit %d, %s", code, &messages)
	}
	var s struct {
		Exchanges int `json:"exchanges"`
	}
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	return s.Exchanges
}

// recordWithLittle: a user without root records plaintext with two
// capabilities, and TLS of other users' processes with four; root needs no
// tracefs.
func recordWithLittle(t *testing.T, binary string) {
	user := func(caps ...uintptr) func(args ...string) *exec.Cmd {
		return func(args ...string) *exec.Cmd { return as(exec.Command(binary, args...), caps...) }
	}
	for _, row := range []struct {
		name string
		tls  bool
		run  func(args ...string) *exec.Cmd
	}{
		{"CAP_BPF and CAP_PERFMON", false, user(unix.CAP_BPF, unix.CAP_PERFMON)},
		{"TLS", true, user(unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_DAC_READ_SEARCH, unix.CAP_SYS_PTRACE)},
		{"no tracefs", false, func(args ...string) *exec.Cmd {
			return within(hideDir("/sys/kernel/tracing")+"; "+hideDir("/sys/kernel/debug"), binary, args...)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			server, port := chatServer(t, row.tls)
			dir := openTemp(t)
			out := filepath.Join(dir, "trace")
			args := []string{"record", "--ebpf", "--port", port, "-o", out}
			if row.tls {
				args = append(args, "--tls")
			}
			cmd := row.run(args...)
			cmd.Dir = dir
			r := startRecord(t, cmd)
			askChats(t, server.Client(), server.URL, 20)
			code, said := r.end()
			if n := exchangesIn(t, out); code != exitOK || n != 20 {
				t.Errorf("exit %d, %d exchanges:\n%s", code, n, said)
			}
		})
	}
}

// recordTargetDies: the service is killed amid an answer; the recording
// goes on to its end and has what was before.
func recordTargetDies(t *testing.T, binary string) {
	sim := exec.Command(binary, "sim", "--listen", "127.0.0.1:0", "--preset", "demo")
	stdout, err := sim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sim.Wait() }()
	defer func() { _ = sim.Process.Kill() }()
	var url string
	if _, err := fmt.Fscanf(stdout, "listening %s\n", &url); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "trace")
	r := startRecord(t, exec.Command(binary, "record", "--ebpf", "--port", url[strings.LastIndex(url, ":")+1:], "-o", out))
	askChats(t, http.DefaultClient, url, 5)
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(strings.Replace(chatRequest, `{"model"`, `{"stream":true,"max_tokens":100000,"model"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = sim.Process.Kill()
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	code, said := r.end()
	if n := exchangesIn(t, out); code != exitOK || n != 6 {
		t.Errorf("exit %d, %d exchanges:\n%s", code, n, said)
	}
}

// recordInterrupted: timeout(1) sends its signal to the process and to its group;
// that is one signal, and a clean end.
func recordInterrupted(t *testing.T, binary string) {
	server, port := chatServer(t, false)
	out := filepath.Join(t.TempDir(), "trace")
	r := startRecord(t, exec.Command(binary, "record", "--ebpf", "--port", port, "-o", out))
	askChats(t, server.Client(), server.URL, 5)
	_ = r.cmd.Process.Signal(os.Interrupt)
	time.Sleep(time.Millisecond) // else the kernel makes one of both
	code, said := r.end()
	if n := exchangesIn(t, out); code != exitOK || n != 5 {
		t.Errorf("exit %d, %d exchanges:\n%s", code, n, said)
	}
}

// recordDiskFull: the disk fills up; one line says so, and what was written
// before is readable.
func recordDiskFull(t *testing.T, binary string) {
	server, port := chatServer(t, false)
	disk := t.TempDir()
	if err := unix.Mount("none", disk, "tmpfs", 0, "size=400k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	out := filepath.Join(disk, "trace")
	r := startRecord(t, exec.Command(binary, "record", "--ebpf", "--port", port, "-o", out))
	askChats(t, server.Client(), server.URL, 20)
	for range 200 { // until the first part is there
		if parts, err := filepath.Glob(filepath.Join(out, "requests", "*.parquet")); err != nil || len(parts) > 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	for ended, n := false, 0; !ended && n < 500; n++ {
		askChats(t, server.Client(), server.URL, 200)
		select {
		case <-r.done:
			ended = true
		case <-time.After(20 * time.Millisecond):
		}
	}
	code, said := r.end()
	if code != exitInvalid || !strings.Contains(said, "no space left on device") || !strings.Contains(said, "lambdac: hint: free space") {
		t.Errorf("exit %d:\n%s", code, said)
	}
	if n := exchangesIn(t, out); n < 20 {
		t.Errorf("%d exchanges are readable", n)
	}
}

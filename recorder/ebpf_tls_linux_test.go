//go:build amd64 || arm64

package recorder

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/internal/tlslib"
	"github.com/lambdac/lambdac/trace"
)

// goHTTPS keeps its goroutines moving from thread to thread.
const goHTTPS = `package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
)

func main() {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for range 8 {
		go func() {
			for {
				runtime.Gosched()
			}
		}()
	}
	panic(http.ServeTLS(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		runtime.Gosched()
		_, _ = io.WriteString(w, r.URL.Path+" "+string(b))
	}), os.Args[1], os.Args[2]))
}
`

// manyPosts sends bodies from many clients at a time, each times of each, and
// returns what was said. A client has its own connection, which is closed in the
// end; where a protocol is named that has many streams, they share one, which
// the first request opens.
func manyPosts(t *testing.T, addr string, clients, each, size int, protocols ...string) []seenBody {
	t.Helper()
	var mu sync.Mutex
	var said []seenBody
	post := func(c *http.Client, path, word string) {
		body := strings.Repeat(word, size/6+1)
		client, answer := ask(t, c, "https://"+addr+path, body)
		if answer != path+" "+body {
			t.Errorf("%s: the server itself answered %.60q", path, answer)
		}
		mu.Lock()
		said = append(said, seenBody{client, path, body, answer})
		mu.Unlock()
	}
	var shared *http.Client
	if len(protocols) > 0 {
		shared = tlsClient(t, protocols...)
		post(shared, "/first", "first;")
		defer shared.CloseIdleConnections()
	}
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			c := shared
			if c == nil {
				c = tlsClient(t)
				defer c.CloseIdleConnections()
			}
			for n := range each {
				post(c, fmt.Sprintf("/c%d/%d", i, n), fmt.Sprintf("%d-%d;", i, n))
			}
		})
	}
	all.Wait()
	return said
}

func TestTLSServers(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	python := testenv.Python(t, "ssl", "aiohttp")
	tests := []struct {
		name      string
		command   func(t *testing.T) *exec.Cmd
		clients   int
		protocols []string
	}{
		{"Python with a thread per connection", func(*testing.T) *exec.Cmd {
			return exec.Command(python, "-c", pythonHTTPS, cert, key)
		}, 4, nil},
		// Cases 16 and 23: the process that shakes hands is not the one that reads.
		{"Python with a process forked per connection", func(*testing.T) *exec.Cmd {
			forking := "import socketserver\nclass Forking(socketserver.ForkingMixIn, http.server.HTTPServer): pass\ns = Forking("
			return exec.Command(python, "-c", strings.Replace(pythonHTTPS, "s = http.server.ThreadingHTTPServer(", forking, 1), cert, key)
		}, 4, nil},
		// Case 13.
		{"Python with memory BIOs, 50 connections on one thread", func(*testing.T) *exec.Cmd {
			return exec.Command(python, "-c", pythonAsync, cert, key)
		}, 50, nil},
		{"Python with aiohttp", func(*testing.T) *exec.Cmd {
			return exec.Command(python, "-c", aiohttpServer, cert, key)
		}, 16, nil},
		// Case 14.
		{"Node.js with OpenSSL in its program", func(t *testing.T) *exec.Cmd {
			return exec.Command(testenv.Command(t, "node"), "-e", nodeHTTPS, "--", cert, key)
		}, 8, nil},
		// Case 15.
		{"Go, stripped", func(t *testing.T) *exec.Cmd {
			return exec.Command(buildProgram(t, goHTTPS, "-ldflags=-s -w"), cert, key)
		}, 16, nil},
		{"Go, stripped, HTTP/2", func(t *testing.T) *exec.Cmd {
			return exec.Command(buildProgram(t, goHTTPS, "-ldflags=-s -w"), cert, key)
		}, 16, []string{"h2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := tt.command(t)
			addr := startProgram(t, cmd)
			rep := recordTLS(t, addr, func() []seenBody { return manyPosts(t, addr, tt.clients, 5, 3000, tt.protocols...) })
			if n := rep.Totals.LostByReason["blind:tls"]; n != 0 {
				t.Errorf("%d bytes count as not read", n)
			}
		})
	}
}

// The client's side of connections, where that is asked for: each stream on
// its own socket (case 13).
func TestTLSClients(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	python := testenv.Python(t, "ssl", "httpx2", "anyio", "aiohttp")
	tests := []struct {
		name   string
		script string
		n      int
	}{
		{"http.client", httpClient, 3},
		{"httpx with memory BIOs, 50 at a time", httpxClient, 50},
		{"aiohttp, 50 at a time", aiohttpClient, 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			addr := startProgram(t, exec.Command(python, "-c", pythonAsync, cert, key))
			src := openTLS(t, bpf.Options{Ports: []int{portOf(t, addr)}, Client: true, NoServer: true})
			r := startRecording(t, src, Config{KeepText: true})
			out, err := exec.Command(python, "-c", tt.script, strconv.Itoa(portOf(t, addr))).Output()
			if err != nil {
				t.Fatal(err)
			}
			var said []seenBody
			for line := range strings.Lines(string(out)) {
				var b seenBody
				var port int
				if _, err := fmt.Sscan(line, &port, &b.path, &b.asked); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				b.client = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port))
				b.answered = b.path + " " + b.asked
				said = append(said, b)
			}
			if len(said) != tt.n {
				t.Fatalf("the client had %d answers, want %d", len(said), tt.n)
			}
			src.waitGone(t, said)
			got, _ := r.stop()
			wantBodies(t, got, said)
		})
	}
}

func TestTLSInNginx(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	upstream, _ := startPeer(t, "echo")
	dir, port := t.TempDir(), freePort(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(nginxTLS, dir, port, cert, key, portOf(t, upstream))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := startListening(t, exec.Command(testenv.Command(t, "nginx"), "-c", conf), port)
	recordTLS(t, addr, func() []seenBody { return manyPosts(t, addr, 8, 5, 20000) })
}

func TestTLSRetries(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	addr, says := startTalking(t, exec.Command(testenv.Python(t, "ssl"), "-c", pythonStubborn, cert, key))
	const asked = "somethingEND"
	// wait reads what the server says until it is that.
	wait := func(want string) {
		for line := ""; line != want+"\n"; {
			var err error
			if line, err = says.ReadString('\n'); err != nil {
				t.Fatalf("wait for %q: %v", want, err)
			}
		}
	}
	recordTLS(t, addr, func() []seenBody {
		c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		head := fmt.Sprintf("POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(asked))
		sent := 0
		for _, part := range []string{head, asked[:4], asked[4:]} {
			fmt.Fprint(c, part)
			if sent += len(part); sent < len(head)+len(asked) {
				wait(fmt.Sprint("read ", sent)) // and then nothing
			}
		}
		wait("full")
		r := bufio.NewReaderSize(c, 8192)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return []seenBody{{addrPort(c.LocalAddr()), "/slow", asked, string(body)}}
	})
}

func init() {
	peers["tls"] = func(arg string) {
		cert, key, _ := strings.Cut(arg, " ")
		l := listenTCP("127.0.0.1:0")
		listening(l)
		panic(http.ServeTLS(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			_, _ = io.WriteString(w, r.URL.Path+" "+string(b))
		}), cert, key))
	}
}

// The test's own program as a server needs no other programs: it runs on all
// kernels.
func TestKernelTLSGo(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	addr, _ := startPeer(t, "tls "+cert+" "+key)
	recordTLS(t, addr, func() []seenBody { return manyPosts(t, addr, 4, 5, 3000) })
}

// Where the kernel's return probes may harm, C functions are seen at their
// return instructions.
func TestTLSAtReturns(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	addr := startProgram(t, exec.Command(testenv.Python(t, "ssl"), "-c", pythonAsync, cert, key))
	o := bpf.Options{Ports: []int{portOf(t, addr)}, Nested: true}
	k, err := bpf.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	follower, err := newTLSFollower(k, o)
	if err != nil {
		t.Fatal(err)
	}
	follower.careful = true
	if err := follower.start(); err != nil {
		t.Fatal(err)
	}
	src := &tlsSource{ebpfSource: newEBPFSource(k, readClocks), follower: follower, gone: make(map[netip.AddrPort]bool)}
	src.side, src.tls = ebpfSide{server: true}, follower
	r := startRecording(t, src, Config{KeepText: true})
	said := manyPosts(t, addr, 4, 5, 3000)
	src.waitGone(t, said)
	got, _ := r.stop()
	wantBodies(t, got, said)
}

// A connection that was open before the recording: its next request is whole.
func TestTLSJoinedLate(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	addr := startProgram(t, exec.Command(testenv.Python(t, "ssl"), "-c", pythonHTTPS, cert, key))
	c := tlsClient(t)
	ask(t, c, "https://"+addr+"/before", "unseen")
	src := openTLS(t, bpf.Options{Ports: []int{portOf(t, addr)}})
	r := startRecording(t, src, Config{KeepText: true})
	ask(t, c, "https://"+addr+"/joined", "half seen")
	next := seenBody{path: "/next", asked: "seen"}
	next.client, next.answered = ask(t, c, "https://"+addr+next.path, next.asked)
	c.CloseIdleConnections()
	src.waitGone(t, []seenBody{next})
	got, _ := r.stop()
	if len(got.list) == 2 { // its answer alone: the call that read it began before
		if x := got.list[0]; x.Record.Outcome != trace.OutcomeCutByCapture || x.Record.ReqComplete {
			t.Errorf("a request that was not seen: %s, %v", x.Target, x.Record.Outcome)
		}
		got.list = got.list[1:]
	}
	wantBodies(t, got, []seenBody{next})
}

// curl has the system's library of C; with it, the kernel's return probes are
// tried on all kernels.
func TestKernelTLSCurl(t *testing.T) {
	testenv.Root(t)
	curl := testenv.Command(t, "curl")
	probed, clients := make(chan struct{}), make(chan netip.AddrPort, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-probed
		} else {
			clients <- netip.MustParseAddrPort(r.RemoteAddr)
		}
		b, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.URL.Path+" "+string(b))
	}))
	defer server.Close()
	src := openTLS(t, bpf.Options{
		Ports: []int{portOf(t, server.Listener.Addr().String())}, Client: true, NoServer: true,
	})
	r := startRecording(t, src, Config{KeepText: true})
	say := func(path string) string {
		out, err := exec.Command(curl, "-sk", "--http1.1", "-d", "from curl", server.URL+path).CombinedOutput()
		if err != nil {
			t.Errorf("curl: %v\n%s", err, out)
		}
		return string(out)
	}
	var slow sync.WaitGroup
	slow.Go(func() { say("/slow") }) // it brings the library
	until(t, "the library has probes", func() bool {
		return src.follower.probed(func(_ tlslib.FileID, f *probedFile) bool { return strings.Contains(f.path, "libssl") }) > 0
	})
	close(probed)
	slow.Wait()
	answer := say("/second")
	if t.Failed() {
		return
	}
	src.waitGone(t, []seenBody{{client: <-clients}})
	got, _ := r.stop()
	for _, x := range got.list {
		if x.Target != "/second" {
			continue
		}
		if string(x.ReqBody) != "from curl" || string(x.RespBody) != answer || !x.Record.RespComplete || x.Server.Port() != addrPort(server.Listener.Addr()).Port() {
			t.Errorf("%s → %s: %q %q", x.Client, x.Server, x.ReqBody, x.RespBody)
		}
		return
	}
	t.Errorf("%d exchanges, /second not among them", len(got.list))
}

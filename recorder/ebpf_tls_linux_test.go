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

// pythonHTTPS is http.server over TLS: it answers with what it was asked.
const pythonHTTPS = `
import http.server, os, ssl, sys, threading
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        b = self.path.encode() + b" " + self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(len(b)))
        self.end_headers()
        self.wfile.write(b)
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
s.daemon_threads = True
ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
ctx.load_cert_chain(sys.argv[1], sys.argv[2])
if len(sys.argv) > 3: ctx.keylog_filename = sys.argv[3]
s.socket = ctx.wrap_socket(s.socket, server_side=True)
print("127.0.0.1:%d" % s.server_port, flush=True)
threading.Thread(target=s.serve_forever, daemon=True).start()
sys.stdin.read()
os._exit(0)
`

// pythonAsync is a server on one thread whose TLS is in memory BIOs.
const pythonAsync = `
import asyncio, os, ssl, sys
async def handle(r, w):
    try:
        while True:
            head = (await r.readuntil(b"\r\n\r\n")).split(b"\r\n")
            n = next(int(l.split(b":")[1]) for l in head if l.lower().startswith(b"content-length"))
            b = head[0].split(b" ")[1] + b" " + await r.readexactly(n)
            w.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(b))
            for i in range(0, len(b), 1000):
                w.write(b[i:i+1000])
                await w.drain()
    except (asyncio.IncompleteReadError, ConnectionError): pass
    w.close()
async def main():
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(sys.argv[1], sys.argv[2])
    s = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=ctx)
    print("127.0.0.1:%d" % s.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)
asyncio.run(main())
`

const nodeHTTPS = `
const https = require("https"), fs = require("fs");
const s = https.createServer({cert: fs.readFileSync(process.argv.at(-2)), key: fs.readFileSync(process.argv.at(-1))}, (req, res) => {
  let b = req.url + " ";
  req.on("data", d => b += d);
  req.on("end", () => { res.setHeader("content-length", Buffer.byteLength(b)); res.end(b); });
});
s.listen(0, "127.0.0.1", () => console.log("127.0.0.1:" + s.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
`

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
	python := testenv.Python(t, "ssl")
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

// httpClient asks as Python's own client does, httpxClient from one thread with
// TLS in memory BIOs, for as many connections as it is told.
const httpClient = `
import http.client, ssl, sys
ctx = ssl._create_unverified_context()
c = http.client.HTTPSConnection("127.0.0.1", int(sys.argv[1]), context=ctx)
for i in range(3):
    c.request("POST", "/http/%d" % i, body="x" * 5000)
    print(c.sock.getsockname()[1], c.getresponse().read().decode(), flush=True)
`

const httpxClient = `
import anyio, httpx2, sys
async def main():
    async with httpx2.AsyncClient(verify=False, limits=httpx2.Limits(max_connections=50)) as c:
        async def one(i):
            r = await c.post("https://127.0.0.1:%s/httpx/%d" % (sys.argv[1], i), content="%d;" % i * 1000)
            port = r.extensions["network_stream"].get_extra_info("client_addr")[1]
            print(port, r.text, flush=True)
        async with anyio.create_task_group() as g:
            for i in range(50): g.start_soon(one, i)
anyio.run(main)
`

// The client's side of connections, where that is asked for: each stream on
// its own socket (case 13).
func TestTLSClients(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	python := testenv.Python(t, "ssl", "httpx2", "anyio")
	tests := []struct {
		name   string
		script string
		n      int
	}{
		{"http.client", httpClient, 3},
		{"httpx with memory BIOs, 50 at a time", httpxClient, 50},
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

// nginxTLS ends TLS in front of a server without.
const nginxTLS = `
user root; daemon off; master_process on; worker_processes 2; pid %[1]s/pid; error_log %[1]s/log;
events {}
http {
  access_log off; client_body_temp_path %[1]s; proxy_temp_path %[1]s; fastcgi_temp_path %[1]s; uwsgi_temp_path %[1]s; scgi_temp_path %[1]s;
  server { listen 127.0.0.1:%[2]d ssl; ssl_certificate %[3]s; ssl_certificate_key %[4]s;
    location / { proxy_pass http://127.0.0.1:%[5]d; proxy_http_version 1.1; proxy_buffering off; } }
}
`

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

// What is not probed is said by name, with its bytes (case 14): of a process
// that ran before, and of one whose files were all known before it began.
func TestTLSUncovered(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	first, second := freePort(t), freePort(t)
	serve := func(port int) string {
		return startListening(t, exec.Command(testenv.Command(t, "gnutls-serv"), "--http", "--quiet",
			"--port", strconv.Itoa(port), "--x509certfile", cert, "--x509keyfile", key), port)
	}
	addr := serve(first)
	src := openTLS(t, bpf.Options{Ports: []int{first, second}})
	r := startRecording(t, src, Config{KeepText: true})
	for _, addr := range []string{addr, serve(second)} {
		out, err := exec.Command(testenv.Command(t, "curl"), "-sk", "https://"+addr+"/").CombinedOutput()
		if err != nil {
			t.Fatalf("curl: %v\n%s", err, out)
		}
		until(t, "its bytes are counted", func() bool { return src.blindAt(portOf(t, addr)) > 0 })
	}
	got, rep := r.stop()
	if len(got.list) != 0 {
		t.Errorf("%d exchanges of TLS that is not read", len(got.list))
	}
	for _, port := range []int{first, second} {
		want := fmt.Sprintf("bytes of TLS were not read: process \"gnutls-serv\", port %d: gnutls: GnuTLS is not probed", port)
		if !strings.Contains(strings.Join(rep.Source.Warnings, "\n"), want) {
			t.Errorf("no warning %q in %q", want, rep.Source.Warnings)
		}
	}
}

// blindAt is the number of bytes of a port that count as not read.
func (s *tlsSource) blindAt(port int) (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, bytes := range s.blind.tls {
		if int(key.port) == port {
			n += bytes
		}
	}
	return n
}

// pythonStubborn answers a request with 8 MiB on a socket that does not block:
// each write that would block is tried again with the same bytes (case 11), and
// each read that finds nothing follows one that found something, into the same
// buffer, where another request stands (case 12).
const pythonStubborn = `
import os, select, socket, ssl, sys, threading
ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
ctx.load_cert_chain(sys.argv[1], sys.argv[2])
l = socket.create_server(("127.0.0.1", 0))
print("127.0.0.1:%d" % l.getsockname()[1], flush=True)
def serve():
    while True:
        c, _ = l.accept()
        c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 20000)
        c = ctx.wrap_socket(c, server_side=True)
        c.setblocking(False)
        got = b""
        other = b"POST /stale HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
        buf = bytearray(1000)
        while not got.endswith(b"END"):
            try:
                n = c.recv_into(buf)
                got += buf[:n]
                buf[:len(other)] = other
            except ssl.SSLWantReadError:
                print("read", len(got), flush=True)
                select.select([c], [], [])
        body = b"".join(b"%07d;" % i for i in range(1 << 20))
        out = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        while out:
            try: out = out[c.send(out[:300000]):]
            except ssl.SSLWantWriteError:
                print("full", flush=True)
                select.select([], [c], [])
        c.close()
threading.Thread(target=serve, daemon=True).start()
sys.stdin.read()
os._exit(0)
`

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

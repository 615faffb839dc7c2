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
	"time"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/testenv"
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

// manyPosts sends each times each client's own body over clients connections
// at a time, and returns what was said.
func manyPosts(t *testing.T, c *http.Client, addr string, clients, each, size int) []seenBody {
	t.Helper()
	var mu sync.Mutex
	var said []seenBody
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for n := range each {
				path := fmt.Sprintf("/c%d/%d", i, n)
				body := strings.Repeat(fmt.Sprintf("%d-%d;", i, n), size/6+1)
				client, answer := ask(t, c, "https://"+addr+path, body)
				if answer != path+" "+body {
					t.Errorf("%s: the server itself answered %.60q", path, answer)
				}
				mu.Lock()
				said = append(said, seenBody{client, path, body, answer})
				mu.Unlock()
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
			var said []seenBody
			c := tlsClient(t, tt.protocols...)
			got, rep := recordTLS(t, addr, func() {
				said = manyPosts(t, c, addr, tt.clients, 5, 3000)
				c.CloseIdleConnections()
				time.Sleep(100 * time.Millisecond)
			})
			wantBodies(t, got, said)
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
			src := openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}, Nested: true, Client: true, NoServer: true})
			r := startRecording(t, src, Config{KeepText: true})
			out, err := exec.Command(python, "-c", tt.script, strconv.Itoa(portOf(t, addr))).Output()
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
			got, _ := r.stop()
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
	var said []seenBody
	got, _ := recordTLS(t, addr, func() {
		c := tlsClient(t)
		said = manyPosts(t, c, addr, 8, 5, 20000)
		c.CloseIdleConnections()
		time.Sleep(100 * time.Millisecond)
	})
	wantBodies(t, got, said)
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
	src := openEBPF(t, bpf.Options{Ports: []int{first, second}, Nested: true})
	r := startRecording(t, src, Config{KeepText: true})
	for _, addr := range []string{addr, serve(second)} {
		out, err := exec.Command(testenv.Command(t, "curl"), "-sk", "https://"+addr+"/").CombinedOutput()
		if err != nil {
			t.Fatalf("curl: %v\n%s", err, out)
		}
		time.Sleep(300 * time.Millisecond)
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
        tries, got = 0, b""
        other = b"POST /stale HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
        buf = bytearray(1000)
        while not got.endswith(b"END"):
            try:
                n = c.recv_into(buf)
                got += buf[:n]
                buf[:len(other)] = other
            except ssl.SSLWantReadError:
                tries += 1
                select.select([c], [], [])
        body = b"%08d" * (1 << 20)
        body = b"".join(b"%07d;" % i for i in range(1 << 20))
        out = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        while out:
            try: out = out[c.send(out[:300000]):]
            except ssl.SSLWantWriteError:
                tries += 1
                select.select([], [c], [])
        print(tries, flush=True)
threading.Thread(target=serve, daemon=True).start()
sys.stdin.read()
os._exit(0)
`

func TestTLSRetries(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	addr := startProgram(t, exec.Command(testenv.Python(t, "ssl"), "-c", pythonStubborn, cert, key))
	const asked = "somethingEND"
	var said seenBody
	got, _ := recordTLS(t, addr, func() {
		c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(asked))
		for _, part := range []string{asked[:4], asked[4:]} {
			time.Sleep(50 * time.Millisecond)
			fmt.Fprint(c, part)
		}
		r := bufio.NewReaderSize(c, 8192)
		time.Sleep(200 * time.Millisecond) // the server cannot write on
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		said = seenBody{addrPort(c.LocalAddr()), "/slow", asked, string(body)}
	})
	wantBodies(t, got, []seenBody{said})
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
	c := tlsClient(t)
	var said []seenBody
	got, _ := recordTLS(t, addr, func() {
		said = manyPosts(t, c, addr, 4, 5, 3000)
		c.CloseIdleConnections()
		time.Sleep(100 * time.Millisecond)
	})
	wantBodies(t, got, said)
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
	src := newEBPFSource(k, readClocks)
	src.side, src.tls = ebpfSide{server: true}, follower
	r := startRecording(t, src, Config{KeepText: true})
	c := tlsClient(t)
	said := manyPosts(t, c, addr, 4, 5, 3000)
	c.CloseIdleConnections()
	time.Sleep(100 * time.Millisecond)
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
	var next seenBody
	got, _ := recordTLS(t, addr, func() {
		ask(t, c, "https://"+addr+"/joined", "half seen")
		next = seenBody{path: "/next", asked: "seen"}
		next.client, next.answered = ask(t, c, "https://"+addr+next.path, next.asked)
		c.CloseIdleConnections()
		time.Sleep(100 * time.Millisecond)
	})
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
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(2 * time.Second)
		}
		b, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.URL.Path+" "+string(b))
	}))
	defer server.Close()
	src := openEBPF(t, bpf.Options{
		Ports: []int{portOf(t, server.Listener.Addr().String())}, Nested: true, Client: true, NoServer: true,
	})
	follower := src.(*ebpfSource).tls.(*tlsFollower)
	r := startRecording(t, src, Config{KeepText: true})
	say := func(path string) string {
		out, err := exec.Command(curl, "-sk", "--http1.1", "-d", "from curl", server.URL+path).CombinedOutput()
		if err != nil {
			t.Fatalf("curl: %v\n%s", err, out)
		}
		return string(out)
	}
	say("/slow") // it brings the library
	until(t, "the library has probes", func() bool {
		follower.mu.Lock()
		defer follower.mu.Unlock()
		for _, f := range follower.files {
			if len(f.links) > 0 && strings.Contains(f.path, "libssl") {
				return true
			}
		}
		return false
	})
	answer := say("/second")
	time.Sleep(100 * time.Millisecond)
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

//go:build amd64 || arm64

package recorder

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/testenv"
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
			got, _ := recordTLS(t, addr, func() {
				said = manyPosts(t, c, addr, tt.clients, 5, 3000)
				c.CloseIdleConnections()
				time.Sleep(100 * time.Millisecond)
			})
			wantBodies(t, got, said)
		})
	}
}

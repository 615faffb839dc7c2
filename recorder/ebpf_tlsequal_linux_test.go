//go:build amd64 || arm64

package recorder

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

// pythonLLM speaks the chat API over TLS, in a stream or at once, and writes
// the secrets of its connections to a file.
const pythonLLM = `
import http.server, json, os, ssl, sys, threading, time
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True # else the kernel joins writes on the wire
    def do_POST(self):
        q = json.loads(self.rfile.read(int(self.headers["content-length"])))
        usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
        self.send_response(200)
        if not q.get("stream"):
            b = json.dumps({"id": "1", "object": "chat.completion", "model": "m", "usage": usage, "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "a b c d e"}}]}).encode()
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(b)))
            self.end_headers()
            self.wfile.write(b)
            return
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        def event(text):
            b = ("data: %s\n\n" % text).encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(b), b))
            time.sleep(0.005)
        for i in range(5):
            event(json.dumps({"id": "1", "object": "chat.completion.chunk", "model": "m", "choices": [
                {"index": 0, "delta": {"content": "%d " % i}, "finish_reason": "stop" if i == 4 else None}]}))
        event(json.dumps({"id": "1", "object": "chat.completion.chunk", "model": "m", "choices": [], "usage": usage}))
        event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
s.daemon_threads = True
ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
ctx.load_cert_chain(sys.argv[1], sys.argv[2])
ctx.keylog_filename = sys.argv[3]
s.socket = ctx.wrap_socket(s.socket, server_side=True)
print("127.0.0.1:%d" % s.server_port, flush=True)
threading.Thread(target=s.serve_forever, daemon=True).start()
sys.stdin.read()
os._exit(0)
`

// bare is a record without what depends on where it was seen: times, names of
// connections and of the capture.
func bare(x *trace.Exchange) trace.Record {
	r := *x.Record
	r.Arrival, r.Timing, r.Conn, r.Capture = trace.Arrival{}, trace.Timing{}, trace.Conn{}, trace.Capture{}
	r.EventCount, r.ChunkCount = x.Record.EventCount, x.Record.ChunkCount
	r.FirstChunkTokens = x.Record.FirstChunkTokens
	r.ReqComplete, r.RespComplete = x.Record.ReqComplete, x.Record.RespComplete
	r.LostBytesReq, r.LostBytesResp = x.Record.LostBytesReq, x.Record.LostBytesResp
	r.RequestID = ""
	r.Chunks = slices.Clone(r.Chunks)
	for i := range r.Chunks {
		r.Chunks[i].GapUs = 0
	}
	return r
}

// endsSeen counts the ends of directions that a source has told of.
type endsSeen struct {
	Source
	fins atomic.Int32
}

// Next implements [Source].
func (s *endsSeen) Next() (Segment, error) {
	seg, err := s.Source.Next()
	if seg.FIN || seg.RST {
		s.fins.Add(1)
	}
	return seg, err
}

// The same conversation read inside the library and on the wire with the
// secrets of its connections.
func TestTLSEqualsKeyLog(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	keys := filepath.Join(t.TempDir(), "keys")
	addr := startProgram(t, exec.Command(testenv.Python(t, "ssl"), "-c", pythonLLM, cert, key, keys))
	port := portOf(t, addr)
	src := openTLS(t, bpf.Options{Ports: []int{port}})
	inside := startRecording(t, src, Config{KeepText: true})
	wire, err := OpenInterface("lo", []int{port})
	if err != nil {
		t.Fatal(err)
	}
	log, err := OpenKeyLog(keys)
	if err != nil {
		t.Fatal(err)
	}
	seen := &endsSeen{Source: wire}
	outside := startRecording(t, seen, Config{KeepText: true, KeyLog: log})
	c := tlsClient(t)
	var said []seenBody
	for _, body := range []string{
		`{"model":"m","messages":[{"role":"user","content":"hello"}]}`,
		`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hello"}]}`,
		`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("long ", 20000) + `"}]}`,
	} {
		client, _ := ask(t, c, "https://"+addr+"/v1/chat/completions", body)
		said = append(said, seenBody{client: client})
	}
	c.CloseIdleConnections()
	src.waitGone(t, said)
	until(t, "both sides have ended on the wire", func() bool { return seen.fins.Load() >= 2 })
	a, _ := inside.stop()
	b, _ := outside.stop()
	if len(a.list) != 3 || len(b.list) != 3 {
		t.Fatalf("%d exchanges inside, %d on the wire", len(a.list), len(b.list))
	}
	for i := range a.list {
		if diff := cmp.Diff(bare(b.list[i]), bare(a.list[i])); diff != "" {
			t.Errorf("exchange %d (-wire +inside):\n%s", i, diff)
		}
		if a.list[i].Client != b.list[i].Client || a.list[i].Server != b.list[i].Server {
			t.Errorf("exchange %d: %v→%v inside, %v→%v on the wire", i, a.list[i].Client, a.list[i].Server, b.list[i].Client, b.list[i].Server)
		}
	}
}

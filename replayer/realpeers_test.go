package replayer

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

// frontConf is nginx in front of one server; what it should pass on of one of the
// server's APIs goes where nobody listens.
const frontConf = `daemon off;
master_process off;
pid %[1]s/pid;
error_log %[1]s/error.log;
events {}
http {
  access_log off;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  upstream server { server %[3]s; keepalive 8; }
  server {
    listen 127.0.0.1:%[2]d;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_buffering off;
    location / { proxy_pass http://server; }
    location /v1/messages { proxy_pass http://127.0.0.1:1; }
  }
}
`

// startFront starts nginx in front of a server and returns its base URL.
func startFront(t *testing.T, server string) string {
	t.Helper()
	nginx, dir := testenv.Command(t, "nginx"), t.TempDir()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, frontConf, dir, port, to.Host), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.Command(nginx, "-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", conf)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	front := fmt.Sprintf("http://127.0.0.1:%d", port)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * ms) {
		resp, err := http.Get(front + "/v1/models")
		if err == nil {
			_ = resp.Body.Close()
			return front
		}
		if time.Now().After(deadline) {
			t.Fatalf("nginx does not answer: %v %s", err, said.String())
		}
	}
}

// TestRealPeers replays against llama.cpp behind nginx: streams of pinned length,
// one that its client gave up, one request that the server refuses and one that the proxy cannot pass on,
// an answer that is not streamed.
func TestRealPeers(t *testing.T) {
	server := testenv.RealServer(t, 4, 1024)
	cfg := one(0, 3*time.Second)
	cfg.Target, cfg.Loads, cfg.IgnoreEOS = startFront(t, server), []Load{{PerS: 2}}, true
	cfg.Drain, cfg.MaxLag = 2*time.Minute, time.Minute
	tr := chatTrace(6, 500*ms)
	for _, r := range tr.Records {
		r.OutputTokens = new(int64(8))
	}
	gaveUp, long, refused, whole := tr.Records[1], tr.Records[2], tr.Records[3], tr.Records[4]
	gaveUp.Outcome, gaveUp.OutcomeDetail, gaveUp.ChunkCount = trace.OutcomeClientAbort, new(trace.DetailRecorded), new(int32(4))
	gaveUp.OutputTokens, gaveUp.MaxTokens = nil, new(int32(500))
	long.InputTokens = new(int64(3000)) // of 1,024 that the server has room for
	refused.APIKind = trace.KindAnthropicMessages
	whole.Stream = false
	out := &memory{}
	res, err := Run(t.Context(), cfg, tr, out)
	if err != nil {
		t.Fatal(err)
	}
	checkIdentity(t, res, out)
	recs := out.byStart()
	for i, want := range map[int]struct {
		outcome trace.Outcome
		status  int32
	}{
		0: {trace.OutcomeOK, 200}, 1: {trace.OutcomeClientAbort, 200}, 2: {trace.OutcomeHTTPError, 400},
		3: {trace.OutcomeHTTPError, 502}, 4: {trace.OutcomeOK, 200}, 5: {trace.OutcomeOK, 200},
	} {
		r := recs[i]
		if r.StatusCode == nil || r.Outcome != want.outcome || *r.StatusCode != want.status {
			t.Errorf("request %d: %s, status %v; want %s, %d", i, r.Outcome, r.StatusCode, want.outcome, want.status)
			continue
		}
		if want.outcome != trace.OutcomeOK {
			continue
		}
		if us(r.OutputTokens) != int64(8) || r.TokenSource != trace.TokensUsage || *r.InputTokens < 20 {
			t.Errorf("request %d: %v tokens by %s, want the 8 recorded; prompt of %v", i, us(r.OutputTokens), r.TokenSource, us(r.InputTokens))
		}
		if _, ok := trace.TPOT(&r.Timing, &r.Usage, r.N); ok != r.Stream || (r.TFirstTokenUs != nil) != r.Stream {
			t.Errorf("request %d: stream %v, TPOT %v, first token %v", i, r.Stream, ok, us(r.TFirstTokenUs))
		}
	}
	if r := recs[1]; *r.OutcomeDetail != trace.DetailPlan || *r.ChunkCount != 4 {
		t.Errorf("given up after %d tokens (%s), want 4 (plan)", *r.ChunkCount, *r.OutcomeDetail)
	}
	idle(t, server)
}

// idle waits until llama.cpp works on nothing: it has heard of the client that
// left.
func idle(t *testing.T, server string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * ms) {
		resp, err := http.Get(server + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil && strings.Contains(string(text), "\nllamacpp:requests_processing 0") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server still works: %v\n%s", err, text)
		}
	}
}

package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/leaktest"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// lockedBuffer is written by a command while it is read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// sayTwice answers in a stream whose events come in two writes each, with a
// secret across them, and in the arguments of a tool's call.
func sayTwice(secret string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the client's end tells
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Set-Cookie", "session="+secret)
		flush := http.NewResponseController(w).Flush
		for _, delta := range []string{
			`{"content":"the key is ` + secret + `."}`,
			`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{\"key\":\"` + secret + `\"}"}}]}`,
		} {
			event := `data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":` + delta + `}]}` + "\n\n"
			half := strings.Index(event, secret) + len(secret)/2
			for _, part := range []string{event[:half], event[half:]} {
				fmt.Fprint(w, part)
				_ = flush()
				time.Sleep(5 * time.Millisecond)
			}
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
}

// No byte of a secret that went through TLS is in any file, name or message
// (recorder.md (c) 24), and equal secrets are seen to be equal.
func TestTLSLeavesNoPlantedValue(t *testing.T) {
	testenv.Root(t)
	binary := buildBinary(t)
	const secret = "sk-planted4tls7Q2mXv9Lk3Wd8Rb5Nc6Th1"
	server := httptest.NewTLSServer(sayTwice(secret))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	cmd := exec.Command(binary, "record", "--ebpf", "--tls", "--port", port, "-o", filepath.Join(root, "trace"))
	cmd.Dir = root
	var said lockedBuffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for range 600 {
		if strings.Contains(said.String(), "inside the kernel") {
			break
		}
		select {
		case err := <-ended:
			testenv.Missing(t, "eBPF", fmt.Sprintf("run on a kernel that allows BPF programs: %v: %s", err, said.String()))
		case <-time.After(100 * time.Millisecond):
		}
	}
	for range 2 {
		askWithSecret(t, server, secret)
	}
	time.Sleep(300 * time.Millisecond)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	needles := [][]byte{
		[]byte(secret), []byte(secret[:len(secret)/2]), []byte(secret[len(secret)/2:]),
		[]byte(base64.StdEncoding.EncodeToString([]byte(secret))), []byte(url.QueryEscape(secret)),
	}
	hits, err := leaktest.Find(root, needles)
	if err != nil || len(hits) > 0 {
		t.Errorf("%v %v", hits, err)
	}
	for i, needle := range needles {
		if strings.Contains(said.String(), string(needle)) {
			t.Errorf("a message holds needle %d", i)
		}
	}
	checkSecretPairs(t, filepath.Join(root, "trace"))
}

func askWithSecret(t *testing.T, server *httptest.Server, secret string) {
	t.Helper()
	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"use ` + secret + ` or ` +
		base64.StdEncoding.EncodeToString([]byte(secret)) + `"}]}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/chat/completions?key="+secret, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Cookie", "session="+secret)
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(b), "[DONE]") {
		t.Fatalf("%q, %v", b, err)
	}
}

// checkSecretPairs wants both exchanges, with all that a secret was in, and
// the same words in place of it.
func checkSecretPairs(t *testing.T, path string) {
	t.Helper()
	d, err := tracedir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []*trace.Record
	for r, err := range tracedir.Rows[trace.Record](d) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	if len(list) != 2 {
		t.Fatalf("%d records", len(list))
	}
	for _, r := range list {
		if !r.TLS || r.Outcome != trace.OutcomeOK || r.ChunkCount == nil || *r.ChunkCount != 2 || r.CaptureSource != "ebpf" {
			t.Errorf("TLS %v, %v, %v chunks, by %s", r.TLS, r.Outcome, r.ChunkCount, r.CaptureSource)
		}
	}
	for _, name := range []string{"authorization", "cookie"} {
		a, b := list[0].ReqHeaders[name], list[1].ReqHeaders[name]
		if a != b || a == "" {
			t.Errorf("header %s: %q and %q of equal secrets", name, a, b)
		}
	}
}

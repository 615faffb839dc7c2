package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/internal/jsonschema"
)

// proxyRun is a fault-proxy under way.
type proxyRun struct {
	url    string
	stop   context.CancelFunc
	done   chan error
	stdout *bufio.Reader // has the line with the address
	other  strings.Builder
}

// startFaultProxy runs the command until stop is called, and waits for the line
// with its address.
func startFaultProxy(t *testing.T, args ...string) *proxyRun {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &proxyRun{stop: cancel, done: make(chan error, 1)}
	r, w := io.Pipe()
	p.stdout = bufio.NewReader(r)
	root := newRoot()
	root.SetArgs(append([]string{"fault-proxy"}, args...))
	root.SetOut(w)
	root.SetErr(&p.other)
	if slices.Contains(args, "--json") { // then the address is no result
		root.SetOut(&p.other)
		root.SetErr(w)
	}
	go func() {
		p.done <- root.ExecuteContext(ctx)
		_ = w.Close()
	}()
	t.Cleanup(cancel)
	line, err := p.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %v", err, <-p.done)
	}
	address, _, _ := strings.Cut(strings.TrimPrefix(line, "listening "), ",")
	p.url = "http://" + address
	return p
}

// end stops it and returns what it printed at the end.
func (p *proxyRun) end(t *testing.T) (printed string, err error) {
	t.Helper()
	p.stop()
	rest, err := io.ReadAll(p.stdout)
	if err != nil {
		t.Fatal(err)
	}
	return string(rest), <-p.done
}

func ask(t *testing.T, url, body string) (status int, answer string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func storeOf(t *testing.T, answer string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestFaultProxy: it passes requests on, ends cleanly when it is stopped, and
// says what the faults did.
func TestFaultProxy(t *testing.T) {
	p := startFaultProxy(t, "--target", storeOf(t, `{"ok":true}`), "--fault", "http-429,path=/busy", "--fault", "delay,delay=1ms,name=late")
	if status, answer := ask(t, p.url+"/busy", "{}"); status != 429 || !strings.Contains(answer, "injected fault") {
		t.Errorf("%d %s", status, answer)
	}
	if status, answer := ask(t, p.url+"/other", "{}"); status != 200 || answer != `{"ok":true}` {
		t.Errorf("%d %s", status, answer)
	}
	printed, err := p.end(t)
	for _, want := range []string{"2 requests, 0 without", "http-429 ", "late ", "acted      2"} {
		if !strings.Contains(printed, want) {
			t.Errorf("printed %q, want %q in it", printed, want)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// TestFaultProxyRules: a rules file of the user's own, and the JSON document.
func TestFaultProxyRules(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	text := "rules:\n  - name: mine\n    path: /find/*\n    hits: $.found[*].points\n    score: s\n"
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	target := storeOf(t, `{"found":[{"points":[{"s":2},{"s":1}]}]}`)
	p := startFaultProxy(t, "--target", target, "--rules", rules, "--fault", "empty", "--json")
	if _, answer := ask(t, p.url+"/find/x", "{}"); answer != `{"found":[{"points":[]}]}` {
		t.Errorf("answer %s", answer)
	}
	if _, err := p.end(t); err != nil {
		t.Error(err)
	}
	schema, err := os.ReadFile("../../docs/schema/fault-proxy.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := jsonschema.Validate(schema, []byte(p.other.String())); err != nil || !strings.Contains(p.other.String(), `"acted": 1`) {
		t.Errorf("%v in %s", err, p.other.String())
	}
}

// TestFaultProxyWithoutEffect: rules that find nothing in what the store is
// sent and answers are said, and the exit code is 2.
func TestFaultProxyWithoutEffect(t *testing.T) {
	p := startFaultProxy(t, "--target", storeOf(t, `{"hits":[]}`), "--fault", "empty")
	ask(t, p.url+"/my/search", "{}")
	_, err := p.end(t)
	var exit *exitError
	if !errors.As(err, &exit) || exit.code != exitInvalid || !strings.Contains(p.other.String(), `fault "empty" acted on none of the 1 requests that it was chosen for: no rule found`) {
		t.Errorf("%v, said %q", err, p.other.String())
	}
}

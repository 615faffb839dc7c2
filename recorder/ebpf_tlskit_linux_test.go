//go:build amd64 || arm64

package recorder

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/internal/tlslib"
)

// certFiles writes a certificate of localhost and its key.
func certFiles(t *testing.T) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write := func(path, kind string, b []byte) {
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(cert, "CERTIFICATE", der)
	write(key, "PRIVATE KEY", keyDER)
	return cert, key
}

// freePort is a port that nobody listened at a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// startListening runs a program that does not say when it listens until the
// test ends.
func startListening(t *testing.T, cmd *exec.Cmd, port int) (addr string) {
	t.Helper()
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		ended := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		ended.Stop()
	})
	addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	until(t, "somebody listens at "+addr, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return addr
}

// until waits for what is bound to happen, however slow the machine is.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(testenv.Patience()); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("not within %s: %s", testenv.Patience(), what)
}

// tlsClient is an HTTP client of servers with certificates of certFiles, which
// keeps connections for as many requests at a time as it is given.
func tlsClient(t *testing.T, protocols ...string) *http.Client {
	t.Helper()
	tr := &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true, NextProtos: protocols},
		ForceAttemptHTTP2:   len(protocols) > 0 && protocols[0] == "h2",
		MaxIdleConnsPerHost: 64,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: testenv.Patience()}
}

// ask sends a body and returns the answer's, and from where it was sent.
func ask(t *testing.T, c *http.Client, url, body string) (client netip.AddrPort, answer string) {
	t.Helper()
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { client = addrPort(i.Conn.LocalAddr()) }}
	ctx := httptrace.WithClientTrace(t.Context(), trace)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Error(err)
		return client, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return client, string(b)
}

// tlsSource is a source that tells a test what it has seen.
type tlsSource struct {
	*ebpfSource
	follower *tlsFollower

	lock sync.Mutex
	gone map[netip.AddrPort]bool // clients whose connections have ended
}

// openTLS opens a source that reads libraries.
func openTLS(t *testing.T, o bpf.Options) *tlsSource {
	t.Helper()
	o.Nested = true
	src := openEBPF(t, o).(*ebpfSource)
	return &tlsSource{ebpfSource: src, follower: src.tls.(*tlsFollower), gone: make(map[netip.AddrPort]bool)}
}

// Next implements [Source].
func (s *tlsSource) Next() (Segment, error) {
	seg, err := s.ebpfSource.Next()
	if err == nil && (seg.Gone || seg.RST) {
		s.lock.Lock()
		s.gone[seg.Conn.Client] = true
		s.lock.Unlock()
	}
	return seg, err
}

// waitGone waits until the connections of exchanges have been seen to their end.
func (s *tlsSource) waitGone(t *testing.T, said []seenBody) {
	t.Helper()
	for _, b := range said {
		until(t, "the recording has the end of "+b.client.String(), func() bool {
			s.lock.Lock()
			defer s.lock.Unlock()
			return s.gone[b.client]
		})
	}
}

// probed returns the files that have probes, of those that are chosen.
func (f *tlsFollower) probed(choose func(tlslib.FileID, *probedFile) bool) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for id, file := range f.files {
		if len(file.links) > 0 && choose(id, file) {
			n++
		}
	}
	return n
}

// recordTLS records the TLS of a server while there is traffic, which returns
// what was said on connections that are closed, and checks that all of it and
// nothing else was recorded.
func recordTLS(t *testing.T, addr string, traffic func() []seenBody) Report {
	t.Helper()
	src := openTLS(t, bpf.Options{Ports: []int{portOf(t, addr)}})
	r := startRecording(t, src, Config{KeepText: true})
	said := traffic()
	src.waitGone(t, said)
	got, rep := r.stop()
	wantBodies(t, got, said)
	return rep
}

// seenBody is one exchange as a test knows it.
type seenBody struct {
	client                netip.AddrPort
	path, asked, answered string
}

func (s seenBody) String() string {
	short := func(b string) string { return fmt.Sprintf("%d bytes %.40q", len(b), b) }
	return s.client.String() + " " + s.path + ": " + short(s.asked) + " → " + short(s.answered)
}

// wantBodies compares what was recorded with what was sent, in any order, and
// wants all of it complete, decrypted and with addresses.
func wantBodies(t *testing.T, got *collector, want []seenBody) {
	t.Helper()
	left := make(map[seenBody]int)
	for _, w := range want {
		left[w]++
	}
	for _, x := range got.list {
		b := seenBody{x.Client, x.Target, string(x.ReqBody), string(x.RespBody)}
		if left[b] == 0 {
			t.Errorf("recorded and not sent, or twice: %s (%s %v)", b, x.Record.Outcome, x.Record.OutcomeDetail)
		}
		left[b]--
		r := x.Record
		if !r.TLS || !r.ReqComplete || !r.RespComplete || r.LostBytesReq+r.LostBytesResp != 0 {
			t.Errorf("%s: TLS %v, complete %v %v, lost %d %d", b, r.TLS, r.ReqComplete, r.RespComplete, r.LostBytesReq, r.LostBytesResp)
		}
	}
	missing := 0
	for b, n := range left {
		if n > 0 {
			if missing++; missing < 5 {
				t.Errorf("sent and not recorded: %s", b)
			}
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d exchanges are missing", missing, len(want))
	}
}

// buildProgram builds a Go program of one file.
func buildProgram(t *testing.T, source string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "program")
	args := append(append([]string{"build", "-o", out}, flags...), file)
	var msg bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Stderr = &msg
	if err := cmd.Run(); err != nil {
		t.Fatalf("build: %v\n%s", err, &msg)
	}
	return out
}

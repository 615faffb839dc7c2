package recorder

import (
	"bufio"
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lambdac/lambdac/trace"
)

// wire keeps what two sides of a connection write, in order.
type wire struct {
	mu     sync.Mutex
	pieces []wirePiece
}

type wirePiece struct {
	dir  Dir
	data []byte
}

// wireConn notes what one side writes.
type wireConn struct {
	net.Conn
	w   *wire
	dir Dir
}

func (c wireConn) Write(p []byte) (int, error) {
	c.w.mu.Lock()
	c.w.pieces = append(c.w.pieces, wirePiece{c.dir, bytes.Clone(p)})
	c.w.mu.Unlock()
	return c.Conn.Write(p)
}

// streamPieces are an answer of three events in chunks.
var streamPieces = []string{sseHead, chunk(roleEvent), chunk(textEvent("a")), chunk(textEvent("b")) + chunk(endEvent), chunk(doneEvent) + "0\r\n\r\n"}

// loopback is a connection's two ends. (net.Pipe would not do: both sides write
// at the end of a handshake.)
func loopback(tb testing.TB) (client, server net.Conn) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close()
	if client, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		tb.Fatal(err)
	}
	if server, err = listener.Accept(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, server
}

// converse runs one TLS connection: n streamed exchanges.
func converse(tb testing.TB, client, server *tls.Config, n int) *wire {
	tb.Helper()
	w := &wire{}
	a, b := loopback(tb)
	cl, sv := tls.Client(wireConn{a, w, ToServer}, client), tls.Server(wireConn{b, w, ToClient}, server)
	done := make(chan error, 1)
	go func() { done <- serveTLS(sv, n) }()
	answers := bufio.NewReader(cl)
	for range n {
		if _, err := io.WriteString(cl, chat()); err != nil {
			tb.Fatal(err)
		}
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := io.ReadAll(res.Body); err != nil {
			tb.Fatal(err)
		}
	}
	_ = cl.Close()
	if err := <-done; err != nil {
		tb.Fatal(err)
	}
	return w
}

func serveTLS(sv *tls.Conn, n int) error {
	requests := bufio.NewReader(sv)
	for range n {
		req, err := http.ReadRequest(requests)
		if err != nil {
			return err
		}
		if _, err := io.ReadAll(req.Body); err != nil {
			return err
		}
		for _, piece := range streamPieces {
			if _, err := io.WriteString(sv, piece); err != nil {
				return err
			}
		}
	}
	_, _ = io.Copy(io.Discard, sv)
	return nil
}

// play puts the pieces of a wire into a script, a millisecond apart, in
// packets of at most size bytes.
func (w *wire) play(s *script, port uint16, size int) *talk {
	k := s.connect(port, 0)
	at := 10 * time.Millisecond
	for _, p := range w.pieces {
		for part := range slices.Chunk(p.data, size) {
			k.packet(p.dir, at, 0, part)
			k.seq[p.dir] += uint32(len(part))
		}
		at += time.Millisecond
	}
	k.fin(ToServer, at).fin(ToClient, at+time.Millisecond)
	return k
}

func (w *wire) bytes() (n int64) {
	for _, p := range w.pieces {
		n += int64(len(p.data))
	}
	return n
}

// keysOf makes a key log of a text.
func keysOf(tb testing.TB, text string) *KeyLog {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "keys.log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	k, err := OpenKeyLog(path)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// certificate makes a self-signed one.
func certificate(tb testing.TB) tls.Certificate {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return selfSigned(tb, key)
}

func rsaCertificate(tb testing.TB) tls.Certificate {
	tb.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatal(err)
	}
	return selfSigned(tb, key)
}

func selfSigned(tb testing.TB, key crypto.Signer) tls.Certificate {
	tb.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"h"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// configs are a client's and a server's, and where the client's secrets go.
func configs(tb testing.TB) (client, server *tls.Config, keys *bytes.Buffer) {
	tb.Helper()
	keys = &bytes.Buffer{}
	server = &tls.Config{Certificates: []tls.Certificate{certificate(tb)}}
	client = &tls.Config{ServerName: "h", InsecureSkipVerify: true, KeyLogWriter: keys}
	return client, server, keys
}

// checkStreamed checks n exchanges of converse.
func checkStreamed(t *testing.T, list []*trace.Exchange, n int) {
	t.Helper()
	if len(list) != n {
		t.Fatalf("exchanges: got %d, want %d: %q", len(list), n, summaries(list))
	}
	for _, x := range list {
		if s := shapeOf(x); s.Outcome != "ok" || s.Text != 2 || s.Events != "5" || !x.Record.TLS {
			t.Errorf("got %+v, TLS %v", s, x.Record.TLS)
		}
		check(t, "request bytes", x.Record.ReqBodyBytes, int64(len(chatBody)))
	}
}

// TestTLSConversations: every version, suite and way to begin that crypto/tls
// has, read in packets of any size.
func TestTLSConversations(t *testing.T) {
	v12 := func(suites ...uint16) func(*testing.T, *tls.Config, *tls.Config) {
		return func(_ *testing.T, c, _ *tls.Config) {
			c.MaxVersion, c.CipherSuites = tls.VersionTLS12, suites
		}
	}
	rows := []struct {
		name  string
		setup func(t *testing.T, client, server *tls.Config)
	}{
		{"1.3", func(*testing.T, *tls.Config, *tls.Config) {}},
		{"1.3 with HelloRetryRequest", func(_ *testing.T, c, s *tls.Config) {
			c.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256}
			s.CurvePreferences = []tls.CurveID{tls.CurveP256}
		}},
		{"1.3 with client certificate", func(t *testing.T, c, s *tls.Config) {
			s.ClientAuth, c.Certificates = tls.RequireAnyClientCert, []tls.Certificate{certificate(t)}
		}},
		{"1.2 AES-128", v12(tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)},
		{"1.2 AES-256", v12(tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384)},
		{"1.2 ChaCha20", v12(tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256)},
		{"1.2 RSA", func(t *testing.T, c, s *tls.Config) {
			v12(tls.TLS_RSA_WITH_AES_256_GCM_SHA384)(t, c, s)
			s.CipherSuites, s.Certificates = c.CipherSuites, []tls.Certificate{rsaCertificate(t)}
		}},
		{"1.2 with client certificate", func(t *testing.T, c, s *tls.Config) {
			v12()(t, c, s)
			s.ClientAuth, c.Certificates = tls.RequireAnyClientCert, []tls.Certificate{certificate(t)}
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			client, server, keys := configs(t)
			row.setup(t, client, server)
			w := converse(t, client, server, 2)
			for _, size := range []int{1, 2, 7, 1448, 60000} {
				var s script
				w.play(&s, 40000, size)
				got, rep := s.run(t, Config{KeepText: true, KeyLog: keysOf(t, keys.String())})
				checkStreamed(t, got.list, 2)
				check(t, "bytes seen", got.totals.BytesSeen, w.bytes())
				check(t, "warnings", strings.Join(rep.Warnings, "; "), "")
				if us := got.list[0].Record.TConnUs; us == nil || *us < 10_000 {
					t.Errorf("time to connect: %s, want the handshake in it", deref(us))
				}
			}
		})
	}
}

// TestTLSResumption: crypto/tls writes no secret for a session of TLS 1.2 that
// is resumed; the one of the session that it resumes is used.
func TestTLSResumption(t *testing.T) {
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			client, server, keys := configs(t)
			client.MaxVersion, client.ClientSessionCache = version, tls.NewLRUClientSessionCache(4)
			var s script
			var lines []int
			for i := range 3 {
				converse(t, client, server, 1).play(&s, 40000+uint16(i), 1448)
				lines = append(lines, strings.Count(keys.String(), "\n"))
			}
			if version == tls.VersionTLS12 && lines[2] != 1 {
				t.Errorf("lines of the key log: %v, want one in all", lines)
			}
			got, _ := s.run(t, Config{KeepText: true, KeyLog: keysOf(t, keys.String())})
			checkStreamed(t, got.list, 3)
		})
	}
}

// TestOpenSSL reads what crypto/tls cannot make: see testdata/tls/README.md.
func TestOpenSSL(t *testing.T) {
	rows := []struct {
		name     string
		want     []string
		warnings string
	}{
		{"openssl-keyupdate", []string{"GET /a 200 ok", "GET /b 200 ok", "GET /c 200 ok"}, ""},
		{"openssl-early", []string{"GET /a 200 ok", "GET /early 200 ok", "GET /b 200 ok"}, ""},
		{"openssl-early-refused", []string{"GET /a 200 ok", "GET /b 200 ok"}, "62 bytes were not read: tls; 1 answers belong to no request that was seen"},
		{"openssl-tls12-renegotiate", []string{"GET /a 200 ok"}, "1216 bytes were not read: tls; 1 answers belong to no request that was seen; 1 TLS connections were not read, or not to their end: it negotiated anew"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join("testdata", "tls", row.name+".pcap")
			got, rep := record(t, Config{KeyLog: keyLogOf(t, path)}, path)
			var lines []string
			for _, x := range got.list {
				lines = append(lines, x.Method+" "+x.Target+" "+deref(x.Record.StatusCode)+" "+string(x.Record.Outcome))
			}
			if diff := cmp.Diff(row.want, lines); diff != "" {
				t.Errorf("exchanges (-want +got):\n%s", diff)
			}
			check(t, "warnings", strings.Join(rep.Warnings, "; "), row.warnings)
		})
	}
}

// TestEarlyDataBlind: without its secret early data is counted as blind, and
// what follows is read.
func TestEarlyDataBlind(t *testing.T) {
	path := filepath.Join("testdata", "tls", "openssl-early.pcap")
	text, err := os.ReadFile(strings.TrimSuffix(path, ".pcap") + ".keylog")
	if err != nil {
		t.Fatal(err)
	}
	got, rep := record(t, Config{KeyLog: keysOf(t, strings.ReplaceAll(string(text), "CLIENT_EARLY", "OTHER_EARLY"))}, path)
	if diff := cmp.Diff([]string{"GET 200 ok 0 2", "GET 200 ok 0 2"}, summaries(got.list)); diff != "" {
		t.Errorf("exchanges (-want +got):\n%s", diff)
	}
	check(t, "warnings", strings.Join(rep.Warnings, "; "), "88 bytes were not read: tls; 1 answers belong to no request that was seen")
}

// TestTLSOrder: a ServerHello that was captured before the ClientHello, and a
// client's part that was lost on the way to the capture and sent again.
func TestTLSOrder(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		client, server, keys := configs(t)
		client.MaxVersion = version
		w := converse(t, client, server, 1)
		for i := 1; i < len(w.pieces); i++ {
			if w.pieces[i].dir == w.pieces[i-1].dir || w.pieces[i-1].dir == ToServer && i > 1 {
				continue
			}
			w.pieces[i], w.pieces[i-1] = w.pieces[i-1], w.pieces[i]
			var s script
			w.play(&s, 40000, 1448)
			w.pieces[i], w.pieces[i-1] = w.pieces[i-1], w.pieces[i]
			got, _ := s.run(t, Config{KeepText: true, KeyLog: keysOf(t, keys.String())})
			checkStreamed(t, got.list, 1)
		}
	}
}

// TestTLSWaitEnds: records that wait for a secret are bounded in size and time.
func TestTLSWaitEnds(t *testing.T) {
	client, server, _ := configs(t)
	w := converse(t, client, server, 1)
	other := "CLIENT_RANDOM " + strings.Repeat("00", 32) + " " + strings.Repeat("00", 48) + "\n"
	record := "\x17\x03\x03\x40\x00" + strings.Repeat("x", 1<<14)
	for name, fill := range map[string]func(k *talk){
		"size": func(k *talk) { k.server(time.Second, strings.Repeat(record, maxTLSWait>>14)) },
		"time": func(k *talk) { k.server(7*time.Second, record) },
	} {
		var s script
		k := w.play(&s, 40000, 1448)
		s.packets = s.packets[:len(s.packets)-2] // the FINs
		k.seq[ToServer]--
		k.seq[ToClient]--
		fill(k)
		before := len(s.packets)
		got, rep := s.run(t, Config{KeyLog: keysOf(t, other)})
		check(t, name+" blind", got.totals.LostByReason["blind:tls"], got.totals.BytesSeen)
		check(t, name+" packets", int64(before), rep.Source.Packets)
	}
}

// TestTLSBlind: without the secrets every byte is counted as blind, once, and
// the reason named.
func TestTLSBlind(t *testing.T) {
	files, err := filepath.Glob("testdata/captures/*.keylog")
	if err != nil || len(files) != 4 {
		t.Fatalf("%d key logs, %v", len(files), err)
	}
	for _, file := range files {
		path := strings.TrimSuffix(file, ".keylog") + ".pcap"
		other := keysOf(t, "CLIENT_RANDOM "+strings.Repeat("00", 32)+" "+strings.Repeat("00", 48)+"\n")
		for reason, keys := range map[string]*KeyLog{tlsNoKeyLog: nil, tlsNoSecret: other} {
			got, rep := record(t, Config{KeyLog: keys}, path)
			check(t, "exchanges", len(got.list), 0)
			check(t, "blind", got.totals.LostByReason["blind:tls"], got.totals.BytesSeen)
			if !strings.Contains(strings.Join(rep.Warnings, "\n"), reason) {
				t.Errorf("warnings: %q, want %q in them", rep.Warnings, reason)
			}
		}
	}
}

// segmentsOf are the pieces of a wire as a source would yield them.
func segmentsOf(w *wire) []Segment {
	info := &ConnInfo{ID: 1, SawSYN: true, Start: captureStart}
	var list []Segment
	var pos [2]int64
	for i, p := range w.pieces {
		list = append(list, Segment{Conn: info, Dir: p.dir, Pos: pos[p.dir], Data: p.data, Want: len(p.data), Time: captureStart + int64(i)*1e6})
		pos[p.dir] += int64(len(p.data))
	}
	return list
}

// TestKeyLogAppended: a secret that is written after the packets were seen is
// found, and the times are the packets'.
func TestKeyLogAppended(t *testing.T) {
	client, server, keys := configs(t)
	w := converse(t, client, server, 1)
	path := filepath.Join(t.TempDir(), "keys.log")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := OpenKeyLog(path)
	if err != nil {
		t.Fatal(err)
	}
	src := &lateKeys{segments: segmentsOf(w), path: path, text: keys.String(), after: len(w.pieces) - 2}
	var c collector
	if _, err := Run(context.Background(), src, &c, Config{KeepText: true, KeyLog: log}); err != nil {
		t.Fatal(err)
	}
	checkStreamed(t, c.list, 1)
	if *c.list[0].Record.TEndUs < 3000 {
		t.Errorf("end: %d µs, want the packets' times", *c.list[0].Record.TEndUs)
	}
}

// lateKeys writes the key log after some segments.
type lateKeys struct {
	segments   []Segment
	path, text string
	after      int
}

func (s *lateKeys) Next() (Segment, error) {
	if len(s.segments) == 0 {
		return Segment{}, io.EOF
	}
	if s.after--; s.after == 0 {
		if err := os.WriteFile(s.path, []byte(s.text), 0o600); err != nil {
			return Segment{}, err
		}
	}
	seg := s.segments[0]
	s.segments = s.segments[1:]
	return seg, nil
}

func (s *lateKeys) Stats() SourceStats { return SourceStats{} }
func (s *lateKeys) Name() string       { return "live" }
func (s *lateKeys) Close() error       { return nil }

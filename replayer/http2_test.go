package replayer

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// httpServer answers with the given versions of HTTP, over real sockets.
func httpServer(t *testing.T, secure bool, streams int, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(answer)
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	s.Config.Protocols = &protocols
	s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streams}
	if !secure {
		s.Start()
		t.Cleanup(s.Close)
		return s
	}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// Over HTTP/2, in clear and encrypted, the same requests get the same answers
// as over HTTP/1.1.
func TestHTTP2(t *testing.T) {
	for _, secure := range []bool{false, true} {
		var mu sync.Mutex
		protos := make(map[string]int)
		server := httpServer(t, secure, 100, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			protos[r.Proto]++
			mu.Unlock()
			if r.Method == http.MethodGet {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"data":[]}`))
				return
			}
			tokensAnswer(5*ms, ms, 5)(w, r)
		})
		cfg := one(20, time.Second)
		cfg.Target, cfg.HTTP2, cfg.MaxLag = server.URL, true, time.Minute
		if secure {
			roots := x509.NewCertPool()
			roots.AddCert(server.Certificate())
			cfg.RootCAs = roots
		}
		out := &memory{}
		res, err := Run(t.Context(), cfg, chatTrace(20, 50*ms), out)
		if err != nil || res.Outcomes[trace.OutcomeOK] != 20 {
			t.Fatalf("secure %v: outcomes %v, error %v", secure, res, err)
		}
		for _, r := range out.records {
			if r.HTTPVersion != "2" || r.TLS != secure || *r.ChunkCount != 5 || r.TSentUs == nil || r.TReqEndUs == nil || *r.TRespHeadersUs < *r.TSentUs {
				t.Errorf("secure %v: record of HTTP %s, TLS %v, %d chunks, sent %d, head %d", secure, r.HTTPVersion, r.TLS, *r.ChunkCount, *r.TSentUs, *r.TRespHeadersUs)
			}
		}
		if protos["HTTP/2.0"] < 20 {
			t.Errorf("secure %v: %v", secure, protos)
		}
		// One where the machine is quick; more where requests were due during the
		// handshake of the one before.
		if res.Levels[0].ConnsOpened >= 20 {
			t.Errorf("secure %v: %d connections opened for 20 short requests", secure, res.Levels[0].ConnsOpened)
		}
	}
}

// A service that allows 8 streams per connection: the ninth gets a connection
// of its own, and nothing waits inside the client (cases.md 16's second twin).
func TestStreamLimitIsNoLimitOfOurs(t *testing.T) {
	server := httpServer(t, false, 8, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"data":[]}`))
			return
		}
		tokensAnswer(500*ms, 0, 1)(w, r)
	})
	cfg := one(40, time.Second)
	cfg.Target, cfg.HTTP2, cfg.MaxLag = server.URL, true, time.Minute
	out := &memory{}
	res, err := Run(t.Context(), cfg, chatTrace(40, 25*ms), out)
	if err != nil || res.Outcomes[trace.OutcomeOK] != 40 {
		t.Fatalf("outcomes %v, error %v", res, err)
	}
	l := res.Levels[0]
	if l.InFlightMax < 15 || l.ConnsOpened < 2 {
		t.Errorf("%d in flight at most, %d connections: 40/s of 0.5 s need 20 streams", l.InFlightMax, l.ConnsOpened)
	}
}

// A target that speaks HTTP/1.1 only is not sent HTTP/2 in silence.
func TestHTTP2IsRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[]}`))
	}))
	defer server.Close()
	cfg := one(1, time.Second)
	cfg.Target, cfg.HTTP2 = server.URL, true
	_, err := Run(t.Context(), cfg, chatTrace(2, time.Second), &memory{})
	if err == nil || !strings.Contains(err.Error(), "HTTP/2") {
		t.Errorf("error %v", err)
	}
}

package replayer

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Case 19: the kill switch with 4,000 streams open.
func TestKillSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		const stopAt = 4*time.Second + 500*time.Microsecond // between two sends
		time.AfterFunc(stopAt, cancel)
		began := time.Now()
		var lastSend atomic.Int64
		s := &stub{answer: func(w http.ResponseWriter, r *http.Request) {
			lastSend.Store(int64(time.Since(began)))
			e := stream200(w)
			e.text("a")
			<-r.Context().Done()
		}}
		out := &memory{}
		res, err := replayTo(t, ctx, s, one(1000, 10*time.Second), chatTrace(1000, ms), out)
		if !errors.Is(err, ErrStopped) {
			t.Fatalf("error %v", err)
		}
		checkIdentity(t, res, out)
		killed, unsent := out.count(trace.OutcomeClientAbort, trace.DetailKill), out.count(trace.OutcomeNotSent, trace.DetailStop)
		if killed < 3980 || killed+unsent != 10_000 {
			t.Errorf("%d killed, %d not sent of 10,000", killed, unsent)
		}
		if took := time.Since(began); took > stopAt+time.Second || time.Duration(lastSend.Load()) > stopAt+50*ms {
			t.Errorf("last send at %v, all over at %v; stopped at %v", time.Duration(lastSend.Load()), took, stopAt)
		}
		for _, r := range out.records {
			if r.Outcome == trace.OutcomeClientAbort && (*r.ChunkCount != 1 || *r.StatusCode != 200) {
				t.Fatalf("what was seen before the kill is lost: %+v", r.Result)
			}
		}
		if out.manifest.Run == nil || !out.manifest.Clean || res.Validity.Verdict != trace.Invalid {
			t.Errorf("manifest %+v", out.manifest)
		}
	})
}

// What is still open when the drain ends is cut, and counts as an error.
func TestDrain(t *testing.T) {
	s := &stub{answer: func(w http.ResponseWriter, r *http.Request) {
		e := stream200(w)
		e.text("a")
		<-r.Context().Done()
	}}
	cfg := one(10, time.Second)
	cfg.Drain = 5 * time.Second
	virtual(t, s, cfg, chatTrace(10, 100*ms), func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil || out.count(trace.OutcomeClientAbort, trace.DetailDrain) != 10 {
			t.Fatalf("outcomes %v, error %v", res.Outcomes, err)
		}
		l := res.Levels[0]
		if l.Tally.Errors != 10 || l.InFlightAtEnd != 10 || l.DrainedUnixNs-l.EndUnixNs != int64(5*time.Second) {
			t.Errorf("level %+v", l)
		}
	})
}

// Requests that the limit held back until the drain was over were never sent.
func TestDrainOfAQueue(t *testing.T) {
	cfg := one(10, time.Second)
	cfg.Drain, cfg.MaxInFlight, cfg.CapPolicy = 2*time.Second, 1, CapQueue
	s := &stub{answer: tokensAnswer(time.Second, 0, 1)}
	virtual(t, s, cfg, chatTrace(10, 100*ms), func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil || out.count(trace.OutcomeNotSent, trace.DetailCap) < 6 {
			t.Errorf("outcomes %v, error %v", res.Outcomes, err)
		}
	})
}

// Case 22: a request lost with an idle connection is said to be, and is never
// sent again in silence.
func TestIdleConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var latest atomic.Pointer[fragile]
		pipes := newPipes()
		cfg := one(1, 3*time.Second)
		cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := pipes.dial(ctx, network, addr)
			if err == nil {
				f := &fragile{Conn: c}
				latest.Store(f)
				c = f
			}
			return c, err
		}
		var served atomic.Int32
		s := &stub{answer: func(w http.ResponseWriter, r *http.Request) {
			served.Add(1)
			tokensAnswer(0, 0, 1)(w, r)
		}}
		server := &http.Server{Handler: s}
		go func() { _ = server.Serve(pipes) }()
		cfg.Target = "http://192.0.2.1"
		out := &memory{}
		time.AfterFunc(500*ms, func() { latest.Load().broken.Store(true) })
		res, err := Run(t.Context(), cfg, chatTrace(3, time.Second), out)
		_ = server.Close()
		if err != nil {
			t.Fatal(err)
		}
		checkIdentity(t, res, out)
		if out.count(trace.OutcomeConnError, trace.DetailResetReused) != 1 || served.Load() != 2 || res.Levels[0].ConnsOpened != 2 {
			t.Errorf("outcomes %v, %d served, %d connections", res.Outcomes, served.Load(), res.Levels[0].ConnsOpened)
		}
		mustBeInvalid(t, res, "lost by the client")
		synctest.Wait()
	})
}

// fragile is a connection that the other side has reset: the next write finds
// out.
type fragile struct {
	net.Conn
	broken atomic.Bool
}

func (f *fragile) Write(p []byte) (int, error) {
	if f.broken.Load() {
		_ = f.Close()
		return 0, &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}
	}
	return f.Conn.Write(p)
}

// Failures to connect, each by its cause.
func TestNoConnection(t *testing.T) {
	rows := []struct {
		name    string
		err     error
		outcome trace.Outcome
		detail  trace.OutcomeDetail
	}{
		{"refused", syscall.ECONNREFUSED, trace.OutcomeConnError, trace.DetailRefused},
		{"reset", syscall.ECONNRESET, trace.OutcomeConnError, trace.DetailReset},
		{"unknown name", &net.DNSError{Err: "no such host"}, trace.OutcomeConnError, trace.DetailDNS},
		{"no route", syscall.EHOSTUNREACH, trace.OutcomeConnError, ""},
		{"never", context.DeadlineExceeded, trace.OutcomeTimeout, trace.DetailTTFT},
		{"too many files", syscall.EMFILE, trace.OutcomeNotSent, trace.DetailClientFault},
		{"no port left", syscall.EADDRNOTAVAIL, trace.OutcomeNotSent, trace.DetailClientFault},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pipes, dials := newPipes(), 0
				cfg := one(1, 2*time.Second)
				cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
					if dials++; dials == 1 { // the preflight
						return pipes.dial(ctx, network, addr)
					}
					return nil, &net.OpError{Op: "dial", Err: row.err}
				}
				server := &http.Server{Handler: &stub{}}
				go func() { _ = server.Serve(pipes) }()
				cfg.Target = "http://192.0.2.1"
				out := &memory{}
				res, err := Run(t.Context(), cfg, chatTrace(2, time.Second), out)
				_ = server.Close()
				if err != nil {
					t.Fatal(err)
				}
				checkIdentity(t, res, out)
				if n := out.count(row.outcome, row.detail); n != 2 {
					t.Errorf("%d of 2 are %s %s: %v", n, row.outcome, row.detail, res.Outcomes)
				}
				if row.outcome == trace.OutcomeNotSent {
					mustBeInvalid(t, res, "lost by the client")
				}
			})
		})
	}
}

// Case 8, over TCP: five events, then a reset.
func TestResetInTheStream(t *testing.T) {
	s := &stub{answer: func(w http.ResponseWriter, _ *http.Request) {
		e := stream200(w)
		for range 5 {
			e.text("a")
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		time.Sleep(20 * ms) // the events must have left before the reset throws them away
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}}
	server := httptest.NewServer(s)
	defer server.Close()
	cfg := one(10, 100*ms)
	cfg.Target, cfg.Drain = server.URL, 10*time.Second
	out := &memory{}
	if _, err := Run(t.Context(), cfg, chatTrace(2, 100*ms), out); err != nil {
		t.Fatal(err)
	}
	r := out.only(t)
	if r.Outcome != trace.OutcomeServerAbort || *r.OutcomeDetail != trace.DetailRST || *r.StatusCode != 200 ||
		*r.ChunkCount != 5 || len(r.Chunks) != 5 || r.RespWireBytes == 0 || r.RespComplete {
		t.Errorf("%s %v, chunks %d, bytes %d", r.Outcome, *r.OutcomeDetail, len(r.Chunks), r.RespWireBytes)
	}
	if r.ClientPort == nil || r.TConnUs == nil || *r.ConnReused {
		t.Errorf("connection %+v, port %v", r.Conn, r.ClientPort)
	}
}

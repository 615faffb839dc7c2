package replayer

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lambdac/lambdac/internal/fault"
	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// outcome is what became of one item: its Record and what the level needs to
// know of it.
type outcome struct {
	it  *item
	rec *trace.Record
	// dispatched is when a worker took it; zero = never.
	dispatched time.Time
	// lag is the client's own delay: send less due time, less the wait for a
	// connection, which is the service's to answer for.
	lag time.Duration
}

// exchange is one request being sent and its answer being read. Its stamps
// come from hooks that net/http calls on its own goroutines, some of them
// after RoundTrip has returned; hence the atomics.
type exchange struct {
	it  *item
	rec *trace.Record
	ctx context.Context
	dog *watchdog
	// plan is where to give up on the answer; nil = nowhere.
	plan   *cancelPlan
	cancel context.CancelCauseFunc

	wantConn, gotConn   stamp
	wroteHead, wroteAll stamp
	firstByte           stamp
	reused, tlsFailed   atomic.Bool
	clientPort          atomic.Int32

	stream stream
	// texts are the answer's, of a probe and where features are taken.
	texts []trace.AnswerText
	// fault is what the run's faults know of it; nil = there are none.
	fault *fault.Exchange
}

// stamp is a moment as nanoseconds after the due time, plus one; 0 = not seen.
type stamp struct{ ns atomic.Int64 }

func (s *stamp) set(d time.Duration) { s.ns.CompareAndSwap(0, int64(d)+1) }

func (s *stamp) get() (d time.Duration, ok bool) {
	v := s.ns.Load()
	return time.Duration(v - 1), v != 0
}

func (s *stamp) us() *int64 {
	if d, ok := s.get(); ok {
		return new(d.Microseconds())
	}
	return nil
}

// now is the time since the request was due.
func (x *exchange) now() time.Duration { return time.Since(x.it.due) }

// exchange sends an item and returns what became of it. It never fails: every
// failure is an outcome.
func (s *sender) exchange(it *item) *outcome {
	out := &outcome{it: it, rec: s.info.record(it), dispatched: time.Now()}
	out.lag = out.dispatched.Sub(it.due)
	if s.ctx.Err() != nil {
		out.rec.SetOutcome(trace.OutcomeNotSent, unsentDetail(s.ctx, it.held))
		out.dispatched = time.Time{}
		return out
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	x := &exchange{it: it, rec: out.rec, ctx: ctx, cancel: cancel, dog: watch(s.limits, cancel)}
	defer x.dog.stop()
	if !s.patient {
		x.plan = plannedCancel(it.src)
	}
	defer x.giveUpLater()()
	resp, err := s.send(x)
	if err != nil {
		x.failed(err)
	} else {
		x.read(resp, s.keep)
	}
	x.times(out)
	x.faulted()
	s.quality.scored(x)
	s.features.take(x)
	return out
}

// request builds what goes over the wire. It has no GetBody: with one,
// net/http would silently send a request again that was lost with an idle
// connection.
func (s *sender) request(x *exchange) *http.Request {
	u := under(s.target, x.it.prompt.path)
	body := x.it.prompt.body
	x.it.prompt.body = nil // the request owns it now
	req := &http.Request{
		Method: http.MethodPost, URL: &u, Host: u.Host, Header: s.headerFor(x.it.src.APIKind),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	return req.WithContext(httptrace.WithClientTrace(x.ctx, x.hooks()))
}

// anthropicVersion is the version of Anthropic's API that requests are written
// for; it wants one with each.
const anthropicVersion = "2023-06-01"

// headerFor is the header of a request of one API.
func (s *sender) headerFor(kind trace.APIKind) http.Header {
	if kind != trace.KindAnthropicMessages || s.header.Get("Anthropic-Version") != "" {
		return s.header
	}
	h := s.header.Clone()
	h.Set("Anthropic-Version", anthropicVersion)
	return h
}

// plainPath is a path without its query.
func plainPath(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return path
}

// under returns the address of a path, with or without a query, under the
// target's.
func under(target *url.URL, path string) url.URL {
	u := *target
	path, query, _ := strings.Cut(path, "?")
	u.RawPath = u.EscapedPath() + path
	plain, err := url.PathUnescape(u.RawPath)
	if err != nil { // a stray %: as it stands
		plain = u.RawPath
	}
	u.Path, u.RawQuery = plain, query
	return u
}

func (x *exchange) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { x.wantConn.set(x.now()) },
		GotConn: func(c httptrace.GotConnInfo) {
			x.gotConn.set(x.now())
			x.reused.Store(c.Reused)
			if a, ok := c.Conn.LocalAddr().(*net.TCPAddr); ok {
				x.clientPort.Store(int32(a.Port))
			}
		},
		TLSHandshakeDone:     func(_ tls.ConnectionState, err error) { x.tlsFailed.Store(err != nil) },
		WroteHeaders:         func() { x.wroteHead.set(x.now()) },
		WroteRequest:         func(i httptrace.WroteRequestInfo) { x.wrote(i) },
		GotFirstResponseByte: func() { x.firstByte.set(x.now()) },
	}
}

func (x *exchange) wrote(i httptrace.WroteRequestInfo) {
	if i.Err == nil {
		x.wroteAll.set(x.now())
	}
}

// times copies the stamps into the record.
func (x *exchange) times(out *outcome) {
	r := x.rec
	r.TSentUs, r.TReqEndUs = x.wroteHead.us(), x.wroteAll.us()
	if head := r.TRespHeadersUs; head != nil && r.TSentUs != nil && *head < *r.TSentUs {
		// HTTP/2 stamps after the write, on another goroutine than the one that
		// reads: the answer's head may be there first. It was sent before that.
		r.TSentUs = new(*head)
	}
	r.ReqComplete = r.TReqEndUs != nil
	if got, ok := x.gotConn.get(); ok {
		r.ConnReused = new(x.reused.Load())
		want, _ := x.wantConn.get()
		if !x.reused.Load() {
			r.TConnUs = new((got - want).Microseconds())
		}
		if sent, ok := x.wroteHead.get(); ok {
			out.lag = max(0, sent-(got-want)-x.held())
		}
	}
	if port := x.clientPort.Load(); port != 0 {
		r.ClientPort = new(port)
	}
	if r.LagCause == nil && out.lag > lateAfter {
		r.LagCause = new(trace.LagClient)
	}
}

// lateAfter is the delay of the client from which a record says so.
const lateAfter = time.Millisecond

// read reads the answer to its end and judges it.
func (x *exchange) read(resp *http.Response, keep []string) {
	defer resp.Body.Close()
	head := x.now()
	x.dog.head(x.it.due.Add(head))
	r := x.rec
	r.StatusCode = new(int32(resp.StatusCode))
	r.TRespHeadersUs = new(head.Microseconds())
	r.HTTPVersion = httpVersion(resp.ProtoMajor, resp.ProtoMinor)
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		r.ContentEncoding = new(short(strings.ToLower(coding)))
	}
	contentType := resp.Header.Get("Content-Type")
	r.RespHeaders = respHeaders(resp, keep)
	x.stream = newStream(x, x.opening(contentType))
	x.stream.answer.Head(resp.Header.Get)
	body := io.Reader(resp.Body)
	if resp.StatusCode < 200 {
		// 101: the body is the bare connection, which our deadlines do not end.
		body = http.NoBody
	}
	err := x.stream.run(body, head, endsByClose(resp))
	x.judge(err)
	answers.Put(x.stream.answer)
	x.stream.answer = nil
}

// httpVersion is "1.0", "1.1" or "2".
func httpVersion(major, minor int) string {
	if major >= 2 {
		return strconv.Itoa(major)
	}
	return fmt.Sprintf("%d.%d", major, minor)
}

// opening is how the body is read; a coded body, which was not asked for, is
// counted and not read.
func (x *exchange) opening(contentType string) llmwire.Opening {
	kind := x.it.src.APIKind
	if x.rec.ContentEncoding != nil {
		return llmwire.NewOpening(trace.KindOther, llmwire.FramingOpaque)
	}
	return llmwire.NewOpening(kind, llmwire.AnswerFraming(kind, plainPath(x.it.prompt.path), contentType))
}

// respHeaders keeps some fields: what tells how the service refused, the sort
// of body, and what the user wants to see.
func respHeaders(resp *http.Response, keep []string) map[string]string {
	kept := make(map[string]string, 2)
	for _, name := range keep {
		if v := resp.Header.Get(name); v != "" {
			kept[strings.ToLower(name)] = short(v)
		}
	}
	return kept
}

// short bounds a word that the service chose.
func short(s string) string { return strings.ToValidUTF8(s[:min(len(s), 128)], "") }

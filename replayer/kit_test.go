package replayer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// memory is an Output that keeps everything.
type memory struct {
	mu       sync.Mutex
	records  []*trace.Record
	features []*trace.Features
	levels   []trace.Level
	marks    []trace.Mark
	manifest trace.Manifest
	fail     error // of every Write
}

func (m *memory) Write(r *trace.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	m.records = append(m.records, r)
	return nil
}

func (m *memory) WriteFeatures(f *trace.Features) error {
	m.features = append(m.features, f)
	return m.fail
}

func (m *memory) SetLevels(l []trace.Level) error {
	m.levels = slices.Clone(l)
	return nil
}

func (m *memory) SetMarks(marks []trace.Mark) error {
	m.marks = slices.Clone(marks)
	return nil
}

func (m *memory) SetManifest(update func(*trace.Manifest)) error {
	update(&m.manifest)
	return nil
}

// only returns the one record of a run of one request.
func (m *memory) only(t *testing.T) *trace.Record {
	t.Helper()
	if len(m.records) != 1 {
		t.Fatalf("%d records, want 1", len(m.records))
	}
	return m.records[0]
}

// byStart sorts the records by when they were due.
func (m *memory) byStart() []*trace.Record {
	return slices.SortedFunc(slices.Values(m.records), func(a, b *trace.Record) int {
		return int(a.StartUnixNs - b.StartUnixNs)
	})
}

func (m *memory) count(o trace.Outcome, d trace.OutcomeDetail) int {
	n := 0
	for _, r := range m.records {
		if r.Outcome == o && (d == "" || r.OutcomeDetail != nil && *r.OutcomeDetail == d) {
			n++
		}
	}
	return n
}

// pipes is a network of net.Pipes: it lives in virtual time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, errors.New("listener closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stub is the service of a test.
type stub struct {
	answer  func(w http.ResponseWriter, r *http.Request)
	models  http.HandlerFunc // answers the preflight; nil = 200 and JSON
	mu      sync.Mutex
	bodies  []string
	headers []http.Header
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		if s.models != nil {
			s.models(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":[]}`)
		return
	}
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.bodies = append(s.bodies, string(body))
	s.headers = append(s.headers, r.Header.Clone())
	s.mu.Unlock()
	s.answer(w, r)
}

// virtual runs a replay against a stub in virtual time.
func virtual(t *testing.T, s *stub, cfg Config, tr Trace, check func(t *testing.T, res *Result, out *memory, err error)) {
	t.Helper()
	out := &memory{}
	virtualInto(t, s, cfg, tr, out, func(t *testing.T, res *Result, err error) { check(t, res, out, err) })
}

// virtualInto is virtual with an output of the test's own.
func virtualInto(t *testing.T, s *stub, cfg Config, tr Trace, out *memory, check func(t *testing.T, res *Result, err error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		res, err := replayTo(t, t.Context(), s, cfg, tr, out)
		check(t, res, err)
		if res != nil {
			checkIdentity(t, res, out)
		}
	})
}

// replayTo runs a replay against a stub over pipes; it is for bubbles.
func replayTo(t *testing.T, ctx context.Context, s *stub, cfg Config, tr Trace, out Output) (*Result, error) {
	t.Helper()
	net := newPipes()
	server := &http.Server{Handler: s}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(net)
	}()
	if cfg.Dial == nil {
		cfg.Dial = net.dial
	}
	if cfg.Target == "" {
		cfg.Target = "http://192.0.2.1:8000"
	}
	res, err := Run(ctx, cfg, tr, out)
	_ = server.Shutdown(context.Background()) // waits for handlers that still sleep
	<-served
	synctest.Wait()
	return res, err
}

// checkIdentity: each scheduled request has one record and one outcome.
func checkIdentity(t *testing.T, res *Result, out *memory) {
	t.Helper()
	sum := int64(0)
	for _, n := range res.Outcomes {
		sum += n
	}
	if sum != res.Scheduled || out.fail == nil && int64(len(out.records)) != sum {
		t.Errorf("scheduled %d, outcomes %d, records %d: must be equal", res.Scheduled, sum, len(out.records))
	}
	seen := make(map[string]bool)
	for _, r := range out.records {
		key := fmt.Sprint(*r.Level, r.RequestID)
		if seen[key] {
			t.Errorf("two records of level and request %s", key)
		}
		seen[key] = true
		checkTimes(t, r)
	}
	for _, l := range res.Levels {
		n := int64(0)
		for _, k := range l.Outcomes {
			n += k
		}
		if n != l.Scheduled || l.Tally.Total() != l.Scheduled {
			t.Errorf("level %d: scheduled %d, outcomes %d, tally %d", l.Index, l.Scheduled, n, l.Tally.Total())
		}
	}
}

// checkTimes: no time is negative, and chunks add up to their moments.
func checkTimes(t *testing.T, r *trace.Record) {
	t.Helper()
	for name, v := range map[string]*int64{
		"sent": r.TSentUs, "req_end": r.TReqEndUs, "headers": r.TRespHeadersUs, "event": r.TFirstEventUs,
		"first": r.TFirstTokenUs, "visible": r.TFirstVisibleUs, "last": r.TLastTokenUs, "end": r.TEndUs,
		"conn": r.TConnUs, "gap": r.MaxGapUs,
	} {
		if v != nil && *v < 0 {
			t.Errorf("%s: %s = %d", r.RequestID, name, *v)
		}
	}
	if r.Outcome == "" {
		t.Errorf("%s has no outcome", r.RequestID)
	}
}

// chatTrace has n chats of 20 prompt and 10 answer tokens, a gap apart.
func chatTrace(n int, gap time.Duration) Trace {
	tr := Trace{Manifest: &trace.Manifest{TraceID: "t", Seal: &trace.Seal{Mode: trace.ModeShape, Version: "1"}}}
	for i := range n {
		tr.Records = append(tr.Records, chatRecord(i, time.Duration(i)*gap))
	}
	return tr
}

func chatRecord(i int, at time.Duration) *trace.Record {
	r := &trace.Record{Identity: trace.Identity{RequestID: fmt.Sprintf("r%d", i), Origin: trace.OriginCapture}}
	r.StartUnixNs, r.ArrivalResolutionNs = int64(at), 1
	r.APIKind, r.Stream, r.RequestModel = trace.KindOpenAIChat, true, new("m")
	r.Messages = []trace.Message{{Role: trace.RoleUser, Bytes: 80}}
	r.ReqBodyBytes = 150
	r.InputTokens, r.OutputTokens, r.TokenSource = new(int64(20)), new(int64(10)), trace.TokensUsage
	r.Outcome = trace.OutcomeOK
	return r
}

// one is a configuration that sends chatTrace(n, 1s/perS) once as recorded.
func one(perS float64, hold time.Duration) Config {
	return Config{Loads: []Load{{PerS: perS}}, Hold: hold, Drain: time.Hour, Settle: time.Millisecond, Seed: 1}
}

// sender writes an event stream.
type events struct {
	w http.ResponseWriter
}

func stream200(w http.ResponseWriter) events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	return events{w}
}

// raw writes bytes as they are, in one flush.
func (e events) raw(s string) {
	_, _ = io.WriteString(e.w, s)
	e.w.(http.Flusher).Flush()
}

func (e events) data(s string) { e.raw("data: " + s + "\n\n") }

func (e events) text(s string) {
	e.data(`{"choices":[{"index":0,"delta":{"content":"` + s + `"}}]}`)
}

func (e events) finish(prompt, completion int) {
	e.data(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	e.data(fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, prompt, completion))
	e.data("[DONE]")
}

// tokensAnswer streams n tokens: the first after ttft, the others at gaps.
func tokensAnswer(ttft, gap time.Duration, n int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		e := stream200(w)
		time.Sleep(ttft)
		e.text("a")
		for range n - 1 {
			time.Sleep(gap)
			e.text("a")
		}
		e.finish(20, n)
	}
}

// promptWords counts the filler words of a request body's content.
func promptWords(body string) int {
	n := 0
	for _, part := range strings.Split(body, `"content":"`)[1:] {
		text, _, _ := strings.Cut(part, `"`)
		n += len(strings.Fields(text))
	}
	return n
}

func us(v *int64) any {
	if v == nil {
		return nil
	}
	return *v
}

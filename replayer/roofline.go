package replayer

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Roofline is what this machine can send, measured against a stub of our own.
// The stub runs on the same machine and takes a share of its cores, so a
// target on another machine can be sent more.
type Roofline struct {
	// StreamsPerS is the highest load of the ladder at which all levels up to
	// it were valid; 0 = none was. EventsPerStream is the length of a stream.
	StreamsPerS     float64 `json:"streams_per_s"`
	EventsPerStream int     `json:"events_per_stream"`
	// OffsetP50Us is the median of the TTFT measured less the stub's own, at
	// the lowest load; what the client adds to every latency. nil where nothing
	// was answered.
	OffsetP50Us *int64 `json:"offset_p50_us"`
	// LagP99Us is the client's delay at StreamsPerS.
	LagP99Us *int64 `json:"lag_p99_us"`
	// Limit says what held at the next load: the reasons for which it was
	// invalid; empty where the ladder ended first.
	Limit []string `json:"limit"`
	// OpenFiles is how many files this process may have open, PortRange how
	// many local ports it may use to one address of a target; nil where the
	// system does not tell.
	OpenFiles *int `json:"open_files"`
	PortRange *int `json:"port_range"`
}

// The stub's stream: a first token after stubTTFT, and stubEvents in all, each
// a write of its own, stubGap apart.
const (
	stubTTFT   = 20 * time.Millisecond
	stubGap    = 2 * time.Millisecond
	stubEvents = 50
	// rungHold is how long each load is held.
	rungHold = 2 * time.Second
)

// rungs are the loads tried, streams per second.
var rungs = []float64{50, 100, 200, 400, 800, 1600, 3200, 6400}

// MeasureRoofline climbs a ladder of loads against a stub on loopback until
// one is invalid. It takes about 3 s per load. progress, where not nil, hears
// of each.
func MeasureRoofline(ctx context.Context, progress func(perS float64)) (*Roofline, error) {
	stub, err := newStub()
	if err != nil {
		return nil, err
	}
	defer stub.Close()
	out := &Roofline{EventsPerStream: stubEvents, Limit: []string{}}
	if n, ok := maxOpenFiles(); ok {
		out.OpenFiles = &n
	}
	out.PortRange = localPorts()
	for i, perS := range rungs {
		if progress != nil {
			progress(perS)
		}
		var sink rung
		cfg := Config{
			Target: stub.URL, Loads: []Load{{PerS: perS}}, Hold: rungHold, Warmup: rungHold / 4, Drain: 5 * time.Second,
			MaxInFlight: 1 << 16, SharedProcess: true, Seed: 1, Version: "doctor",
		}
		res, err := Run(ctx, cfg, stubTrace(perS), &sink)
		if err != nil {
			return nil, fmt.Errorf("measure roofline at %g/s: %w", perS, err)
		}
		if i == 0 {
			out.OffsetP50Us = sink.offset()
		}
		if l := &res.Levels[0]; len(l.Invalid) > 0 {
			out.Limit = l.Invalid
			return out, nil
		}
		out.StreamsPerS, out.LagP99Us = perS, res.Levels[0].LagP99Us
	}
	return out, nil
}

// rung is an Output that keeps the latencies of one load.
type rung struct{ offsets []int64 }

func (r *rung) Write(rec *trace.Record) error {
	if d, ok := rec.TTFTSent(); ok {
		r.offsets = append(r.offsets, (d - stubTTFT).Microseconds())
	}
	return nil
}

func (r *rung) WriteFeatures(*trace.Features) error { return nil }

func (r *rung) SetLevels([]trace.Level) error { return nil }

func (r *rung) SetMarks([]trace.Mark) error { return nil }

func (r *rung) SetManifest(update func(*trace.Manifest)) error {
	update(&trace.Manifest{})
	return nil
}

func (r *rung) offset() *int64 {
	if len(r.offsets) == 0 {
		return nil
	}
	return new(quantile(r.offsets, 0.5))
}

// stubTrace is one second of evenly spaced short chats.
func stubTrace(perS float64) Trace {
	tr := Trace{Manifest: &trace.Manifest{TraceID: "roofline", Seal: &trace.Seal{Mode: trace.ModeShape, Version: "1"}}}
	n := int(perS)
	for i := range n {
		r := &trace.Record{Identity: trace.Identity{RequestID: strconv.Itoa(i), Origin: trace.OriginCapture}}
		r.StartUnixNs, r.ArrivalResolutionNs = int64(i)*int64(time.Second)/int64(n), 1
		r.APIKind, r.Stream, r.RequestModel = trace.KindOpenAIChat, true, new("stub")
		r.InputTokens, r.OutputTokens, r.TokenSource = new(int64(20)), new(int64(stubEvents)), trace.TokensUsage
		r.Outcome = trace.OutcomeOK
		tr.Records = append(tr.Records, r)
	}
	return tr
}

// stubServer is the stub behind HTTP.
type stubServer struct {
	URL string
	srv *http.Server
}

func newStub() (*stubServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start stub: %w", err)
	}
	s := &stubServer{URL: "http://" + l.Addr().String(), srv: &http.Server{Handler: http.HandlerFunc(answerStub), ReadHeaderTimeout: time.Minute}}
	go func() { _ = s.srv.Serve(l) }() // ends with Close
	return s, nil
}

func (s *stubServer) Close() { _ = s.srv.Close() }

const stubEvent = `data: {"choices":[{"index":0,"delta":{"content":" a"}}]}` + "\n\n"

var stubEnd = strings.Join([]string{
	`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
	fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":%d}}`, stubEvents),
	"data: [DONE]", "",
}, "\n\n")

// answerStub streams by the clock: each event is due at its own time after the
// request, so that a late wake-up does not shift those after it.
func answerStub(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[]}`))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	for i := range stubEvents {
		time.Sleep(time.Until(began.Add(stubTTFT + time.Duration(i)*stubGap)))
		if _, err := w.Write([]byte(stubEvent)); err != nil {
			return
		}
		_ = flush.Flush()
	}
	_, _ = w.Write([]byte(stubEnd))
}

// joined is the limit in one line.
func (r *Roofline) joined() string { return strings.Join(slices.Compact(slices.Clone(r.Limit)), "; ") }

// String says it in a sentence.
func (r *Roofline) String() string {
	if r.StreamsPerS == 0 {
		return fmt.Sprintf("this machine does not hold even %g streams/s: %s", rungs[0], r.joined())
	}
	s := fmt.Sprintf("%g streams/s of %d events each (%g events/s), with the stub on the same machine", r.StreamsPerS, stubEvents, r.StreamsPerS*stubEvents)
	if len(r.Limit) == 0 {
		return s + "; nothing held it back yet"
	}
	return s + "; at the next load: " + r.joined()
}

// localPorts is how many ports the system gives connections of its own;
// nil where it does not say (Linux: ip_local_port_range).
func localPorts() *int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	var low, high int
	if n, _ := fmt.Sscan(string(text), &low, &high); err != nil || n != 2 || high < low {
		return nil
	}
	return new(high - low + 1)
}

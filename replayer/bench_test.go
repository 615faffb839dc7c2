package replayer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/trace"
)

// BenchmarkStreams offers streams of 50 events, or answers that are one JSON
// text, open loop, to a service in another process: in turns by a bare net/http loop, that paces, reads and
// stamps each event and does nothing else, and by the replay. One iteration is
// a second of each. Both share the machine's weather, so that the ratio of
// their CPU times says more than either; streams/s is what arrived, lag the
// client's own delay.
func BenchmarkStreams(b *testing.B) {
	target, _ := startStub(b, "fast")
	for _, load := range []struct {
		stream bool
		perS   float64
	}{{true, 1000}, {true, 2000}, {true, 3000}, {false, 4000}, {false, 8000}} {
		b.Run(fmt.Sprintf("stream=%v/%v", load.stream, load.perS), func(b *testing.B) {
			var bare, replay benchSum
			b.ReportAllocs()
			for range b.N {
				bare.time(func() (int, int64, int64) { return bareLoop(b, target, load.perS, load.stream) })
				replay.time(func() (int, int64, int64) { return benchReplay(b, target, load.perS, load.stream) })
			}
			bare.report(b, "bare-")
			replay.report(b, "")
			b.ReportMetric(replay.cpuPerStream()/bare.cpuPerStream(), "cpu/bare")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// benchSum adds up the turns of one loop.
type benchSum struct {
	turns, streams int
	cpu            time.Duration
	p50, p99       []int64 // of the lag in each turn, µs
}

func (s *benchSum) time(loop func() (streams int, p50, p99 int64)) {
	before, _ := processCPU()
	n, p50, p99 := loop()
	after, _ := processCPU()
	s.turns, s.streams, s.cpu = s.turns+1, s.streams+n, s.cpu+after-before
	s.p50, s.p99 = append(s.p50, p50), append(s.p99, p99)
}

func (s *benchSum) cpuPerStream() float64 {
	return float64(s.cpu.Microseconds()) / float64(max(s.streams, 1))
}

// report gives the lags of the median turn.
func (s *benchSum) report(b *testing.B, prefix string) {
	b.ReportMetric(float64(s.streams)/float64(s.turns), prefix+"streams/s")
	b.ReportMetric(s.cpuPerStream(), prefix+"µs/stream")
	b.ReportMetric(float64(quantile(s.p50, 0.5))/1000, prefix+"lag-p50-ms")
	b.ReportMetric(float64(quantile(s.p99, 0.5))/1000, prefix+"lag-p99-ms")
}

// benchReplay offers a load for a second.
func benchReplay(b *testing.B, target string, perS float64, stream bool) (ok int, p50, p99 int64) {
	cfg := Config{Target: target, Loads: []Load{{PerS: perS}}, Hold: time.Second, Seed: 1}
	res, err := Run(b.Context(), cfg, benchChats(stream), &lookedAt{b: b, stream: stream})
	if err != nil {
		b.Fatal(err)
	}
	l := res.Levels[0]
	return int(res.Outcomes[trace.OutcomeOK]), *l.LagP50Us, *l.LagP99Us
}

// bareLoop is the least that a load generator does.
func bareLoop(b *testing.B, target string, perS float64, stream bool) (ok int, p50, p99 int64) {
	var mu sync.Mutex
	var lags []int64
	client := &http.Client{Transport: newTransport(&Config{MaxInFlight: 4096}, new(atomic.Int64))}
	body, send := benchBody(b, stream), bareSend(stream)
	start := time.Now().Add(lead)
	var wg sync.WaitGroup
	for i := range int(perS) {
		due := start.Add(time.Duration(float64(i) / perS * 1e9))
		time.Sleep(time.Until(due))
		wg.Go(func() {
			lag, complete := send(client, target, body, due)
			mu.Lock()
			defer mu.Unlock()
			lags = append(lags, lag.Microseconds())
			if complete {
				ok++
			}
		})
	}
	wg.Wait()
	client.CloseIdleConnections()
	return ok, quantile(lags, 0.5), quantile(lags, 0.99)
}

// bareStream sends one request and stamps each event.
func bareStream(client *http.Client, target string, body []byte, due time.Time) (lag time.Duration, ok bool) {
	lag = time.Since(due)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, target+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return lag, false
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return lag, false
	}
	defer resp.Body.Close()
	stamps := make([]time.Duration, 0, benchEvents)
	buf := make([]byte, readBuffer)
	for {
		n, err := resp.Body.Read(buf)
		for range bytes.Count(buf[:n], []byte("\n\n")) {
			stamps = append(stamps, time.Since(due))
		}
		if err != nil {
			return lag, err == io.EOF && len(stamps) == benchEvents+1
		}
	}
}

func benchBody(b *testing.B, stream bool) []byte {
	p := newPrompter(benchChats(stream).Records[:1], tokens.Words(), &Config{Seed: 1})
	made, err := p.make(p.recs[0], copyKey{})
	if err != nil {
		b.Fatal(err)
	}
	return made.body
}

// BenchmarkPrompts writes prompts of 1,000 tokens.
func BenchmarkPrompts(b *testing.B) {
	recs := chainTrace(50, 20, 4)
	p := testPrompter(recs, CacheAsTrace)
	b.ReportAllocs()
	total := int64(0)
	for i := 0; b.Loop(); i++ {
		made, err := p.make(recs[i%len(recs)], copyKey{instance: int64(i)})
		if err != nil {
			b.Fatal(err)
		}
		total += int64(len(made.body))
	}
	b.SetBytes(total / int64(b.N))
}

// BenchmarkSchedule draws up a level of 300 s at 2,000/s.
func BenchmarkSchedule(b *testing.B) {
	tl := newTimeline(poissonTrace(100_000, 100, 1), 1, true, 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := tl.schedule(Superpose, plan{perS: 2000, hold: 300 * time.Second, seed: 1, cv: 1}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkIdleFaults sends requests to a service in the same process that
// answers at once, without a network, in turns of 500 without faults and with
// three that fall on none: the median over the turns of the CPU time of the
// second by that of the first. A network would make the share smaller.
func BenchmarkIdleFaults(b *testing.B) {
	stream := []byte(strings.Repeat("data: "+`{"id":"c1","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}`+"\n\n", benchEvents) + "data: [DONE]\n\n")
	answer := roundTripper(func(req *http.Request) (*http.Response, error) {
		_ = req.Body.Close()
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1,
			TransferEncoding: []string{"chunked"}, Body: io.NopCloser(bytes.NewReader(stream)), ProtoMajor: 1, ProtoMinor: 1,
		}, nil
	})
	turn := func(injected ...string) time.Duration {
		cfg := one(100, time.Hour).withDefaults()
		cfg.Target, cfg.Faults = "http://192.0.2.1", faults(b, injected...)
		r, err := newRun(&cfg, chatTrace(100, time.Second), &memory{})
		if err != nil {
			b.Fatal(err)
		}
		if err := r.connect(b.Context()); err != nil {
			b.Fatal(err)
		}
		s := r.sender
		s.base.(*http.Transport).RegisterProtocol("http", answer)
		s.ctx, s.info.seal = b.Context(), *r.trace.Manifest.Seal
		before, _ := processCPU()
		for i := range 500 {
			it := newItem(r.recs[i%100], arrival{})
			it.due = time.Now()
			it.prompt, err = r.prompts.make(it.src, copyKey{})
			if err != nil {
				b.Fatal(err)
			}
			if o := s.exchange(it); o.rec.Outcome != trace.OutcomeOK {
				b.Fatal(o.rec.Outcome)
			}
		}
		after, _ := processCPU()
		return after - before
	}
	idle := []string{"http-429,model=none", "cut,share=0.0001%", "delay,from=900ms,for=100ms,path=/nowhere"}
	var ratios []int64 // per million
	for i := range b.N {
		var cpu [2]time.Duration
		for _, with := range []int{i % 2, 1 - i%2} {
			cpu[with] = turn(idle[:3*with]...)
		}
		ratios = append(ratios, int64(1e6*cpu[1].Seconds()/cpu[0].Seconds()))
	}
	b.ReportMetric(float64(quantile(ratios, 0.5))/1e6, "cpu/without")
	b.ReportMetric(float64(quantile(ratios, 0.25))/1e6, "cpu/without-q25")
	b.ReportMetric(float64(quantile(ratios, 0.75))/1e6, "cpu/without-q75")
	b.ReportMetric(0, "ns/op")
}

package replayer

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// benchOpen is how many requests a closed loop keeps open: enough that nobody
// waits, few enough that the answers do not queue.
const benchOpen = 16

// BenchmarkClosed keeps 16 requests open for a second each, in turns by a bare
// net/http loop and by the replay: streams of 50 events, one write each, and
// answers that are one JSON text. What counts is the CPU time of a request,
// which other work on the machine changes little: 1e6 by it is what one core
// could send, and the ratio is how much of the bare loop's that is.
func BenchmarkClosed(b *testing.B) {
	target, _ := startStub(b, "fast")
	for _, stream := range []bool{true, false} {
		b.Run(fmt.Sprintf("stream=%v", stream), func(b *testing.B) {
			var bare, replay benchSum
			var ratios []int64 // in thousandths
			for range b.N {
				was := [2]benchSum{bare, replay}
				bare.time(func() (int, int64, int64) { return bareClosed(b, target, stream), 0, 0 })
				replay.time(func() (int, int64, int64) { return replayClosed(b, target, stream), 0, 0 })
				ratios = append(ratios, int64(1000*bare.since(&was[0])/replay.since(&was[1])))
			}
			for prefix, s := range map[string]*benchSum{"bare-": &bare, "": &replay} {
				b.ReportMetric(s.cpuPerStream(), prefix+"cpu-µs/request")
				b.ReportMetric(1e6/s.cpuPerStream(), prefix+"requests/core-s")
			}
			b.ReportMetric(float64(quantile(ratios, 0.5))/1000, "of-bare")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// since is the CPU time of a request in the turns after before.
func (s *benchSum) since(before *benchSum) float64 {
	return float64((s.cpu - before.cpu).Microseconds()) / float64(max(s.streams-before.streams, 1))
}

// benchChats are chats that the stub streams, or answers whole.
func benchChats(stream bool) Trace {
	tr := chatTrace(1000, time.Millisecond)
	for _, r := range tr.Records {
		r.Stream = stream
	}
	return tr
}

func replayClosed(b *testing.B, target string, stream bool) (ok int) {
	b.Helper()
	cfg := Config{Target: target, Loads: []Load{{InFlight: benchOpen}}, Hold: time.Second, Seed: 1}
	res, err := Run(b.Context(), cfg, benchChats(stream), &lookedAt{b: b, stream: stream})
	if err != nil {
		b.Fatal(err)
	}
	return int(res.Outcomes[trace.OutcomeOK])
}

// lookedAt is an Output that keeps nothing, as a file does.
type lookedAt struct {
	memory
	b      *testing.B
	stream bool
}

func (l *lookedAt) Write(r *trace.Record) error {
	if r.Outcome == trace.OutcomeOK && l.stream && len(r.Chunks) != benchEvents+1 {
		l.b.Errorf("%d chunks", len(r.Chunks))
	}
	return nil
}

// bareClosed is the same by workers that send, read and stamp and do nothing
// else.
func bareClosed(b *testing.B, target string, stream bool) (ok int) {
	b.Helper()
	var answered atomic.Int64
	client := &http.Client{Transport: newTransport(&Config{MaxInFlight: benchOpen}, new(atomic.Int64))}
	defer client.CloseIdleConnections()
	body, send := benchBody(b, stream), bareSend(stream)
	end := time.Now().Add(time.Second)
	var wg sync.WaitGroup
	for range benchOpen {
		wg.Go(func() {
			for now := time.Now(); now.Before(end); now = time.Now() {
				if _, complete := send(client, target, body, now); complete {
					answered.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return int(answered.Load())
}

// bareSend is what a bare loop does with one request.
func bareSend(stream bool) func(client *http.Client, target string, body []byte, due time.Time) (lag time.Duration, ok bool) {
	if stream {
		return bareStream
	}
	return bareWhole
}

// bareWhole sends one request and reads its answer.
func bareWhole(client *http.Client, target string, body []byte, due time.Time) (lag time.Duration, ok bool) {
	lag = time.Since(due)
	resp, err := client.Post(target+"/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return lag, false
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return lag, err == nil && len(answer) > 0
}

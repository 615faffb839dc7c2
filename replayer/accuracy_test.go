package replayer

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// BenchmarkAccuracy replays for three seconds an iteration against a service in
// another process that stamps its own writes, and compares: TTFT from send by
// the client, less the time from the request's arrival to the first write by
// the service, which is what the network and both ends add; and TPOT by the
// client against that of the writes.
func BenchmarkAccuracy(b *testing.B) {
	for _, perS := range []float64{20, 200} {
		b.Run(fmt.Sprint(perS), func(b *testing.B) {
			var ttft, tpot []int64
			for range b.N {
				t, p := accuracy(b, perS, 3*time.Second)
				ttft, tpot = append(ttft, t...), append(tpot, p...)
			}
			for q, name := range map[float64]string{0.5: "p50", 0.99: "p99"} {
				b.ReportMetric(float64(quantile(ttft, q))/1e6, "ttft-offset-ms-"+name)
				b.ReportMetric(float64(quantile(tpot, q))/1e4, "tpot-off-%-"+name)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// accuracy returns by how much the client's TTFT is above the service's, ns,
// and how far its TPOT is off, millionths.
func accuracy(b *testing.B, perS float64, hold time.Duration) (ttft, tpot []int64) {
	b.Helper()
	target, _ := startStub(b, "stamped")
	cfg := Config{Target: target, Loads: []Load{{PerS: perS}}, Hold: hold, Seed: 1, KeepHeaders: []string{stubID}}
	out := &memory{}
	if _, err := Run(b.Context(), cfg, chatTrace(int(perS*hold.Seconds()), time.Duration(1e9/perS)), out); err != nil {
		b.Fatal(err)
	}
	var stamps []stubStamps
	askStub(b, target+"/stamps", &stamps)
	for _, r := range out.records {
		id, err := strconv.Atoi(r.RespHeaders["x-stub-id"])
		if err != nil || r.Outcome != trace.OutcomeOK {
			b.Fatalf("%s: %s, stub's number %v", r.RequestID, r.Outcome, err)
		}
		own := stamps[id]
		seen, _ := r.TTFTSent()
		ttft = append(ttft, int64(seen)-(own.First-own.Arrived))
		each, ok := trace.TPOT(&r.Timing, &r.Usage, r.N)
		if !ok {
			b.Fatalf("%s: no TPOT", r.RequestID)
		}
		wrote := float64(own.Last-own.First) / (benchEvents - 2)
		tpot = append(tpot, int64(1e6*math.Abs(float64(each)/wrote-1)))
	}
	return ttft, tpot
}

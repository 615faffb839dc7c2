package telemetry

import (
	"os"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// BenchmarkHost is the cost of all that is sampled of this machine, once: at 1 Hz
// its time is the share of a core. core-% is that share by the process's CPU time,
// the kernel's part included; under 1 is wanted.
func BenchmarkHost(b *testing.B) {
	s, err := Open(b.Context(), Config{Host: On, Client: On, PID: os.Getpid()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	out := discard{}
	s.out = out
	before, _ := processCPU()
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		for _, w := range s.workers {
			w.read(b.Context())
		}
	}
	after, _ := processCPU()
	s.out = nil
	b.ReportMetric(100*(after-before).Seconds()/float64(n), "core-%")
}

type discard struct{}

func (discard) WriteSample(*trace.Sample) error { return nil }

package tracedir

import (
	"syscall"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// report gives rows per second of CPU time, all threads together, which a
// busy machine changes little, and per second of wall time.
func report(b *testing.B, rows int, start time.Duration) (perCoreS float64) {
	perCoreS = float64(rows) / (cpuTime(b) - start).Seconds()
	b.ReportMetric(perCoreS, "rows/core-s")
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	return perCoreS
}

func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func benchmarkWrite(b *testing.B, chunks int) {
	records := benchRecords(4096, chunks)
	b.ReportAllocs()
	rows, start := 0, cpuTime(b)
	for b.Loop() {
		w, err := Create(b.TempDir(), sealed(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		for range 8 {
			for i := range records {
				r := records[i]
				if err := w.Write(&r); err != nil {
					b.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		rows += 8 * len(records)
	}
	perS := report(b, rows, start)
	if chunks > 0 {
		b.ReportMetric(perS*float64(chunks), "chunks/core-s")
	}
}

func BenchmarkWrite(b *testing.B)         { benchmarkWrite(b, 0) }
func BenchmarkWrite50Chunks(b *testing.B) { benchmarkWrite(b, 50) }

func BenchmarkReadAll(b *testing.B)        { benchmarkRead[trace.Record](b) }
func BenchmarkReadProjection(b *testing.B) { benchmarkRead[timingRow](b) }

func benchmarkRead[T any](b *testing.B) {
	path := b.TempDir()
	w, err := Create(path, sealed(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range benchRecords(16384, 50) {
		if err := w.Write(&r); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	d := open(b, path)
	b.ReportAllocs()
	rows, start := 0, cpuTime(b)
	for b.Loop() {
		for _, err := range Rows[T](d) {
			if err != nil {
				b.Fatal(err)
			}
			rows++
		}
	}
	report(b, rows, start)
}

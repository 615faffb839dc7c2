package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/recorder"
	"github.com/lambdac/lambdac/sanitizer"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// nowhere is an output that keeps nothing.
type nowhere struct{}

func (nowhere) Write(*trace.Record) error               { return nil }
func (nowhere) WriteFeatures(*trace.Features) error     { return nil }
func (nowhere) WriteCapture(*trace.CaptureWindow) error { return nil }
func (nowhere) SetManifest(func(*trace.Manifest)) error { return nil }

// BenchmarkRecords is the way from a capture in memory to sanitized Records.
func BenchmarkRecords(b *testing.B) {
	benchmarkRecord(b, func(*testing.B, *trace.Seal) sanitizer.Output { return nowhere{} })
}

// BenchmarkRecord is the whole of `lambdac record`, up to files on disk.
func BenchmarkRecord(b *testing.B) {
	benchmarkRecord(b, func(b *testing.B, seal *trace.Seal) sanitizer.Output {
		w, err := tracedir.Create(filepath.Join(b.TempDir(), "trace"), newManifest(trace.OriginCapture, seal), tracedir.Options{Force: true})
		if err != nil {
			b.Fatal(err)
		}
		return w
	})
}

// benchmarkRecord reports packets and events per second of CPU time, all
// threads together, which a busy machine changes little, and of wall time.
func benchmarkRecord(b *testing.B, open func(*testing.B, *trace.Seal) sanitizer.Output) {
	file, total := chatFile(40 << 20)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	cfg := sanitizer.Config{Policy: sanitizer.DefaultPolicy(), Mode: trace.ModeShape, Version: version}
	seal, err := sanitizer.Seal(cfg)
	if err != nil {
		b.Fatal(err)
	}
	round := func() {
		out := open(b, &seal)
		clean, err := sanitizer.New(cfg, out)
		if err != nil {
			b.Fatal(err)
		}
		src, err := recorder.OpenReaders([]recorder.Input{{Name: "bench", Reader: bytes.NewReader(file)}})
		if err != nil {
			b.Fatal(err)
		}
		rep, err := recorder.Run(context.Background(), src, clean, recorder.Config{Version: version, KeepText: true})
		if err != nil || rep.Totals.ExchangesSeen != total.Exchanges {
			b.Fatalf("%d of %d exchanges: %v", rep.Totals.ExchangesSeen, total.Exchanges, err)
		}
		if err := clean.Close(); err != nil {
			b.Fatal(err)
		}
		if dir, ok := out.(*tracedir.Writer); ok {
			if err := dir.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	round() // the first one loads vocabularies
	rounds, start := 0, cpuTime(b)
	for b.Loop() {
		round()
		rounds++
	}
	packets, events := float64(rounds)*float64(total.Packets), float64(rounds)*float64(total.Events)
	cpu, wall := (cpuTime(b) - start).Seconds(), b.Elapsed().Seconds()
	b.ReportMetric(packets/cpu, "packets/core-s")
	b.ReportMetric(events/cpu, "events/core-s")
	b.ReportMetric(packets/wall, "packets/s")
	b.ReportMetric(0, "ns/op")
}

func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkTshark reads one capture of 100 MB by `tshark -V` and by the
// program, in turns, and reports how many times quicker ours is, by wall time
// and by CPU time.
func BenchmarkTshark(b *testing.B) {
	tshark, ours := testenv.Command(b, "tshark"), buildBinary(b)
	file := filepath.Join(b.TempDir(), "chats.pcap")
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := writeChats(f, 100<<20); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	var theirs, own spent
	for b.Loop() {
		theirs.run(b, tshark, "-V", "-r", file)
		own.run(b, ours, "record", "--pcap", file, "-o", filepath.Join(b.TempDir(), "trace"), "--force", "--quiet")
	}
	b.ReportMetric(theirs.wall/own.wall, "times-wall")
	b.ReportMetric(theirs.cpu/own.cpu, "times-cpu")
	b.ReportMetric(own.wall/float64(b.N), "own-s")
	b.ReportMetric(0, "ns/op")
}

// spent is the time that commands took, in seconds.
type spent struct{ wall, cpu float64 }

func (s *spent) run(b *testing.B, name string, args ...string) {
	cmd := exec.CommandContext(b.Context(), name, args...)
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v", filepath.Base(name), err)
	}
	s.wall += time.Since(start).Seconds()
	s.cpu += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
}

// BenchmarkStart is the time that the smallest command takes, with everything
// linked that the others need.
func BenchmarkStart(b *testing.B) {
	ours := buildBinary(b)
	var own spent
	for b.Loop() {
		own.run(b, ours, "version")
	}
	b.ReportMetric(1000*own.wall/float64(b.N), "ms")
	b.ReportMetric(1000*own.cpu/float64(b.N), "cpu-ms")
	b.ReportMetric(0, "ns/op")
}

package detect

import (
	"encoding/base64"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cpu is the time that this thread has had, whatever else the machine does.
func cpu(b *testing.B) time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func BenchmarkChat(b *testing.B)  { run(b, []byte(chat(1<<20))) }
func BenchmarkProse(b *testing.B) { run(b, []byte(strings.Repeat(sentences[5], 16<<10))) }
func BenchmarkNumbers(b *testing.B) {
	run(b, []byte(strings.Repeat(`{"ts":1789000000123,"ms":12.345,"ids":[12345,67890,11],"ip":"-"}`+"\n", 16<<10)))
}

func BenchmarkMedia(b *testing.B) {
	raw := make([]byte, 768<<10)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(raw)
	run(b, []byte(`{"type":"image_url","image_url":{"url":"data:image/png;base64,`+base64.StdEncoding.EncodeToString(raw)+`"}}`))
}

func run(b *testing.B, text []byte) {
	s := scanner(b, Config{})
	found := make([]Finding, 0, 1<<16)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := cpu(b)
	for b.Loop() {
		found = s.Find(found[:0], text)
	}
	b.ReportMetric(float64(len(text))*float64(b.N)/1e6/(cpu(b)-before).Seconds(), "MB/cpu-s")
	b.ReportMetric(float64(len(found)), "findings")
}

//go:build amd64 || arm64

package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// What the recording of a service costs it: the same service under the same
// load, watched and not in turn, in pairs of intervals.
const (
	costPairs   = 4
	costSettle  = time.Second
	costMeasure = 2500 * time.Millisecond
	// costT is the 97.5 % quantile of Student's t with costPairs - 1 degrees of
	// freedom.
	costT = 3.182
)

// BenchmarkTarget measures the CPU and the lateness of a service that writes
// 50,000 events a second on 1,000 streams, with and without `lambdac record`
// beside it, and what that takes itself. Percentages are of one core; the ±
// are 95 % intervals over the pairs. 45 s each.
func BenchmarkTarget(b *testing.B) {
	testenv.Root(b)
	binary := buildBinary(b)
	for _, kind := range []string{"plain", "tls"} {
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				compareTarget(b, binary, kind)
			}
		})
	}
}

// BenchmarkOpenStreams measures the memory of a recorder that watches 10,000
// streams, each with an event every five seconds.
func BenchmarkOpenStreams(b *testing.B) {
	testenv.Root(b)
	binary := buildBinary(b)
	for b.Loop() {
		t := startTarget(b, "plain", 5*time.Second)
		r := watch(b, binary, t, "plain")
		ends := t.open(b, 10_000)
		t.interval(b, 10*time.Second)
		b.ReportMetric(r.peakMiB(b), "recorder-MiB")
		ends()
		b.ReportMetric(r.stop(b), "exchanges")
	}
}

func compareTarget(b *testing.B, binary, kind string) {
	t := startTarget(b, kind, 20*time.Millisecond)
	var off, on []targetStats
	var cpu, peak, lost float64
	for range costPairs {
		ends := t.open(b, 1000)
		off = append(off, t.interval(b, costMeasure))
		ends()
		r := watch(b, binary, t, kind)
		ends = t.open(b, 1000)
		before := r.cpu(b)
		s := t.interval(b, costMeasure)
		cpu += (r.cpu(b) - before) / (s.Seconds + costSettle.Seconds()) / costPairs
		peak = max(peak, r.peakMiB(b))
		on = append(on, s)
		ends()
		r.stop(b)
		lost += r.lost
	}
	added := paired(off, on, func(s targetStats) float64 { return 100 * float64(s.CPUNs) / 1e9 / s.Seconds })
	perWrite := paired(off, on, func(s targetStats) float64 { return float64(s.CPUNs) / 1e3 / float64(s.Writes) })
	b.ReportMetric(mean(on, func(s targetStats) float64 { return float64(s.Writes) / s.Seconds }), "writes/s")
	b.ReportMetric(mean(off, func(s targetStats) float64 { return 100 * float64(s.CPUNs) / 1e9 / s.Seconds }), "target-%")
	b.ReportMetric(added.mean, "added-%")
	b.ReportMetric(added.half, "added-±%")
	b.ReportMetric(perWrite.mean, "added-µs/write")
	b.ReportMetric(perWrite.half, "added-±µs/write")
	for name, list := range map[string][]targetStats{"off": off, "on": on} {
		b.ReportMetric(mean(list, func(s targetStats) float64 { return float64(s.P50Us) }), "p50-"+name+"-µs")
		b.ReportMetric(mean(list, func(s targetStats) float64 { return float64(s.P99Us) }), "p99-"+name+"-µs")
	}
	b.ReportMetric(100*cpu, "recorder-%")
	b.ReportMetric(peak, "recorder-MiB")
	b.ReportMetric(lost, "lost-bytes")
	b.ReportMetric(0, "ns/op")
}

// difference is a mean of differences within pairs, and half the width of its
// 95 % interval.
type difference struct{ mean, half float64 }

func paired(off, on []targetStats, of func(targetStats) float64) difference {
	var sum, squares float64
	for i := range off {
		d := of(on[i]) - of(off[i])
		sum, squares = sum+d, squares+d*d
	}
	n := float64(len(off))
	variance := max(0, squares-sum*sum/n) / (n - 1)
	return difference{sum / n, costT * math.Sqrt(variance/n)}
}

func mean(list []targetStats, of func(targetStats) float64) (sum float64) {
	for _, s := range list {
		sum += of(s) / float64(len(list))
	}
	return sum
}

// startedTarget is an sseTarget under way.
type startedTarget struct {
	addr, kind string
	in         io.Writer
	out        *bufio.Reader
}

func startTarget(b *testing.B, kind string, every time.Duration) *startedTarget {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := &exec.Cmd{Path: self, Args: []string{"ssetarget", kind, every.String()}, Stderr: os.Stderr}
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	t := &startedTarget{kind: kind, in: in, out: bufio.NewReader(out)}
	line, err := t.out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	t.addr = strings.TrimSpace(line)
	return t
}

// interval lets the target settle and measures it for a while.
func (t *startedTarget) interval(b *testing.B, span time.Duration) (s targetStats) {
	b.Helper()
	time.Sleep(costSettle)
	fmt.Fprintln(t.in, "begin")
	time.Sleep(span)
	fmt.Fprintln(t.in, "end")
	line, err := t.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s)
	}
	if err != nil || s.Writes == 0 {
		b.Fatalf("%d writes, %v", s.Writes, err)
	}
	return s
}

// open opens streams that are read and thrown away until the returned function
// ends them. Of TLS the records are not decrypted: the client is no part of
// what is measured.
func (t *startedTarget) open(b *testing.B, n int) (end func()) {
	b.Helper()
	var readers sync.WaitGroup
	conns := make([]net.Conn, n)
	for i := range conns {
		raw, err := net.Dial("tcp", t.addr)
		if err != nil {
			b.Fatal(err)
		}
		conns[i] = raw
		asked := raw
		if t.kind == "tls" {
			asked = tls.Client(raw, &tls.Config{InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{tls.X25519}})
		}
		if _, err := io.WriteString(asked, "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"); err != nil {
			b.Fatal(err)
		}
		readers.Go(func() { _, _ = io.CopyBuffer(io.Discard, struct{ io.Reader }{raw}, make([]byte, 4096)) })
	}
	return func() {
		for _, c := range conns {
			c.Close()
		}
		readers.Wait()
	}
}

// watcher is a lambdac record of a target.
type watcher struct {
	cmd  *exec.Cmd
	out  string
	said *bufio.Reader
	lost float64
}

func watch(b *testing.B, binary string, t *startedTarget, kind string) *watcher {
	b.Helper()
	_, port, err := net.SplitHostPort(t.addr)
	if err != nil {
		b.Fatal(err)
	}
	w := &watcher{out: filepath.Join(b.TempDir(), "trace")}
	args := []string{"record", "--ebpf", "--port", port, "-o", w.out}
	if kind == "tls" {
		args = append(args, "--tls")
	}
	w.cmd = exec.Command(binary, args...)
	said, err := w.cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = w.cmd.Process.Kill() })
	w.said = bufio.NewReader(said)
	if line, err := w.said.ReadString('\n'); err != nil || !strings.HasPrefix(line, "recording from") {
		b.Fatalf("%q, %v", line, err)
	}
	time.Sleep(costSettle) // for the probes of running processes
	return w
}

// cpu is the time that the recorder has used, in seconds.
func (w *watcher) cpu(b *testing.B) float64 {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks float64
	for _, field := range fields[11:13] { // utime and stime of proc_pid_stat(5)
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return ticks / 100 // USER_HZ
}

// peakMiB is the most memory that the recorder has had, its rings included.
func (w *watcher) peakMiB(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

// stop ends the recording and returns how many exchanges it has.
func (w *watcher) stop(b *testing.B) (exchanges float64) {
	b.Helper()
	_ = w.cmd.Process.Signal(os.Interrupt)
	said, err := io.ReadAll(w.said)
	if err != nil {
		b.Fatal(err)
	}
	if err := w.cmd.Wait(); err != nil {
		b.Fatalf("%v\n%s", err, said)
	}
	dir, err := tracedir.Open(w.out)
	if err != nil {
		b.Fatal(err)
	}
	s, err := analyzer.Describe(dir)
	if err != nil {
		b.Fatal(err)
	}
	if s.Bytes.Lost != nil {
		w.lost = float64(*s.Bytes.Lost)
	}
	return float64(s.Exchanges)
}

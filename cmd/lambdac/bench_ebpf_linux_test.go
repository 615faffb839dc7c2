//go:build amd64 || arm64

package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/testenv"
)

// What the recording of a service costs it: the same service under the same
// load, watched and not in turn, in pairs of intervals. A kind takes a minute:
// on a machine that is too busy for that, there are fewer pairs.
const (
	costPairs   = 6
	costLeast   = 3
	costTime    = 45 * time.Second // for all pairs but the last
	costSettle  = 500 * time.Millisecond
	costMeasure = 1500 * time.Millisecond
)

// costTable is the environment variable that names a file to which benchmarks
// add what they measured, as tables in Markdown.
const costTable = "LAMBDAC_COST_TABLE"

// BenchmarkTarget measures the CPU and the lateness of a service that writes
// 50,000 events a second on 1,000 streams, or with TLS (Go's, or OpenSSL's in
// Python), of which two cores do not bear as many under probes, 10,000 on 200,
// with and without `lambdac record` beside it, and what that takes itself. Percentages are of one core. What is
// added is the median of the differences within pairs; its bounds are the least
// and the greatest of them, which hold the true median between them with a
// probability of 1 - 2^(1-pairs), 97 % for six. A minute each.
func BenchmarkTarget(b *testing.B) {
	testenv.Root(b)
	binary := buildBinary(b)
	for _, kind := range []string{"plain", "tls", "openssl"} {
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
		const streams = 10_000
		t := startTarget(b, "plain", 5*time.Second)
		r := watch(b, binary, t, "plain")
		ends := t.open(b, streams)
		t.interval(b, 10*time.Second)
		m := r.memory(b)
		ends()
		b.ReportMetric(r.stop(b), "exchanges")
		m.goHeap = r.heap
		m.report(b, "plain", streams)
	}
}

// comparison is the intervals of a kind of service, and of the recorder those
// in which it watched.
type comparison struct {
	off, on   []targetStats
	cpu, lost []float64
	memory    usedMemory
}

func compareTarget(b *testing.B, binary, kind string) {
	streams := 1000
	if kind != "plain" {
		streams = 200
	}
	t := startTarget(b, kind, 20*time.Millisecond)
	var c comparison
	for start := time.Now(); len(c.on) < costPairs && (len(c.on) < costLeast || time.Since(start) < costTime); {
		ends := t.open(b, streams)
		c.off = append(c.off, t.interval(b, costMeasure))
		ends()
		r := watch(b, binary, t, kind)
		ends = t.open(b, streams)
		before := r.cpu(b)
		s := t.interval(b, costMeasure)
		c.cpu = append(c.cpu, 100*(r.cpu(b)-before)/(s.Seconds+costSettle.Seconds()))
		c.on = append(c.on, s)
		m := r.memory(b)
		ends()
		r.stop(b)
		m.goHeap = r.heap
		if m.total() > c.memory.total() {
			c.memory = m
		}
		c.lost = append(c.lost, r.lost)
	}
	c.report(b, kind)
	c.memory.report(b, kind, streams)
}

func (c *comparison) report(b *testing.B, kind string) {
	percent := func(s targetStats) float64 { return 100 * float64(s.CPUNs) / 1e9 / s.Seconds }
	added := paired(c.off, c.on, percent)
	perWrite := paired(c.off, c.on, func(s targetStats) float64 { return float64(s.CPUNs) / 1e3 / float64(s.Writes) })
	rate := middle(c.on, func(s targetStats) float64 { return float64(s.Writes) / s.Seconds })
	p50 := func(s targetStats) float64 { return float64(s.P50Us) / 1e3 }
	p99 := func(s targetStats) float64 { return float64(s.P99Us) / 1e3 }
	lost := 0.0
	for _, n := range c.lost {
		lost += n
	}
	b.ReportMetric(rate, "writes/s")
	b.ReportMetric(added.median, "added-%")
	b.ReportMetric(perWrite.median, "added-µs/write")
	b.ReportMetric(median(c.cpu), "recorder-%")
	b.ReportMetric(lost, "lost-bytes")
	b.ReportMetric(0, "ns/op")
	row(b, "| service | pairs | writes/s | target, % of a core | added, % of a core | added, µs a write | p50, ms: off, on, added | p99, ms: off, on, added | recorder, % of a core | lost bytes |",
		"| %s | %d | %.0f | %.1f | %s | %s | %.2f, %.2f, %s | %.2f, %.2f, %s | %.1f | %.0f |",
		kind, len(c.on), rate, middle(c.off, percent), added, perWrite,
		middle(c.off, p50), middle(c.on, p50), paired(c.off, c.on, p50),
		middle(c.off, p99), middle(c.on, p99), paired(c.off, c.on, p99), median(c.cpu), lost)
}

// row adds a row to the table with the head, in the file that costTable names.
func row(b *testing.B, head, format string, values ...any) {
	b.Helper()
	name := os.Getenv(costTable)
	if name == "" {
		return
	}
	table, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.Fatal(err)
	}
	if !strings.Contains(string(table), head) {
		table = fmt.Appendf(table, "\n%s\n%s\n", head, "|"+strings.Repeat("---|", strings.Count(head, "|")-1))
	}
	lines := strings.SplitAfter(string(table), "\n")
	at := slices.Index(lines, head+"\n") + 1
	for at < len(lines) && strings.HasPrefix(lines[at], "|") {
		at++
	}
	lines = slices.Insert(lines, at, fmt.Sprintf(format, values...)+"\n")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o644); err != nil {
		b.Fatal(err)
	}
}

// difference is the median of differences within pairs, the least of them and
// the greatest.
type difference struct{ median, least, greatest float64 }

func (d difference) String() string {
	return fmt.Sprintf("%.2f [%.2f, %.2f]", d.median, d.least, d.greatest)
}

func paired(off, on []targetStats, of func(targetStats) float64) difference {
	var all []float64
	for i := range off {
		all = append(all, of(on[i])-of(off[i]))
	}
	return difference{median(all), slices.Min(all), slices.Max(all)}
}

func middle(list []targetStats, of func(targetStats) float64) float64 {
	var all []float64
	for _, s := range list {
		all = append(all, of(s))
	}
	return median(all)
}

// median sorts the list.
func median(list []float64) float64 {
	slices.Sort(list)
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// startedTarget is an sseTarget under way.
type startedTarget struct {
	addr, kind string
	in         io.Writer
	out        *bufio.Reader
}

func targetCommand(b *testing.B, kind string, every time.Duration) *exec.Cmd {
	b.Helper()
	if kind == "openssl" {
		return opensslCommand(b, every)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	return &exec.Cmd{Path: self, Args: []string{"ssetarget", kind, every.String()}}
}

func startTarget(b *testing.B, kind string, every time.Duration) *startedTarget {
	b.Helper()
	cmd := targetCommand(b, kind, every)
	cmd.Stderr = os.Stderr
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

// interval lets events flow, the target settle, and measures it for a while.
func (t *startedTarget) interval(b *testing.B, span time.Duration) (s targetStats) {
	b.Helper()
	fmt.Fprintln(t.in, "flow")
	time.Sleep(costSettle)
	fmt.Fprintf(t.in, "measure %s\nhold\n", span)
	line, err := t.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s)
	}
	if err != nil || s.Writes == 0 {
		b.Fatalf("%d writes in %.1f s, %v", s.Writes, s.Seconds, err)
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
		if t.kind != "plain" {
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

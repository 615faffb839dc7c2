//go:build amd64 || arm64

package main

import (
	"bufio"
	"fmt"
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
	"github.com/lambdac/lambdac/trace/tracedir"
)

// watcher is a lambdac record of a target.
type watcher struct {
	cmd *exec.Cmd
	out string
	// said is closed at the end of what it says, all, which has the greatest
	// heap of its garbage collector, in MiB.
	said chan struct{}
	all  strings.Builder
	heap float64
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
	if kind != "plain" {
		args = append(args, "--tls")
	}
	w.cmd = exec.Command(binary, args...)
	w.cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1")
	said, err := w.cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = w.cmd.Process.Kill() })
	ready := make(chan struct{})
	w.said = make(chan struct{})
	go w.listen(bufio.NewReader(said), sync.OnceFunc(func() { close(ready) }))
	select {
	case <-ready:
	case <-w.said:
		b.Fatal(w.all.String())
	}
	time.Sleep(costSettle) // for the probes of running processes
	return w
}

// listen takes in what the recorder says, and calls ready when it records.
func (w *watcher) listen(from *bufio.Reader, ready func()) {
	defer close(w.said)
	for {
		line, err := from.ReadString('\n')
		var before, peak, after float64
		_, sizes, _ := strings.Cut(line, " ms cpu, ")
		switch n, _ := fmt.Sscanf(sizes, "%f->%f->%f MB", &before, &peak, &after); {
		case n == 3: // a line of gctrace
			w.heap = max(w.heap, peak)
		case strings.HasPrefix(line, "recording from"):
			ready()
		default:
			w.all.WriteString(line)
		}
		if err != nil {
			return
		}
	}
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

// usedMemory is what a recorder holds, in MiB: the rings and other maps of the
// kernel side, the heap of Go at its greatest, what else Go has taken from the
// system, and the pages of its program that are in memory.
type usedMemory struct{ rings, maps, goHeap, anon, program float64 }

func (m usedMemory) total() float64 { return m.rings + m.maps + m.anon + m.program }

func (m usedMemory) report(b *testing.B, kind string, streams int) {
	b.ReportMetric(m.total(), "recorder-MiB")
	row(b, "| recorder of | streams | rings, MiB | other maps | Go heap, greatest | all of Go | program | sum without the heap, which is Go's |",
		"| %s | %d | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f |", kind, streams, m.rings, m.maps, m.goHeap, m.anon, m.program, m.total())
}

// memory is what the recorder holds now.
func (w *watcher) memory(b *testing.B) (m usedMemory) {
	b.Helper()
	dir := fmt.Sprintf("/proc/%d/", w.cmd.Process.Pid)
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		b.Fatal(err)
	}
	m.anon = field(string(status), "RssAnon:") / 1024
	smaps, err := os.ReadFile(dir + "smaps")
	if err != nil {
		b.Fatal(err)
	}
	for mapping := range strings.SplitSeq(string(smaps), "VmFlags:") {
		if strings.Contains(mapping, "/lambdac\n") {
			m.program += (field(mapping, "Rss:") - field(mapping, "Anonymous:")) / 1024
		}
	}
	files, err := filepath.Glob(dir + "fdinfo/*")
	if err != nil {
		b.Fatal(err)
	}
	seen := make(map[float64]bool)
	for _, name := range files {
		info, err := os.ReadFile(name)
		id := field(string(info), "map_id:")
		if err != nil || id == 0 || seen[id] {
			continue // closed meanwhile, or no map
		}
		seen[id] = true
		const ring = 27 // BPF_MAP_TYPE_RINGBUF
		if size := field(string(info), "memlock:") / (1 << 20); field(string(info), "map_type:") == ring {
			m.rings += size
		} else {
			m.maps += size
		}
	}
	return m
}

// field is the number behind a name, 0 where it is not there.
func field(text, name string) (n float64) {
	_, after, _ := strings.Cut(text, name)
	_, _ = fmt.Sscan(after, &n)
	return n
}

// stop ends the recording and returns how many exchanges it has.
func (w *watcher) stop(b *testing.B) (exchanges float64) {
	b.Helper()
	_ = w.cmd.Process.Signal(os.Interrupt)
	<-w.said
	if err := w.cmd.Wait(); err != nil {
		b.Fatalf("%v\n%s", err, w.all.String())
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

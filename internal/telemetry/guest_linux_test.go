package telemetry

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

// TestGuestFragmentation is inflection II made by hand on a machine of 256 MiB:
// a program leaves every second page free, among pages that cannot be moved, and
// asks for blocks of order 9. Telemetry sees the largest free block fall, the
// fragmentation index rise, compaction fail, and the kernel name the order. The
// same machine before it: nothing of the kind.
func TestGuestFragmentation(t *testing.T) {
	testenv.Guest(t)
	before := watchGuest(t, func() { time.Sleep(5 * time.Second) })
	if n := largestOrder(before, false); n < 9 {
		t.Errorf("untouched, the largest free block is of order %d: nothing to fall from", n)
	}
	quiet := []string{trace.MetricAllocFailed, trace.MetricOOMOrder}
	for _, metric := range quiet {
		if rows := before.of(metric); len(rows) > 0 {
			t.Errorf("untouched, there are events %q", lines(rows))
		}
	}
	if n := rise(before, trace.MetricCompactFail); n != 0 {
		t.Errorf("untouched, compaction failed %v times", n)
	}

	after := watchGuest(t, func() {
		free := fragment(t)
		defer free()
		time.Sleep(2 * time.Second) // seen in pieces before it is asked for
		askOrder9(t)
		time.Sleep(2 * time.Second)
	})
	order := largestOrder(after, true)
	index := lastOf(after, trace.ExtfragMetric(9))
	failed := after.of(trace.MetricAllocFailed)
	t.Logf("largest free order %d, index of order 9 %q, compaction failed %v times, events %q",
		order, last(lines(after.of(trace.ExtfragMetric(9)))), rise(after, trace.MetricCompactFail), lines(failed))
	if order >= 9 {
		t.Errorf("in pieces, the largest free block is of order %d, want less than 9", order)
	}
	if index == nil || *index < 0.5 {
		t.Errorf("fragmentation index of order 9 is %v, want 0.5 or more", index)
	}
	if rise(after, trace.MetricCompactFail) == 0 {
		t.Error("no failed compaction was counted")
	}
	if !slices.ContainsFunc(failed, func(r trace.Sample) bool { return *r.Value == 9 && r.Instance == "0/DMA32" }) {
		t.Errorf("events %q, want order 9 in 0/DMA32", lines(failed))
	}
	for _, metric := range []string{trace.MetricExtfrag, trace.MetricOOMVictims} {
		if lastOf(after, metric) == nil {
			t.Errorf("the tracepoint of %s was not counted", metric)
		}
	}
	if free := lastOf(after, trace.MetricMemoryFree); free == nil || *free < 32<<20 {
		t.Errorf("free memory is %v: that is exhaustion, not pieces", free)
	}
}

// watchGuest samples the host while f runs, and once more after it.
func watchGuest(t *testing.T, f func()) *memoryOutput {
	t.Helper()
	s, err := Open(t.Context(), Config{Host: On, Every: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	out := new(memoryOutput)
	s.Start(out)
	f()
	for _, src := range s.Close().Sources {
		if src.Absent != "" && src.Name != "pressure" {
			t.Errorf("%s is not there: %s", src.Name, src.Absent)
		}
	}
	return out
}

// largestOrder is the largest order with a free block in zone DMA32, least or
// most over all samples.
func largestOrder(out *memoryOutput, least bool) int {
	perTick := make(map[int64]int)
	for order := range 11 {
		for _, r := range out.of(trace.BuddyMetric(order)) {
			if r.Instance == "0/DMA32" && r.Value != nil {
				perTick[r.AtUnixNs] = max(perTick[r.AtUnixNs], 0)
				if *r.Value > 0 {
					perTick[r.AtUnixNs] = max(perTick[r.AtUnixNs], order)
				}
			}
		}
	}
	best := -1
	for _, order := range perTick {
		if best < 0 || least && order < best || !least && order > best {
			best = order
		}
	}
	return best
}

// rise is by how much a counter rose.
func rise(out *memoryOutput, metric string) float64 {
	rows := out.of(metric)
	if len(rows) == 0 || rows[0].Value == nil || rows[len(rows)-1].Value == nil {
		return 0
	}
	return *rows[len(rows)-1].Value - *rows[0].Value
}

func last(list []string) []string { return list[max(0, len(list)-1):] }

func lastOf(out *memoryOutput, metric string) *float64 {
	rows := out.of(metric)
	if len(rows) == 0 {
		return nil
	}
	return rows[len(rows)-1].Value
}

// fragment fills memory with locked pages, gives back every second one, and
// takes what large blocks are left. It returns what gives all back.
func fragment(t *testing.T) (free func()) {
	t.Helper()
	// Locked pages are left where they are.
	setting(t, "/proc/sys/vm/compact_unevictable_allowed", "0")
	setting(t, "/sys/kernel/mm/transparent_hugepage/enabled", "never")
	const chunk = 1 << 20
	page := os.Getpagesize()
	var chunks [][]byte
	for freeMemory(t) > 14<<20 {
		m, err := unix.Mmap(-1, 0, chunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_LOCKED|unix.MAP_POPULATE)
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, m)
	}
	for _, m := range chunks {
		for at := 0; at < chunk; at += 2 * page {
			if err := errors.Join(unix.Munlock(m[at:at+page]), unix.Madvise(m[at:at+page], unix.MADV_DONTNEED)); err != nil {
				t.Fatal(err)
			}
		}
	}
	setting(t, "/proc/sys/vm/nr_hugepages", "128") // as many as there are
	return func() {
		setting(t, "/proc/sys/vm/nr_hugepages", "0")
		for _, m := range chunks {
			_ = unix.Munmap(m)
		}
	}
}

// askOrder9 asks the kernel for 2 MiB in one piece, which it may refuse aloud: the
// control data of a message, with the limit for it raised.
func askOrder9(t *testing.T) {
	t.Helper()
	setting(t, "/proc/sys/net/core/optmem_max", strconv.Itoa(16<<20))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	refused, before := false, vmstatOf(t, "compact_fail")
	// Compaction that failed is put off, for 64 requests at most.
	for range 300 {
		// The kernel goes on freeing: what has become whole meanwhile is taken first.
		setting(t, "/proc/sys/vm/nr_hugepages", "128")
		if !refused {
			err := unix.Sendmsg(fd, []byte{0}, make([]byte, 2<<20), &unix.SockaddrUnix{Name: "/nobody"}, 0)
			refused = errors.Is(err, unix.ENOBUFS)
		}
		if refused && vmstatOf(t, "compact_fail") > before {
			return
		}
	}
	t.Errorf("order 9 was refused: %v; compaction did not fail", refused)
}

func vmstatOf(t *testing.T, name string) (value float64) {
	t.Helper()
	if err := fields("/proc/vmstat", func(n string, v float64) {
		if n == name {
			value = v
		}
	}); err != nil {
		t.Fatal(err)
	}
	return value
}

func setting(t *testing.T, file, value string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
		t.Logf("not set: %v", err)
	}
}

// freeMemory is MemFree, bytes.
func freeMemory(t *testing.T) int {
	t.Helper()
	for line := range strings.Lines(readText(t, "/proc/meminfo")) {
		if words := strings.Fields(line); words[0] == "MemFree:" {
			kib, err := strconv.Atoi(words[1])
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no MemFree")
	return 0
}

package twin

import "time"

// readingNs is the time between two readings.
const readingNs = int64(time.Second)

// Reading is what the instruments of the simulated host, its GPU and the server
// show at the end of a second of virtual time. Shares are of that second, in
// [0, 1]; all else is as of its end.
type Reading struct {
	// AtNs is the end of the second, a whole number of them from the start.
	AtNs int64
	// CPU is the share of the host's CPUs that is busy, CPUSeconds the busy time
	// of one of them since the start.
	CPU, CPUSeconds float64
	// Busy is the share in which a kernel ran on the GPU, SM and DRAM the shares
	// in which its multiprocessors and its memory worked: a kernel that waits for
	// a page keeps it busy and does neither.
	Busy, SM, DRAM float64
	// ClockDown: the GPU has lowered its clock. Idle: nothing runs on it.
	ClockDown, Idle bool
	Memory          MemoryReading
	Stats           Stats
}

// MemoryReading is the host's memory.
type MemoryReading struct {
	// Free blocks by order, the pages in them, and those of the longest piece.
	Free               [maxOrder + 1]int
	FreePages, FreeRun int
	// Pages there are, and MinPages that are never handed out.
	Pages, MinPages int
	MemoryCounts
	// Failures are the allocations that failed in the second.
	Failures []Failure
}

// watch takes a reading at the end of each second. nil = nobody watches.
type watch struct {
	next     int64 // when the next reading is due
	seen     int64 // up to where time is accounted for
	from, to int64 // the last step
	sm, dram float64
	sum      struct{ busy, sm, dram float64 } // of this second, ns
	cpu      float64
	readings []Reading
}

// Watch makes the engine take a reading now and each second; call it before the
// first job.
// It changes nothing else.
func (e *Engine) Watch() {
	e.needMemory()
	e.watch = &watch{next: e.now, seen: e.now}
}

// Readings returns those taken since the last call.
func (e *Engine) Readings() []Reading {
	out := e.watch.readings
	e.watch.readings = nil
	return out
}

// step takes note of a step that begins: work is the part that keeps
// multiprocessors busy, fixed that which reads the weights.
func (w *watch) step(now int64, length, work, fixed time.Duration) {
	if w == nil {
		return
	}
	w.flow(now)
	w.from, w.to = now, now+max(int64(length), 1)
	whole := float64(w.to - w.from)
	w.sm = smOfWork * float64(work) / whole
	w.dram = (float64(fixed) + dramOfWork*float64(work)) / whole
}

const (
	// smOfWork and dramOfWork are the shares of a step's work in which
	// multiprocessors and memory are active.
	smOfWork   = 0.9
	dramOfWork = 0.3
	// cpuIdle is the share of the CPUs that is busy at rest, cpuPerBusy what a
	// busy GPU adds: tokenizing, scheduling, HTTP. cpuJitter is drawn by second.
	cpuIdle    = 0.06
	cpuPerBusy = 0.22
	cpuJitter  = 0.04
)

// flow adds up to a moment.
func (w *watch) flow(until int64) {
	if ns := float64(min(until, w.to) - max(w.seen, w.from)); ns > 0 {
		w.sum.busy += ns
		w.sum.sm += ns * w.sm
		w.sum.dram += ns * w.dram
	}
	w.seen = until
}

// until takes the readings that are due before a moment: at that of an event, the
// event comes first.
func (w *watch) until(e *Engine, moment int64) {
	if w == nil {
		return
	}
	for w.next < moment {
		w.flow(w.next)
		w.readings = append(w.readings, w.read(e))
		w.next += readingNs
	}
}

func (w *watch) read(e *Engine) Reading {
	const second = float64(readingNs)
	r := Reading{
		AtNs: w.next,
		Busy: min(w.sum.busy/second, 1), SM: min(w.sum.sm/second, 1), DRAM: min(w.sum.dram/second, 1),
		Idle:  e.stepEnd == Never,
		Stats: e.Stats(), Memory: e.memory.read(),
	}
	w.sum = struct{ busy, sm, dram float64 }{}
	r.CPU = cpuIdle + cpuPerBusy*r.Busy + cpuJitter*unit(hashOf(hashOf(e.seed, streamJitter), uint64(w.next)))
	w.cpu += r.CPU * HostCPUs * time.Duration(readingNs).Seconds()
	r.CPUSeconds = w.cpu
	r.ClockDown = e.hooks.clock != nil && e.hooks.clock(w.next)
	return r
}

// HostCPUs is the number of CPUs of the simulated host.
const HostCPUs = 8

func (m *memory) read() MemoryReading {
	r := MemoryReading{
		Free: m.zone.counts, FreePages: m.zone.pages, FreeRun: m.zone.run(), Pages: len(m.zone.free), MinPages: m.min,
		MemoryCounts: m.count, Failures: m.failures,
	}
	m.failures = nil
	return r
}

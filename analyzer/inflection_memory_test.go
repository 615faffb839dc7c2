package analyzer

import (
	"math/rand/v2"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// The free lists of T24: in pieces, exhausted, and as they are at other times.
var (
	inPieces  = freeBlocks{5000, 3000, 1500, 700, 200}
	exhausted = freeBlocks{40, 5, 1}
	healthy   = freeBlocks{5000, 3000, 1500, 700, 200, 90, 40, 20, 10, 6, 4}
)

// host is a machine that is sampled each second while one load is held.
type host struct {
	order   int // −1: only a counter tells of the event
	zone    string
	before  freeBlocks // free from 12 s before the event
	cpu     float64
	seconds int64
	every   int64 // seconds between readings of free memory
	reserve float64
	edit    func(t *Telemetry, at int64)
}

func sampled(t *Telemetry, at int64, metric, instance string, v float64) {
	t.Add(&trace.Sample{AtUnixNs: at, Metric: metric, Instance: instance, Value: &v})
}

func (h host) observe(seed uint64) Observation {
	rng := rand.New(rand.NewPCG(seed, 7))
	tel := new(Telemetry)
	o := Observation{Telemetry: tel, Runs: observedRuns([]float64{10}, 1, h.seconds, func(*ObservedRun, float64) {})}
	event := o.Runs[0].Level.EndUnixNs - 5*second
	for at := o.Runs[0].Level.BeginUnixNs; at < o.Runs[0].Level.EndUnixNs; at += second {
		sampled(tel, at, trace.MetricCPUUtilization, "", h.cpu+0.05*rng.NormFloat64())
		sampled(tel, at, trace.MetricOOMKills, "", float64(at/event))
		if at/second%h.every != 0 {
			continue
		}
		free := healthy
		if at > event-12*second && at <= event {
			free = h.before
		}
		for k, n := range free {
			sampled(tel, at, trace.BuddyMetric(k), "0/Normal", n+float64(rng.IntN(2))*min(n, 1))
			sampled(tel, at, trace.BuddyMetric(k), "0/DMA", float64(k/10))
		}
		sampled(tel, at, trace.MetricZoneMin, "0/Normal", h.reserve)
	}
	if h.order >= 0 {
		sampled(tel, event, trace.MetricAllocFailed, h.zone, float64(h.order))
	}
	if h.edit != nil {
		h.edit(tel, event)
	}
	return o
}

func fragmentedHost() host {
	return host{order: 9, zone: "0/Normal", before: inPieces, cpu: 0.3, seconds: 300, every: 1, reserve: 1000}
}

func TestMemoryEvents(t *testing.T) {
	rows := []struct {
		name      string
		change    func(*host)
		verdict   Verdict
		indicated bool
		says      string
	}{
		{"in pieces", func(*host) {}, Found, true, "by fragmentation"},
		{"zone not told: the normal ones count", func(h *host) { h.zone = "" }, Found, true, "by fragmentation"},
		{"exhausted", func(h *host) { h.before, h.order = exhausted, 4 }, NotFound, true, "exhaustion"},
		{"a single page", func(h *host) { h.order = 0 }, NotFound, true, "exhaustion"},
		{"a suitable block was free", func(h *host) { h.order = 4 }, NotFound, true, "blocks of order 4 were free"},
		{"the last suitable blocks went since the last reading", func(h *host) {
			h.edit = func(t *Telemetry, at int64) { // 6, 6, 2, 2 and so on, and 2 at the event
				blocks := t.series[trace.BuddyMetric(9)]["0/Normal"].readings
				for i := range blocks {
					if ago := (at - blocks[i].at) / second; ago >= 0 && ago < 12 {
						blocks[i].value = float64(2 + 4*(ago/2%2))
					}
				}
			}
		}, Found, true, "as many went at once before"},
		{"busy CPU", func(h *host) { h.cpu = 0.9 }, NotFound, false, "CPU was not below"},
		{"order not told", func(h *host) { h.order = -1 }, Insufficient, true, "the order of the failing request"},
		{"order out of range", func(h *host) { h.order = 15 }, Insufficient, true, "an order of 0 to 10"},
		{"too short a run", func(h *host) { h.seconds = 100 }, Insufficient, true, "hold that load"},
		{"free memory read every 15 s", func(h *host) { h.every = 15 }, Insufficient, false, "at most 10 s before"},
		{"no watermark", func(h *host) {
			h.edit = func(t *Telemetry, _ int64) { delete(t.series, trace.MetricZoneMin) }
		}, Insufficient, true, "watermark"},
		{"control group at its limit", func(h *host) {
			h.edit = func(t *Telemetry, at int64) {
				sampled(t, at-second, trace.MetricCgroupMemory, "/a", 1<<30)
				sampled(t, at-second, trace.MetricCgroupLimit, "/a", 1<<30)
			}
		}, NotFound, true, "control group"},
		{"kernel says: limit of a group", func(h *host) {
			h.order = -1
			h.edit = func(t *Telemetry, at int64) {
				t.Add(&trace.Sample{AtUnixNs: at, Metric: trace.MetricOOMOrder, RawName: new("CONSTRAINT_MEMCG"), Value: new(3.0)})
			}
		}, NotFound, false, "limit of a control group"},
		{"no CPU", func(h *host) {
			h.edit = func(t *Telemetry, _ int64) { delete(t.series, trace.MetricCPUUtilization) }
		}, Insufficient, false, "CPU utilisation"},
		{"always in pieces", func(h *host) {
			h.edit = func(t *Telemetry, _ int64) {
				for k := range buddyOrders {
					for i := range t.series[trace.BuddyMetric(k)]["0/Normal"].readings {
						t.series[trace.BuddyMetric(k)]["0/Normal"].readings[i].value = inPieces[k]
					}
				}
			}
		}, NotFound, true, "no more in pieces"},
		{"no event", func(h *host) {
			h.order = -1
			h.edit = func(t *Telemetry, _ int64) {
				for i := range t.series[trace.MetricOOMKills][""].readings {
					t.series[trace.MetricOOMKills][""].readings[i].value = 3
				}
			}
		}, NotFound, false, "no out-of-memory event"},
		{"no telemetry", func(h *host) {
			h.edit = func(t *Telemetry, _ int64) { t.series = nil }
		}, Insufficient, false, "telemetry"},
	}
	for _, row := range rows {
		h := fragmentedHost()
		row.change(&h)
		got := Inflections(h.observe(1))[1]
		checkInflection(t, row.name, got, row.verdict, row.indicated, row.says)
		if n := len(got.Evidence); n > 1 && n != 6 {
			t.Errorf("%s: %d rows of evidence, want one for each of five conditions and the published rule", row.name, n)
		}
	}
}

func TestCalibrateMemoryNeverFragmentedWhenExhausted(t *testing.T) {
	for seed := range uint64(200) {
		h := fragmentedHost()
		h.before, h.order = exhausted, 1+int(seed%10)
		if got := Inflections(h.observe(seed))[1]; got.Verdict != NotFound {
			t.Fatalf("seed %d, order %d: %s, %s%s", seed, h.order, got.Verdict, got.Reason, got.Missing)
		}
	}
}

// The verdict is on the events that show most: a busy CPU at one load says nothing
// of an event at another.
func TestChooseEvents(t *testing.T) {
	event := func(load int, pieces, cpu State) memoryEvent {
		return memoryEvent{load: load, pieces: Evidence{State: pieces}, cpu: Evidence{State: cpu}}
	}
	events := []memoryEvent{
		event(2, Holds, Fails), event(2, Holds, Fails), event(0, Fails, Holds),
		event(1, Holds, Holds), event(0, Holds, Holds), event(1, Holds, Holds), event(1, Unknown, Holds),
	}
	got := chooseEvents(events)
	if len(got) != 2 || got[0] != &events[3] || got[1] != &events[5] {
		t.Errorf("%d events of load %d", len(got), got[0].load)
	}
}

// An allocator on a device tells its free memory and its largest block.
func TestMemoryEventsOfAllocator(t *testing.T) {
	for _, row := range []struct {
		name          string
		free, largest float64
		verdict       Verdict
		says          string
	}{
		{"in pieces", 8 << 30, 64 << 20, Found, "by fragmentation"},
		{"nothing left", 100 << 20, 1 << 20, NotFound, "nothing was left"},
		{"in one piece", 8 << 30, 7 << 30, NotFound, "more than all of it"},
	} {
		h := host{order: -1, cpu: 0.3, seconds: 300, every: 100_000}
		h.edit = func(tel *Telemetry, event int64) {
			delete(tel.series, trace.MetricOOMKills)
			for at := int64(0); at < event+5*second; at += second {
				free, largest := float64(40<<30)-float64(at%7), float64(30<<30)
				if at > event-12*second {
					free, largest = row.free, row.largest
				}
				sampled(tel, at, trace.MetricServerFreeBytes, "s", free)
				sampled(tel, at, trace.MetricServerLargestFree, "s", largest)
				sampled(tel, at, trace.MetricServerAllocFailed, "s", float64(at/event))
			}
		}
		got := Inflections(h.observe(1))[1]
		checkInflection(t, row.name, got, row.verdict, got.Indicated, row.says)
	}
}

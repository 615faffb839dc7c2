package telemetry

import (
	"strconv"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// kmsgLog finds requests for memory that failed in the records of the kernel's
// log. It is fed record by record.
type kmsgLog struct {
	// zones are those of the host, "node/zone", in the kernel's order.
	zones []string
	// seq is the number of the record expected next; 0 = none read yet.
	seq uint64
	// killer is the request for which the OOM killer was called and has not yet
	// said what came of it.
	killer *request
}

// request is a request for memory that failed.
type request struct {
	order int
	zone  string
}

// kmsgRecord is one record of /dev/kmsg.
type kmsgRecord struct {
	seq uint64
	// us is when it was made, µs of the kernel's own clock.
	us int64
	// kernel: it is from the kernel itself, not from a program that wrote into its
	// log.
	kernel bool
	text   string
}

// parseKmsg reads a record: "priority,sequence,µs,flags,…;text" and lines of more
// (Documentation/ABI/testing/dev-kmsg of the kernel).
func parseKmsg(record string) (r kmsgRecord, ok bool) {
	head, text, found := strings.Cut(record, ";")
	words := strings.Split(head, ",")
	if !found || len(words) < 3 {
		return r, false
	}
	priority, err := strconv.ParseUint(words[0], 10, 32)
	if err != nil {
		return r, false
	}
	if r.seq, err = strconv.ParseUint(words[1], 10, 64); err != nil {
		return r, false
	}
	if r.us, err = strconv.ParseInt(words[2], 10, 64); err != nil {
		return r, false
	}
	r.kernel = priority>>3 == 0
	r.text, _, _ = strings.Cut(text, "\n")
	return r, true
}

// take is told one record and returns how many were overwritten before it could
// be read.
func (l *kmsgLog) take(r kmsgRecord, at int64, b *batch) (lost uint64) {
	if l.seq > 0 && r.seq > l.seq {
		lost = r.seq - l.seq
	}
	l.seq = r.seq + 1
	if !r.kernel {
		return lost
	}
	switch {
	case strings.Contains(r.text, ": page allocation failure: order:"):
		_, rest, _ := strings.Cut(r.text, ": page allocation failure: ")
		if q, ok := l.request(rest, "order:"); ok {
			b.event(at, trace.MetricAllocFailed, "page allocation failure", q.zone, float64(q.order))
		}
	case strings.Contains(r.text, " invoked oom-killer: "):
		_, rest, _ := strings.Cut(r.text, " invoked oom-killer: ")
		if q, ok := l.request(rest, "order="); ok {
			l.killer = &q
		}
	case strings.HasPrefix(r.text, "oom-kill:constraint="):
		l.killed(r.text, at, b)
	case strings.HasPrefix(r.text, "Out of memory: Kill"), strings.HasPrefix(r.text, "Memory cgroup out of memory: Kill"):
		l.killed("", at, b) // kernels before 5.0 say no more
	}
	return lost
}

// killed ends what the call of the OOM killer began.
func (l *kmsgLog) killed(text string, at int64, b *batch) {
	if l.killer == nil {
		return
	}
	q := *l.killer
	l.killer = nil
	constraint, _, _ := strings.Cut(strings.TrimPrefix(text, "oom-kill:constraint="), ",")
	if constraint == "CONSTRAINT_MEMCG" {
		q.zone = "" // a group's limit, in whatever zone
	}
	b.event(at, trace.MetricOOMOrder, constraint, q.zone, float64(q.order))
}

// request reads what was asked for: the order behind its name, the zone by the
// flags, the node where only one was allowed.
func (l *kmsgLog) request(text, orderName string) (q request, ok bool) {
	_, rest, found := strings.Cut(text, orderName)
	if !found {
		return q, false
	}
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	order, err := strconv.Atoi(digits)
	if err != nil || order > 63 {
		return q, false // a kill by hand has order −1
	}
	q.order = order
	_, flags, _ := strings.Cut(text, "(")
	flags, _, _ = strings.Cut(flags, ")")
	node := ""
	if _, allowed, found := strings.Cut(text, "mems_allowed="); found {
		node = strings.TrimRight(allowed, "\n ")
	}
	q.zone = l.zone(flags, node)
	return q, true
}

// zone is the one that a request with these flags asks for first: the highest
// that the host has and they allow. "" where nodes cannot be told apart.
func (l *kmsgLog) zone(flags, node string) string {
	order := []string{"DMA", "DMA32", "Normal", "HighMem", "Movable"}
	top := zoneLimit(flags)
	best, rank := "", -1
	for _, z := range l.zones {
		n, kind, _ := strings.Cut(z, "/")
		for i, k := range order {
			if k != kind || i > top || i < rank || node != "" && n != node && isNumber(node) {
				continue
			}
			if i == rank && z != best {
				best = "" // two nodes have it
				continue
			}
			best, rank = z, i
		}
	}
	return best
}

// zoneLimit is the highest zone that the flags allow, by its place in the order
// of zones.
func zoneLimit(flags string) int {
	var high, movable bool
	for f := range strings.SplitSeq(flags, "|") {
		switch f {
		case "GFP_DMA", "__GFP_DMA":
			return 0
		case "GFP_DMA32", "__GFP_DMA32":
			return 1
		case "GFP_HIGHUSER_MOVABLE", "GFP_TRANSHUGE", "GFP_TRANSHUGE_LIGHT":
			high, movable = true, true
		case "GFP_HIGHUSER", "__GFP_HIGHMEM":
			high = true
		case "__GFP_MOVABLE":
			movable = true
		}
	}
	switch {
	case high && movable:
		return 4
	case high:
		return 3
	}
	return 2
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}

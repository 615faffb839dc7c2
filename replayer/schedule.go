package replayer

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Scaling is how recorded arrivals become an offered load. A run uses one of
// them, since each bends burstiness and think times in its own way.
type Scaling string

const (
	// Superpose adds copies of the trace, each at a seeded phase, until the
	// window holds enough requests, then thins to the exact rate. It keeps the
	// spacing inside sessions. It is the default, and also lowers the rate.
	Superpose Scaling = "superpose"
	// Thin keeps whole sessions by hash; it cannot raise the rate.
	Thin Scaling = "thin"
	// Compress divides all times by the factor: a stress mode, in which bursts
	// become sharper and think times shorter.
	Compress Scaling = "compress"
	// Resample draws exchanges of the trace at gamma-distributed gaps; nothing
	// of the recorded arrivals is kept.
	Resample Scaling = "resample"
)

// maxArrivals bounds the requests of one level, and so its memory.
const maxArrivals = 50_000_000

// spreadAbove is the coarsest clock whose arrivals are taken as they are.
const spreadAbove = time.Millisecond

// arrival is one request of a level's schedule.
type arrival struct {
	// at counts from the start of the window; the warm-up is before 0.
	at time.Duration
	// rec is the exchange to send, an index into the trace.
	rec int32
	// instance numbers the copies and laps of the trace inside the level. One
	// (rec, instance) occurs at most once.
	instance int64
}

// timeline is a trace's arrivals on a circle: after length they begin anew.
type timeline struct {
	at     []time.Duration // ascending, in [0, length)
	rec    []int32         // the exchange that arrives
	unit   []uint64        // by exchange: hash of its session, else of itself
	length time.Duration
	// spread is the grid inside which arrivals were spread; 0 = they were not.
	spread time.Duration
	// peak is the highest recorded rate over one minute; nil where the trace is
	// shorter.
	peak *float64
	// shortened is the number of idle gaps cut, idle the time taken out.
	shortened int
	idle      time.Duration
}

// newTimeline lays out the records, which are sorted by start. Arrivals on a
// coarse grid are spread inside it, since a grid of 3 s would otherwise become
// batches every 3 s.
//
// Gaps above maxIdle, where it is above 0, are shortened to it.
func newTimeline(recs []*trace.Record, seed uint64, spread bool, maxIdle time.Duration) *timeline {
	tl := &timeline{}
	type point struct {
		at  time.Duration
		rec int32
	}
	points := make([]point, len(recs))
	grid := time.Duration(0)
	for i, r := range recs {
		at := time.Duration(r.StartUnixNs - recs[0].StartUnixNs)
		res := time.Duration(r.ArrivalResolutionNs)
		grid = max(grid, res)
		if spread && res > spreadAbove {
			at += time.Duration(unitFloat(mix(seed, hashString(r.RequestID), saltSpread)) * float64(res))
			tl.spread = max(tl.spread, res)
		}
		points[i] = point{at, int32(i)}
		tl.unit = append(tl.unit, unitOf(r))
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	for _, p := range points {
		tl.at, tl.rec = append(tl.at, p.at), append(tl.rec, p.rec)
	}
	tl.length = circleLength(recs, grid)
	tl.peak = tl.peakPerS()
	if maxIdle > 0 && tl.length > 0 {
		tl.shorten(maxIdle)
	}
	return tl
}

// shorten takes out of every gap what is above the limit; the seam between the
// last arrival and the first of the next round counts as one.
func (tl *timeline) shorten(limit time.Duration) {
	before := tl.at[0]
	for i := 1; i <= len(tl.at); i++ {
		next := tl.length + tl.at[0]
		if i < len(tl.at) {
			next = tl.at[i]
		}
		if over := next - before - limit; over > 0 {
			tl.shortened++
			tl.idle += over
		}
		before = next
		if i < len(tl.at) {
			tl.at[i] -= tl.idle
		}
	}
	tl.length -= tl.idle
}

// recordedPerS is the mean rate as recorded, idle gaps and all.
func (tl *timeline) recordedPerS() float64 {
	if tl.length <= 0 {
		return 0
	}
	return float64(len(tl.at)) / (tl.length + tl.idle).Seconds()
}

// circleLength is the span of the recorded starts and one more mean gap, or
// one more tick of a clock that is coarser than that: so n arrivals at equal
// gaps go round without a seam. 0 where the span is 0.
func circleLength(recs []*trace.Record, grid time.Duration) time.Duration {
	if len(recs) < 2 {
		return 0
	}
	span := time.Duration(recs[len(recs)-1].StartUnixNs - recs[0].StartUnixNs)
	if span <= 0 {
		return 0
	}
	return span + max(span/time.Duration(len(recs)-1), grid)
}

// unitOf is what thinning keeps or drops whole.
func unitOf(r *trace.Record) uint64 {
	if r.SessionID != nil {
		return hashString("session\x00" + *r.SessionID)
	}
	return hashString(r.RequestID)
}

// perS is the trace's mean rate; 0 where it has no length.
func (tl *timeline) perS() float64 {
	if tl.length <= 0 {
		return 0
	}
	return float64(len(tl.at)) / tl.length.Seconds()
}

// peakPerS is the highest rate over one minute of the arrivals as they are.
func (tl *timeline) peakPerS() *float64 {
	if tl.length < time.Minute {
		return nil
	}
	best, lo := 0, 0
	for hi := range tl.at {
		for tl.at[hi]-tl.at[lo] >= time.Minute {
			lo++
		}
		best = max(best, hi-lo+1)
	}
	return new(float64(best) / 60)
}

// walk visits the arrivals of one copy that starts at phase, for d of the
// trace's time. at counts from the walk's start; lap counts how often the
// trace began anew.
func (tl *timeline) walk(phase, d time.Duration, visit func(at time.Duration, rec int32, lap int)) {
	i := sort.Search(len(tl.at), func(i int) bool { return tl.at[i] >= phase })
	for lap := 0; ; lap++ {
		for ; i < len(tl.at); i++ {
			at := tl.at[i] - phase + time.Duration(lap)*tl.length
			if at >= d {
				return
			}
			visit(at, tl.rec[i], lap)
		}
		i = 0
	}
}

// plan is what a level's schedule is made from.
type plan struct {
	perS         float64
	warmup, hold time.Duration
	ramp         time.Duration
	replicate    int32
	seed         uint64
	cv           float64
	even         bool
}

// key tells levels apart for seeds; it does not depend on the order of levels.
func (p *plan) key() uint64 {
	return mix(p.seed, math.Float64bits(p.perS), uint64(p.replicate))
}

// need is the number of requests that the window shall hold.
func (p *plan) need() int { return int(math.Round(p.perS * p.hold.Seconds())) }

// schedule draws up one level: arrivals sorted by time, and how far their rate
// in the window is from the one asked, as a share.
func (tl *timeline) schedule(s Scaling, p plan) ([]arrival, float64, error) {
	if err := tl.checkPlan(s, p); err != nil {
		return nil, 0, err
	}
	var out []arrival
	switch s {
	case Compress:
		out = tl.compress(p)
	case Resample:
		out = tl.resample(p)
	case Thin:
		out = tl.thinTo(tl.copyOf(nil, p, 0, 1), p)
	default:
		var err error
		if out, err = tl.superpose(p); err != nil {
			return nil, 0, err
		}
	}
	out = p.rampUp(out, tl.unit)
	slices.SortFunc(out, func(a, b arrival) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.instance, b.instance), cmp.Compare(a.rec, b.rec))
	})
	return out, float64(inWindow(out))/(p.perS*p.hold.Seconds()) - 1, nil
}

// rampUp thins the first part of the warm-up: an arrival stays with a chance
// that grows evenly from 0 to 1 over the ramp.
func (p *plan) rampUp(all []arrival, unit []uint64) []arrival {
	if p.ramp <= 0 {
		return all
	}
	return slices.DeleteFunc(all, func(a arrival) bool {
		grown := float64(a.at+p.warmup) / float64(p.ramp)
		return grown < 1 && unitFloat(mix(p.seed, unit[a.rec], uint64(a.instance), saltRamp)) >= grown
	})
}

func (tl *timeline) checkPlan(s Scaling, p plan) error {
	switch {
	case !(p.perS > 0) || math.IsInf(p.perS, 0):
		return inputError("loads are requests per second above 0", "load %v/s", p.perS)
	case p.perS*(p.warmup+p.hold).Seconds() > maxArrivals:
		return inputError("shorten --hold or lower the load", "a level of %v/s for %v has over %d requests", p.perS, p.hold, maxArrivals)
	case p.need() < 1:
		return inputError("lengthen --hold", "a level of %v/s for %v has no request", p.perS, p.hold)
	case s != Resample && tl.length <= 0:
		return inputError("use --scaling resample", "the trace's %d replayable requests have no rate: they all start at once", len(tl.at))
	case (s == Superpose || s == Thin) && tl.perS()*(p.warmup+p.hold).Seconds() > maxArrivals:
		return inputError("use --scaling resample", "the trace's %d replayable requests come at %.3g/s: too dense to go round for %v", len(tl.at), tl.perS(), p.hold)
	case s == Thin && p.perS > tl.perS()*1.000001:
		return inputError("use --scaling superpose", "thinning cannot raise the rate from %.4g/s to %.4g/s", tl.perS(), p.perS)
	}
	return nil
}

// phase is where in the trace a copy begins. The first copy of the first
// replicate begins at the trace's start, so that every load sees the same part
// of it.
func (tl *timeline) phase(p plan, copyNo int) time.Duration {
	if copyNo == 0 && p.replicate == 0 {
		return 0
	}
	return time.Duration(unitFloat(mix(p.key(), uint64(copyNo), saltPhase)) * float64(tl.length))
}

// copyOf appends one copy of the trace. stride is the number of copies.
func (tl *timeline) copyOf(out []arrival, p plan, copyNo, stride int) []arrival {
	tl.walk(tl.phase(p, copyNo), p.warmup+p.hold, func(at time.Duration, rec int32, lap int) {
		out = append(out, arrival{at - p.warmup, rec, int64(lap*stride + copyNo)})
	})
	return out
}

// maxCopies bounds the search for enough arrivals in a sparse trace.
const maxCopies = 1 << 20

func (tl *timeline) superpose(p plan) ([]arrival, error) {
	var out []arrival
	need, have := p.need(), 0
	for c := 0; have < need; c++ {
		if c == maxCopies {
			return nil, inputError("use --scaling resample", "the trace is too sparse: %.3g/s to be superposed to %.3g/s", tl.perS(), p.perS)
		}
		before := len(out)
		out = tl.copyOf(out, p, c, maxCopies)
		have += inWindow(out[before:])
	}
	out = tl.thinTo(out, p)
	renumber(out)
	return out, nil
}

// renumber closes the gaps between instances, in order of lap and copy.
func renumber(out []arrival) {
	ids := make([]int64, 0, len(out))
	for _, a := range out {
		ids = append(ids, a.instance)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for i := range out {
		k, _ := slices.BinarySearch(ids, out[i].instance)
		out[i].instance = int64(k)
	}
}

func inWindow(arrivals []arrival) int {
	n := 0
	for _, a := range arrivals {
		if a.at >= 0 {
			n++
		}
	}
	return n
}

// thinTo keeps whole sessions of each instance, those with the lowest hashes,
// up to the number whose requests in the window come nearest to the need. A
// session kept at one rate is kept at every higher one.
func (tl *timeline) thinTo(all []arrival, p plan) []arrival {
	need := p.need()
	if inWindow(all) <= need {
		return all
	}
	type ranked struct {
		hash uint64
		a    arrival
	}
	order := make([]ranked, len(all))
	for i, a := range all {
		order[i] = ranked{mix(p.seed, tl.unit[a.rec], uint64(a.instance), saltThin), a}
	}
	slices.SortFunc(order, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.a.at, b.a.at))
	})
	kept, have := all[:0], 0
	for i := 0; i < len(order); {
		j, gain := i, 0
		for ; j < len(order) && order[j].hash == order[i].hash; j++ {
			if order[j].a.at >= 0 {
				gain++
			}
		}
		if have+gain-need > need-have {
			break
		}
		have += gain
		for ; i < j; i++ {
			kept = append(kept, order[i].a)
		}
	}
	return kept
}

func (tl *timeline) compress(p plan) []arrival {
	k := p.perS / tl.perS()
	stretch := func(d time.Duration) time.Duration { return time.Duration(math.Round(float64(d) * k)) }
	var out []arrival
	tl.walk(tl.phase(p, 0), stretch(p.warmup+p.hold), func(at time.Duration, rec int32, lap int) {
		out = append(out, arrival{time.Duration(math.Round(float64(at)/k)) - p.warmup, rec, int64(lap)})
	})
	return out
}

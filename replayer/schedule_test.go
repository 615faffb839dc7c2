package replayer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// poissonTrace has n arrivals of a Poisson process in sessions of up to four.
func poissonTrace(n int, perS float64, seed uint64) []*trace.Record {
	rng := rand.New(rand.NewPCG(seed, 0))
	recs, at := make([]*trace.Record, n), 0.0
	for i := range recs {
		at += rng.ExpFloat64() / perS
		recs[i] = chatRecord(i, time.Duration(at*1e9))
		recs[i].SessionID = new(fmt.Sprintf("s%d", i/4))
	}
	return recs
}

func minute(perS float64) plan {
	return plan{perS: perS, warmup: 10 * time.Second, hold: time.Minute, seed: 7, cv: 1}
}

// dispersion is variance ÷ mean of the counts per second: 1 for Poisson.
func dispersion(arrivals []arrival, d time.Duration) float64 {
	counts := make([]float64, int(d.Seconds()))
	for _, a := range arrivals {
		if a.at >= 0 && a.at < time.Duration(len(counts))*time.Second {
			counts[a.at/time.Second]++
		}
	}
	mean, sq := 0.0, 0.0
	for _, c := range counts {
		mean += c / float64(len(counts))
	}
	for _, c := range counts {
		sq += (c - mean) * (c - mean) / float64(len(counts)-1)
	}
	return sq / mean
}

func TestScheduleRates(t *testing.T) {
	recs := poissonTrace(4000, 10, 1)
	tl := newTimeline(recs, 1, true, 0)
	rows := []struct {
		scaling Scaling
		perS    float64
		off     float64 // allowed, as a share
	}{
		{Superpose, 0.5, 0.1},
		{Superpose, 3, 0.02},
		{Superpose, 10, 0.005},
		{Superpose, 33.3, 0.002},
		{Superpose, 500, 0.0005},
		{Thin, 0.5, 0.1},
		{Thin, 5, 0.01},
		{Compress, 5, 0.2},
		{Compress, 40, 0.1},
		{Resample, 0.5, 0.02},
		{Resample, 77, 0.0005},
	}
	for _, row := range rows {
		t.Run(fmt.Sprintf("%s %v", row.scaling, row.perS), func(t *testing.T) {
			p := minute(row.perS)
			got, drift, err := tl.schedule(row.scaling, p)
			if err != nil {
				t.Fatal(err)
			}
			rate := float64(inWindow(got)) / 60
			if math.Abs(rate/row.perS-1) > row.off || math.Abs(rate/row.perS-1-drift) > 1e-9 {
				t.Errorf("rate %v, want %v within %v; drift says %v", rate, row.perS, row.off, drift)
			}
			checkSchedule(t, got, p, len(recs))
			again, _, _ := tl.schedule(row.scaling, p)
			if d := cmp.Diff(got, again, cmp.AllowUnexported(arrival{})); d != "" {
				t.Error("the same seed gives another schedule")
			}
			p.seed++
			if other, _, _ := tl.schedule(row.scaling, p); row.scaling != Compress && slices.Equal(got, other) {
				t.Error("another seed gives the same schedule")
			}
		})
	}
}

// checkSchedule: sorted, inside the level, each copy of an exchange once.
func checkSchedule(t *testing.T, got []arrival, p plan, n int) {
	t.Helper()
	seen := make(map[[2]int64]bool)
	for i, a := range got {
		if a.at < -p.warmup || a.at >= p.hold {
			t.Fatalf("arrival %d at %v is outside the level", i, a.at)
		}
		if i > 0 && a.at < got[i-1].at {
			t.Fatalf("arrival %d is before the one before it", i)
		}
		key := [2]int64{int64(a.rec), a.instance}
		if seen[key] || a.rec < 0 || int(a.rec) >= n || a.instance < 0 {
			t.Fatalf("arrival %d is exchange %d, copy %d: out of range or twice", i, a.rec, a.instance)
		}
		seen[key] = true
	}
}

// Case 24 of the public record, and case 16: at scale 1 over its whole length
// the trace is replayed to the nanosecond; at scale k each time is rounded
// once.
func TestScheduleKeepsTimes(t *testing.T) {
	tr := chatTrace(10_000, 400*time.Microsecond)
	tl := newTimeline(tr.Records, 1, true, 0)
	p := plan{perS: 2500, hold: 4 * time.Second, seed: 1, cv: 1}
	got, _, err := tl.schedule(Superpose, p)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range got {
		if a.at != time.Duration(i)*400*time.Microsecond || a.rec != int32(i) || a.instance != 0 {
			t.Fatalf("arrival %d is %+v", i, a)
		}
	}
	p.perS, p.hold = 7500, time.Second
	got, _, err = tl.schedule(Compress, p)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range got {
		if want := time.Duration(math.Round(float64(i) * 400_000 / 3)); a.at != want {
			t.Fatalf("arrival %d at %v, want %v", i, a.at, want)
		}
	}
}

// Superposing keeps the gaps inside sessions; compressing divides them.
func TestScheduleThinkTimes(t *testing.T) {
	recs := poissonTrace(4000, 10, 1)
	tl := newTimeline(recs, 1, true, 0)
	p := plan{perS: 20, hold: 100 * time.Second, seed: 1, cv: 1}
	for scaling, factor := range map[Scaling]float64{Superpose: 1, Compress: tl.perS() / 20} {
		got, _, err := tl.schedule(scaling, p)
		if err != nil {
			t.Fatal(err)
		}
		at := make(map[[2]int64]time.Duration)
		for _, a := range got {
			at[[2]int64{int64(a.rec), a.instance}] = a.at
		}
		pairs := 0
		for key, begin := range at {
			next, ok := at[[2]int64{key[0] + 1, key[1]}]
			if !ok || key[0]%4 == 3 {
				continue
			}
			recorded := float64(recs[key[0]+1].StartUnixNs - recs[key[0]].StartUnixNs)
			if math.Abs(float64(next-begin)-recorded*factor) > 2 {
				t.Fatalf("%s: gap %v after exchange %d, recorded %v", scaling, next-begin, key[0], time.Duration(recorded))
			}
			pairs++
		}
		if pairs < 1000 {
			t.Errorf("%s: only %d pairs of one session", scaling, pairs)
		}
	}
}

// A session kept at one rate is kept at every higher one, and whole.
func TestThinIsNested(t *testing.T) {
	recs := poissonTrace(4000, 10, 1)
	tl := newTimeline(recs, 1, true, 0)
	var below map[int32]bool
	for _, perS := range []float64{1, 2, 5, 9} {
		got, _, err := tl.schedule(Thin, plan{perS: perS, hold: 380 * time.Second, seed: 3, cv: 1})
		if err != nil {
			t.Fatal(err)
		}
		kept := make(map[int32]bool)
		sessions := make(map[string]int)
		for _, a := range got {
			kept[a.rec] = true
			sessions[*recs[a.rec].SessionID]++
		}
		for rec := range below {
			if !kept[rec] {
				t.Fatalf("exchange %d is kept at a lower rate than %v", rec, perS)
			}
		}
		for id, n := range sessions {
			if n != 4 && id != *recs[got[len(got)-1].rec].SessionID && n < 3 {
				t.Fatalf("session %s: %d of 4 kept", id, n)
			}
		}
		below = kept
	}
}

// A trace shorter than the level goes round, each lap a copy of its own.
func TestScheduleGoesRound(t *testing.T) {
	tl := newTimeline(chatTrace(10, 100*ms).Records, 1, true, 0)
	got, _, err := tl.schedule(Superpose, plan{perS: 10, warmup: time.Second, hold: 5 * time.Second, seed: 1, cv: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range got {
		want := arrival{time.Duration(i)*100*ms - time.Second, int32(i % 10), int64(i / 10)}
		if a != want {
			t.Fatalf("arrival %d is %+v, want %+v", i, a, want)
		}
	}
	if len(got) != 60 {
		t.Errorf("%d arrivals, want 60", len(got))
	}
}

// Case 15: a clock of 3 s makes batches, spread on takes them apart.
func TestQuantumSpread(t *testing.T) {
	var recs []*trace.Record
	for i, r := range poissonTrace(6000, 4, 2) {
		r = chatRecord(i, time.Duration(r.StartUnixNs).Truncate(3*time.Second))
		r.ArrivalResolutionNs = int64(3 * time.Second)
		recs = append(recs, r)
	}
	p := plan{perS: 4, hold: 20 * time.Minute, seed: 1, cv: 1}
	for _, spread := range []bool{true, false} {
		tl := newTimeline(recs, 1, spread, 0)
		got, _, err := tl.schedule(Superpose, p)
		if err != nil {
			t.Fatal(err)
		}
		d := dispersion(got, p.hold)
		if spread && (d < 0.85 || d > 1.15) || !spread && d < 5 {
			t.Errorf("spread %v: dispersion of the counts per second %v", spread, d)
		}
		if (tl.spread > 0) != spread {
			t.Errorf("spread %v is flagged as %v", spread, tl.spread)
		}
	}
}

// Superposed copies of a bursty trace come near to Poisson; resampled gaps
// have the variation asked for.
func TestScheduleDispersion(t *testing.T) {
	tl := newTimeline(poissonTrace(2000, 5, 4), 1, true, 0)
	p := plan{perS: 50, hold: 10 * time.Minute, seed: 1, cv: 1}
	got, _, err := tl.schedule(Superpose, p)
	if err != nil {
		t.Fatal(err)
	}
	if d := dispersion(got, p.hold); d < 0.85 || d > 1.15 {
		t.Errorf("superposed: dispersion %v", d)
	}
	for _, cv := range []float64{0.2, 1, 3} {
		p.cv = cv
		got, _, err := tl.schedule(Resample, p)
		if err != nil {
			t.Fatal(err)
		}
		sum, sq, n := 0.0, 0.0, float64(len(got)-1)
		for i := range got[1:] {
			gap := (got[i+1].at - got[i].at).Seconds()
			sum, sq = sum+gap, sq+gap*gap
		}
		mean := sum / n
		if have := math.Sqrt(sq/n-mean*mean) / mean; math.Abs(have/cv-1) > 0.05 {
			t.Errorf("cv %v, want %v", have, cv)
		}
	}
}

// The gamma generator against the moments of the law: mean k, variance k.
func TestGamma(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, k := range []float64{0.1, 0.5, 1, 4, 25} {
		const n = 200_000
		sum, sq := 0.0, 0.0
		for range n {
			x := gamma(rng, k)
			sum, sq = sum+x, sq+x*x
		}
		mean := sum / n
		if variance := sq/n - mean*mean; math.Abs(mean/k-1) > 0.02 || math.Abs(variance/k-1) > 0.05 {
			t.Errorf("shape %v: mean %v, variance %v", k, mean, variance)
		}
	}
}

// Any mix of options: the rate, the borders and the identity hold.
func FuzzSchedule(f *testing.F) {
	f.Add(uint64(1), 10.0, 20.0, uint16(50), int64(0))
	f.Add(uint64(2), 0.3, 7.0, uint16(3), int64(time.Second))
	f.Add(uint64(3), 100.0, 1.0, uint16(1000), int64(3*time.Second))
	f.Fuzz(func(t *testing.T, seed uint64, recorded, perS float64, n uint16, grid int64) {
		if !(recorded > 1e-3 && recorded < 1e4 && perS > 1e-3 && perS < 1e3) || n < 2 || n > 2000 || grid < 0 || grid > int64(time.Hour) {
			return // no trace that schedule is given
		}
		recs := poissonTrace(int(n), recorded, seed)
		for _, r := range recs {
			r.ArrivalResolutionNs = max(grid, 1)
			r.StartUnixNs -= r.StartUnixNs % r.ArrivalResolutionNs
		}
		tl := newTimeline(recs, seed, true, 0)
		p := plan{perS: perS, warmup: 3 * time.Second, hold: 20 * time.Second, seed: seed, cv: 1}
		for _, s := range []Scaling{Superpose, Thin, Compress, Resample} {
			if got, _, err := tl.schedule(s, p); err == nil {
				checkSchedule(t, got, p, len(recs))
			}
		}
	})
}

func TestPeakRate(t *testing.T) {
	recs := chatTrace(100, time.Second).Records
	if peak := newTimeline(recs[:30], 1, true, 0).peakPerS(); peak != nil {
		t.Errorf("peak %v of half a minute", *peak)
	}
	for i := range 60 { // a second request each second of the second minute
		recs = append(recs, chatRecord(100+i, time.Minute+time.Duration(i)*time.Second))
	}
	slices.SortFunc(recs, func(a, b *trace.Record) int { return int(a.StartUnixNs - b.StartUnixNs) })
	if peak := newTimeline(recs, 1, true, 0).peakPerS(); *peak != 100.0/60 {
		t.Errorf("peak %v, want 100 a minute", *peak)
	}
}

// A night between two busy times, and another at the seam.
func TestIdleGapsAreShortened(t *testing.T) {
	const s, h = time.Second, time.Hour
	tr := chatTrace(4, 0)
	for i, at := range []time.Duration{0, 10 * s, 8 * h, 8*h + 10*s} {
		tr.Records[i].StartUnixNs = int64(at)
	}
	tl := newTimeline(tr.Records, 1, true, 30*s)
	if d := cmp.Diff([]time.Duration{0, 10 * s, 40 * s, 50 * s}, tl.at); d != "" {
		t.Errorf("arrivals: %s", d)
	}
	if tl.length != 80*s || tl.shortened != 2 {
		t.Errorf("length %v, %d gaps shortened; want 80s and 2", tl.length, tl.shortened)
	}
	whole := newTimeline(tr.Records, 1, true, 0)
	if tl.recordedPerS() != whole.perS() || *tl.peak != *whole.peak || *tl.peak != 2.0/60 {
		t.Errorf("what was recorded changed: %v/s of %v/s, peak %v", tl.recordedPerS(), whole.perS(), *tl.peak)
	}
}

// The load grows evenly over the ramp, and what is measured is untouched.
func TestRamp(t *testing.T) {
	tl := newTimeline(poissonTrace(20_000, 100, 4), 1, true, 0)
	p := plan{perS: 100, warmup: 60 * time.Second, hold: 20 * time.Second, seed: 1}
	flat, _, err := tl.schedule(Superpose, p)
	if err != nil {
		t.Fatal(err)
	}
	p.ramp = 40 * time.Second
	got, _, err := tl.schedule(Superpose, p)
	if err != nil {
		t.Fatal(err)
	}
	count := func(all []arrival, from, to time.Duration) (n float64) {
		for _, a := range all {
			if a.at >= from && a.at < to {
				n++
			}
		}
		return n
	}
	for i := range 4 {
		from := time.Duration(i*10-60) * time.Second
		want := count(flat, from, from+10*time.Second) * (float64(i) + 0.5) / 4
		if n := count(got, from, from+10*time.Second); math.Abs(n-want) > 4*math.Sqrt(want) {
			t.Errorf("%v to %v: %v arrivals, want about %v", from, from+10*time.Second, n, want)
		}
	}
	if a, b := count(flat, -20*time.Second, time.Hour), count(got, -20*time.Second, time.Hour); a != b {
		t.Errorf("after the ramp %v arrivals, want %v", b, a)
	}
}

// Constant gaps are equal, from the window's first moment on; gamma gaps have
// the coefficient of variation that is asked for.
func TestDrawnGaps(t *testing.T) {
	tl := newTimeline(chatTrace(50, time.Second).Records, 1, true, 0)
	for _, row := range []struct {
		even   bool
		cv     float64
		lo, hi float64
	}{
		{even: true, cv: 1, lo: 0, hi: 1e-6},
		{cv: 1, lo: 0.95, hi: 1.05},
		{cv: 2, lo: 1.85, hi: 2.15},
		{cv: 0.5, lo: 0.47, hi: 0.53},
	} {
		got, drift, err := tl.schedule(Resample, plan{perS: 50, warmup: time.Second, hold: 200 * time.Second, cv: row.cv, even: row.even, seed: 3})
		if err != nil || drift != 0 {
			t.Fatal(err, drift)
		}
		var sum, squares, n float64
		for i := 51; i < len(got); i++ { // the warm-up has 50
			gap := (got[i].at - got[i-1].at).Seconds()
			sum, squares, n = sum+gap, squares+gap*gap, n+1
		}
		cv := math.Sqrt(max(0, squares/n-sum*sum/n/n)) / (sum / n)
		if cv < row.lo || cv > row.hi || row.even && (got[50].at != 0 || got[0].at != -time.Second) {
			t.Errorf("%+v: coefficient of variation %v, first at %v", row, cv, got[50].at)
		}
	}
}

package analyzer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lambdac/lambdac/analyzer/stats"
	"github.com/lambdac/lambdac/trace"
)

// SearchConfig says what a search looks for, and how far.
type SearchConfig struct {
	// From and To bound the loads, requests per second, 0 < From < To.
	From, To float64
	// MaxShare is the share of failed requests whose load is searched; 0 = λc,
	// the load from which failures grow.
	MaxShare float64
	// Objective is searched instead, as the analysis judges it by the requests
	// that [Search.See] gets; nil = none. Drain, FirstToken and Total are the
	// replay's deadlines, by which a request that was given up is judged; 0 = none.
	Objective                *Objective
	Drain, FirstToken, Total time.Duration
	// Budget is the time that all levels may take, drains included; 0 = no
	// limit. MaxLevels bounds their number; 0 = 40.
	Budget    time.Duration
	MaxLevels int
	// Width is the relative width of the interval (λc) or bracket (a share) at
	// which the search is done; 0 = 0.05.
	Width float64
}

// ErrSearch reports a search that cannot be done.
var ErrSearch = errors.New("not a search")

// Search chooses the loads of a replay one by one. What is next depends on the
// levels done alone and, with an objective, on the requests seen of them.
type Search struct {
	c SearchConfig
	// missed counts the requests that missed the objective, by level.
	missed map[int32]*tally
}

const (
	defaultMaxLevels = 40
	defaultWidth     = 0.05
	// scouts are the even levels with which a search for λc begins.
	scouts = 7
	// worthwhile is the least expected shrinkage of the variance of λc for which
	// one more level is run.
	worthwhile = 0.05
	// confirming is how often each end of a bracket is run at least, hopeless how
	// often at most to prove it.
	confirming = 2
	hopeless   = 5
	// futile is how often a load is run that is never valid; then the loads are
	// taken to be out of this client's reach, and the search goes on below
	// reachable of the way to it.
	futile    = 3
	reachable = 0.75
)

// NewSearch checks the configuration. Errors match [ErrSearch].
func NewSearch(c SearchConfig) (*Search, error) {
	if c.MaxLevels == 0 {
		c.MaxLevels = defaultMaxLevels
	}
	if c.Width == 0 {
		c.Width = defaultWidth
	}
	if o := c.Objective; o != nil && c.MaxShare == 0 {
		c.MaxShare = o.share()
	}
	switch {
	case !(c.From > 0) || !(c.To > c.From) || math.IsInf(c.To, 0):
		return nil, fmt.Errorf("%w: loads from %g to %g: want 0 < from < to", ErrSearch, c.From, c.To)
	case !(c.MaxShare >= 0) || c.MaxShare >= 1:
		return nil, fmt.Errorf("%w: a share of %g: want it in [0, 1)", ErrSearch, c.MaxShare)
	case c.Budget < 0 || c.MaxLevels < 0 || !(c.Width >= 0):
		return nil, fmt.Errorf("%w: a limit is negative", ErrSearch)
	}
	return &Search{c, make(map[int32]*tally)}, nil
}

// Next returns the level to run after those done, with OfferedPerS set; false
// ends the search. Levels that are not valid count for the budget; a load where
// three are, and none is valid, is beyond what this client can send, and the
// search stays below it, or ends if it is the lowest.
func (s *Search) Next(done []trace.Level) (trace.Level, bool) {
	if len(done) >= s.c.MaxLevels || s.spent(done) {
		return trace.Level{}, false
	}
	s, ok := s.within(done)
	if !ok {
		return trace.Level{}, false
	}
	c, runs := countsOf(done, s.counts)
	if s.c.Objective != nil && len(c.X) == 0 && slices.ContainsFunc(done, func(l trace.Level) bool { return len(l.Invalid) == 0 }) {
		return trace.Level{}, false // nothing answers in a way that it could be measured on
	}
	next := s.nextOnset
	if s.c.MaxShare > 0 {
		next = s.nextShare
	}
	x, more := next(c, runs)
	if !more {
		return trace.Level{}, false
	}
	return trace.Level{OfferedPerS: min(max(x, s.c.From), s.c.To)}, true
}

// within is the search among the loads that the client can send; false if not
// even the lowest is one.
func (s *Search) within(done []trace.Level) (*Search, bool) {
	type tries struct{ valid, invalid int }
	at := map[float64]*tries{}
	for i := range done {
		t := at[done[i].OfferedPerS]
		if t == nil {
			t = &tries{}
			at[done[i].OfferedPerS] = t
		}
		if len(done[i].Invalid) > 0 {
			t.invalid++
		} else {
			t.valid++
		}
	}
	c := s.c
	for load, t := range at {
		if t.valid == 0 && t.invalid >= futile {
			c.To = min(c.To, c.From+reachable*(load-c.From))
		}
	}
	return &Search{c, s.missed}, c.To > c.From
}

// spent reports whether one more level of mean length would exceed the budget.
func (s *Search) spent(done []trace.Level) bool {
	if s.c.Budget == 0 || len(done) == 0 {
		return false
	}
	var sum time.Duration
	for i := range done {
		sum += time.Duration(max(done[i].DrainedUnixNs, done[i].EndUnixNs) - done[i].BeginUnixNs)
	}
	return sum+sum/time.Duration(len(done)) > s.c.Budget
}

// See takes a request that was due in the window of a level under way.
func (s *Search) See(l *trace.Level, r *trace.Record) {
	if s.c.Objective == nil || len(r.Faults) > 0 {
		return
	}
	class := r.Class()
	if class == trace.ClassExcluded {
		return
	}
	of := run{level: trace.Level{EndUnixNs: l.EndUnixNs}, plan: deadlines{s.c.Drain, s.c.FirstToken, s.c.Total}}
	w := row{Stream: r.Stream, judgedColumns: judgedColumns{
		Timing: r.Timing, StartUnixNs: r.StartUnixNs, Outcome: r.Outcome, OutcomeDetail: r.OutcomeDetail,
		OutputTokens: r.OutputTokens, N: r.N,
	}}
	missed, measured := s.c.Objective.missed(&w, class, of.waited(&w))
	if !measured {
		return
	}
	t := s.missed[l.Index]
	if t == nil {
		t = &tally{}
		s.missed[l.Index] = t
	}
	t.n++
	if missed {
		t.k++
	}
}

// counts are the requests of a level by which it is judged.
func (s *Search) counts(l *trace.Level) tally {
	if s.c.Objective == nil {
		return failedOf(l)
	}
	if t := s.missed[l.Index]; t != nil {
		return *t
	}
	return tally{}
}

func failedOf(l *trace.Level) tally { return tally{k: l.Tally.Failed(), n: l.Tally.Offered()} }

// countsOf pools the valid levels by load; runs is how often each was run.
func countsOf(done []trace.Level, counts func(*trace.Level) tally) (c stats.Counts, runs []int) {
	levels := slices.Clone(done)
	slices.SortStableFunc(levels, func(a, b trace.Level) int { return cmp.Compare(a.OfferedPerS, b.OfferedPerS) })
	for i := range levels {
		l := &levels[i]
		t := counts(l)
		if len(l.Invalid) > 0 || t.n == 0 {
			continue
		}
		if last := len(c.X) - 1; last < 0 || !sameLoad(c.X[last], l.OfferedPerS) {
			c.X, c.N, c.K, runs = append(c.X, l.OfferedPerS), append(c.N, 0), append(c.K, 0), append(runs, 0)
		}
		last := len(c.X) - 1
		c.N[last] += float64(t.n)
		c.K[last] += float64(t.k)
		runs[last]++
	}
	return c, runs
}

// nextOnset is the hybrid of a c-optimal design and the widest gap, by turns
// after seven even levels: the design alone is trapped where its model is wrong.
func (s *Search) nextOnset(c stats.Counts, runs []int) (float64, bool) {
	if x, ok := s.scout(c); ok {
		return x, true
	}
	sub := c.SubSaturated(saturatedAbove)
	if len(sub.X) < 4 {
		return below(c, len(sub.X))
	}
	lambda, in, err := stats.OnsetInterval(sub, stats.Dispersion{Phi: 1}.Cut(confidence))
	if err != nil || in.Width() <= s.c.Width*lambda {
		return 0, false
	}
	top := sub.X[len(sub.X)-1]
	if len(sub.X) < len(c.X) {
		top = (top + c.X[len(sub.X)]) / 2
	}
	x, shrink, ok := stats.OnsetDesign(sub, s.candidates(top), perLevel(c, runs))
	switch {
	case ok && shrink < worthwhile:
		return 0, false
	case !ok || total(runs)%2 == 0:
		return gapIn(c, in)
	}
	return x, true
}

func total(runs []int) int {
	sum := 0
	for _, r := range runs {
		sum += r
	}
	return sum
}

// scout is the next of the even levels that is not done, in an order in which a
// drift of the service does not look like a slope.
func (s *Search) scout(c stats.Counts) (float64, bool) {
	for _, i := range []int{0, scouts - 1, 2, 4, 1, 5, 3} {
		x := s.c.From + (s.c.To-s.c.From)*float64(i)/(scouts-1)
		if !wasRun(c, x) {
			return x, true
		}
	}
	return 0, false
}

func wasRun(c stats.Counts, x float64) bool {
	return slices.ContainsFunc(c.X, func(at float64) bool { return sameLoad(at, x) })
}

// below halves the gap below the first saturated load until four loads are not.
func below(c stats.Counts, sub int) (float64, bool) {
	if sub == 0 {
		return 0, false // even the lowest load that is allowed is saturated
	}
	return (c.X[sub-1] + c.X[sub]) / 2, true
}

// candidates are even loads up to the first that is saturated.
func (s *Search) candidates(top float64) []float64 {
	const n = 60
	var out []float64
	for i := range n + 1 {
		out = append(out, s.c.From+(top-s.c.From)*float64(i)/n)
	}
	return out
}

// perLevel is the number of requests of a level at load x, from those done.
func perLevel(c stats.Counts, runs []int) func(float64) float64 {
	seconds := 0.0
	for i, x := range c.X {
		seconds += c.N[i] / x
	}
	levels := float64(total(runs))
	return func(x float64) float64 { return x * seconds / levels }
}

// gapIn is the middle of the widest gap between loads that touches the interval.
func gapIn(c stats.Counts, i stats.OpenInterval) (at float64, ok bool) {
	widest := 0.0
	for j := range len(c.X) - 1 {
		low, high := c.X[j], c.X[j+1]
		if gap := high - low; gap > widest && (i.LowOpen || high >= i.Low) && (i.HighOpen || low <= i.High) {
			at, widest = (low+high)/2, gap
		}
	}
	return at, widest > 0
}

// nextShare bisects between the highest load that seems to hold and the lowest
// that seems not to, then runs both ends, and what is below, until all is proven.
func (s *Search) nextShare(c stats.Counts, runs []int) (float64, bool) {
	for _, end := range []float64{s.c.From, s.c.To} {
		if !wasRun(c, end) {
			return end, true
		}
	}
	broken := 0
	for broken < len(c.X) && c.K[broken] <= s.c.MaxShare*c.N[broken] {
		broken++
	}
	switch broken {
	case len(c.X):
		return s.confirm(c, runs, broken-1)
	case 0:
		return s.confirm(c, runs, 0)
	}
	low, high := c.X[broken-1], c.X[broken]
	if high-low > s.c.Width*low {
		return (low + high) / 2, true
	}
	for _, i := range []int{broken - 1, broken} {
		if x, again := s.confirm(c, runs, i); again {
			return x, true
		}
	}
	// The proof climbs from the lowest load on.
	for i := range broken - 1 {
		if !s.proven(c, i) && runs[i] < hopeless {
			return c.X[i], true
		}
	}
	return 0, false
}

// confirm runs a load again until it was run twice and is proven to hold or to
// be broken, or that seems hopeless.
func (s *Search) confirm(c stats.Counts, runs []int, i int) (float64, bool) {
	return c.X[i], runs[i] < confirming || !s.proven(c, i) && runs[i] < hopeless
}

func (s *Search) proven(c stats.Counts, i int) bool {
	bound := stats.ClopperPearson(c.K[i], c.N[i], 2*oneSided-1)
	return bound.High < s.c.MaxShare || bound.Low > s.c.MaxShare
}

package analyzer

import (
	"fmt"
	"time"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// maxPresized bounds the memory that a damaged count can ask for: 128 MiB.
const maxPresized = 1 << 22

// blocksPerRun is the number of equal blocks into which the window of a run is
// cut, to see how much more its counts vary in time than coin tosses.
const blocksPerRun = 8

// run is what one level of the run directory showed: the unit of replication.
type run struct {
	level   trace.Level
	plan    deadlines
	tally   trace.Tally
	faulted int64
	// reasons say why the run is not judged; empty = it is.
	reasons []string

	// ttft are the times to first token of the answered requests, µs.
	ttft []int64
	// answers are the answered requests, probes the questions with known answers.
	answers []Answer
	probes  []Probe
	// bins are the token counts of the answers, in groups.
	bins [][]float64
	// moments are the requests of the window, kept where recovery is to be
	// judged; struck are those that faults fell on.
	watched      bool
	moments      []moment
	struck       []moment
	met          int64
	unmeasured   int64 // answered, without a time that an objective bounds
	outputTokens int64
	tokenRows    int64
	// misses counts, per objective and block, the requests that missed it
	// among those it is measured on.
	misses [][blocksPerRun]tally
	// spread holds, per objective on a latency and block, what misses counts.
	spread [][blocksPerRun]histogram
	blocks [blocksPerRun]classTally
	open   presence
	// answeredUs is Σ duration of the answered requests.
	answeredUs int64
}

// newRun is the run of a level of which nothing was read yet.
func newRun(level trace.Level, plan deadlines, objectives []Objective) *run {
	return &run{
		level: level, plan: plan,
		misses: make([][blocksPerRun]tally, len(objectives)), spread: make([][blocksPerRun]histogram, len(objectives)),
	}
}

// hasSample reports whether an objective was measured on any request.
func (r *run) hasSample(index int) bool {
	for _, b := range r.misses[index] {
		if b.n > 0 {
			return true
		}
	}
	return false
}

// tally is k failures of n.
type tally struct{ k, n int64 }

// classTally counts what is fitted.
type classTally struct{ n, errors, sheds int64 }

func (r *run) counts() classTally {
	return classTally{n: r.tally.Offered(), errors: r.tally.Errors, sheds: r.tally.Sheds}
}

// see takes one row of the level, warm-up included.
func (r *run) see(w *row, objectives []Objective) {
	r.open.see(r, w)
	if r.level.InWindow(w.StartUnixNs) {
		r.take(w, objectives)
	}
}

// take counts one row of the run's window.
func (r *run) take(w *row, objectives []Objective) {
	result := w.result()
	class := result.Class()
	if len(w.Faults) > 0 {
		r.faulted++
		if r.watched && class != trace.ClassExcluded {
			r.struck = append(r.struck, r.moment(w, class, objectives))
		}
		return
	}
	r.tally.Add(&result)
	if class == trace.ClassExcluded {
		return
	}
	block := r.block(w.StartUnixNs)
	r.blocks[block].add(class)
	if r.watched {
		r.moments = append(r.moments, r.moment(w, class, objectives))
	}
	if w.OutputTokens != nil {
		r.outputTokens += *w.OutputTokens
		r.tokenRows++
	}
	if e2e, ok := w.E2E(); ok && class == trace.ClassOK {
		r.answeredUs += e2e.Microseconds()
	}
	if ttft, ok := w.TTFTUser(); ok && class == trace.ClassOK {
		r.ttft = append(r.ttft, ttft.Microseconds())
	}
	if class == trace.ClassOK {
		if r.answers == nil {
			r.answers = make([]Answer, 0, min(max(r.level.Scheduled, 0), maxPresized))
		}
		r.answers = w.answer(r.answers)
	}
	if r.judge(w, class, block, objectives) && class == trace.ClassOK {
		r.met++
	}
}

// block is the index of the block of a start inside the window.
func (r *run) block(startUnixNs int64) int {
	length := r.level.EndUnixNs - r.level.StartUnixNs
	at := (startUnixNs - r.level.StartUnixNs) * blocksPerRun / max(1, length)
	return int(min(max(at, 0), blocksPerRun-1))
}

func (t *classTally) add(class trace.Class) {
	t.n++
	switch class {
	case trace.ClassError:
		t.errors++
	case trace.ClassShed:
		t.sheds++
	}
}

// judge counts the row for every objective and reports whether it met all that
// bound a latency it has. An answer that was not streamed has no first token,
// and misses no bound on it.
func (r *run) judge(w *row, class trace.Class, block int, objectives []Objective) bool {
	met := true
	for i, o := range objectives {
		missed, measured := o.missed(w, class, r.waited(w))
		if !measured {
			if class == trace.ClassOK {
				r.unmeasured++
			}
			continue
		}
		r.misses[i][block].n++
		if d, ok := w.latency(o.Metric); ok {
			r.spread[i][block].add(d)
		} else if missed {
			r.spread[i][block].addSlowest()
		}
		if missed {
			r.misses[i][block].k++
			met = met && o.isRate()
		}
	}
	return met
}

// missed reports whether a request failed the objective's own test; measured
// is false where the objective says nothing of it. Latency is judged over
// answered requests: what failed is in the error rate. But a request that the
// client gave up after waiting is judged by what it waited at least: it would
// be slow, not fast, and leaving it out would make an overloaded service look
// as quick as the few answers that it gave.
func (o Objective) missed(w *row, class trace.Class, waited time.Duration) (missed, measured bool) {
	switch {
	case o.Metric == "shed_rate":
		return class == trace.ClassShed, true
	case o.Metric == "error_rate":
		return class != trace.ClassOK, true
	case class == trace.ClassOK:
		d, ok := w.latency(o.Metric)
		return d > o.Max, ok
	case waited == 0 || o.Metric == "tpot" || o.Metric == "max_gap":
		return false, false
	case o.Metric == "e2e":
		return true, waited > o.Max
	case !w.Stream:
		return false, false
	}
	if d, ok := w.latency(o.Metric); ok {
		return d > o.Max, true
	}
	return true, waited > o.Max
}

// waited is how long at least the client waited for a request before it gave
// it up; 0 = it did not, or that is not known.
func (r *run) waited(w *row) time.Duration {
	if w.OutcomeDetail == nil || w.TSentUs == nil {
		return 0
	}
	switch detail := *w.OutcomeDetail; {
	case w.Outcome == trace.OutcomeClientAbort && detail == trace.DetailDrain:
		return time.Duration(r.level.EndUnixNs-w.StartUnixNs) + r.plan.drain
	case w.Outcome == trace.OutcomeTimeout && detail == trace.DetailTTFT:
		return r.plan.firstToken
	case w.Outcome == trace.OutcomeTimeout && detail == trace.DetailTotal:
		return r.plan.total
	}
	return 0
}

// deadlines are the client's, of the run's plan; 0 = none or not known.
type deadlines struct{ drain, firstToken, total time.Duration }

func deadlinesOf(m *trace.Run) deadlines {
	return deadlines{drain: time.Duration(m.DrainNs), firstToken: time.Duration(m.FirstTokenNs), total: time.Duration(m.TotalNs)}
}

// readRuns reads the rows of a run directory into one run per level. Rows
// outside every window (warm-up, drain) are left out.
//
// Where there are features, their rows are joined with those of the requests.
func readRuns(d *tracedir.Dir, levels []trace.Level, objectives []Objective, seen *aside) ([]*run, error) {
	runs := make([]*run, len(levels))
	byIndex := make(map[int32]*run, len(levels))
	for i, level := range levels {
		runs[i] = newRun(level, deadlinesOf(d.Manifest().Run), objectives)
		runs[i].watched = len(seen.marks) > 0 && len(objectives) > 0
		if byIndex[level.Index] != nil {
			return nil, fmt.Errorf("read levels: two levels have index %d", level.Index)
		}
		byIndex[level.Index] = runs[i]
	}
	var err error
	if len(seen.features) > 0 {
		err = eachRow(d, byIndex, func(r *run, w *joinedRow) {
			r.see(&w.row, objectives)
			r.join(w, seen)
		}, func(w *joinedRow) *int32 { return w.Level })
	} else {
		err = eachRow(d, byIndex, func(r *run, w *row) { r.see(w, objectives) }, func(w *row) *int32 { return w.Level })
	}
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		r.reasons = r.invalid()
	}
	return runs, nil
}

// maxOwnShare is the share of a level that may be excluded because of the load
// generator.
const maxOwnShare = 0.01

// invalid lists why the run says nothing of the service: what the replayer
// found, and what the rows show.
func (r *run) invalid() []string {
	reasons := append([]string(nil), r.level.Invalid...)
	total := r.tally.Total() + r.faulted
	if total != r.level.Scheduled {
		reasons = append(reasons, fmt.Sprintf("%d requests were scheduled and %d are in the files", r.level.Scheduled, total))
	}
	if r.tally.Offered() == 0 {
		reasons = append(reasons, "no request that says anything of the service")
	}
	if own := r.tally.ExcludedByUs; float64(own) > maxOwnShare*float64(total) {
		reasons = append(reasons, fmt.Sprintf("%d of %d requests were lost by the load generator", own, total))
	}
	return reasons
}

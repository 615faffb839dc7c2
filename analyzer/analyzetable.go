package analyzer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lambdac/lambdac/trace"
)

// AnalyzeTable analyzes the results of another tool as [Analyze] does a run
// directory. What a table cannot tell is left open and said: objectives on
// latencies need single requests, not quantiles.
func AnalyzeTable(t *Table, o Options) (*Analysis, error) {
	if o.Seed == 0 {
		o.Seed = 1
	}
	runs := t.runs(o.Objectives)
	m := &trace.Manifest{Run: &trace.Run{Loop: "open", Scaling: "unknown", Validity: trace.Validity{Verdict: trace.Valid}}}
	if t.Closed {
		m.Run.Loop = "closed"
	}
	if dwell := t.rows[0].dwellS; dwell > 0 {
		m.Run.HoldNs = nanos(dwell)
	}
	a := newAnalysis(m, o)
	a.Warnings = append(a.Warnings, t.Warnings...)
	a.Run.Runs = len(runs)
	loads := groupLoads(runs, t.Closed)
	for _, l := range loads {
		l.x = l.perS // n may hold answers only: the stated load stands
	}
	a.judge(loads, runs, m.Run, o)
	a.judgeAside(loads, &aside{table: true}, nil)
	if o.Plan.PeakPerS == 0 {
		a.Headroom.Reason = "a table of results does not tell the rate of the real traffic"
	}
	for i := range a.Levels {
		a.Levels[i].TTFTUserUs = t.latency(a.Levels[i].OfferedPerS, a.Levels[i].N-a.Levels[i].Errors)
	}
	return a, nil
}

// runRows are the lines of one run: one per class.
type runRows []*tableRow

// grouped joins the lines of one load and run. Without a column run, each line
// of a load and class is a run of its own.
func (t *Table) grouped() []runRows {
	type key struct {
		load float64
		run  string
		nth  int
	}
	var out []runRows
	at, nth := make(map[key]int), make(map[key]int)
	for i := range t.rows {
		r := &t.rows[i]
		k := key{load: r.load, run: r.run}
		if r.run == "" {
			class := key{load: r.load, run: r.class, nth: -1}
			k.nth = nth[class]
			nth[class]++
		}
		if place, ok := at[k]; ok {
			out[place] = append(out[place], r)
			continue
		}
		at[k] = len(out)
		out = append(out, runRows{r})
	}
	return out
}

// runs makes the runs of an analysis.
func (t *Table) runs(objectives []Objective) []*run {
	groups := t.grouped()
	replicates := make(map[float64]int32)
	settled := t.tellsInFlight()
	var runs []*run
	for i, rows := range groups {
		r := newRun(rows.level(t.Closed), deadlines{}, objectives)
		r.level.Index, r.level.Replicate = int32(i), replicates[rows[0].load]
		replicates[rows[0].load]++
		if rows[0].order < 0 {
			r.level.Order = int32(i)
		}
		r.count(rows, objectives)
		if settled {
			t.settle(r, rows[0])
		}
		r.reasons = rows.invalid()
		runs = append(runs, r)
	}
	return runs
}

// level is the level of a run.
func (rows runRows) level(closed bool) trace.Level {
	first := rows[0]
	l := trace.Level{OfferedPerS: first.load, AchievedPerS: first.load, Order: int32(max(0, min(first.order, 1<<30)))}
	if closed {
		l.Concurrency = new(int32(min(first.load, 1<<30)))
	}
	for _, r := range rows {
		l.Scheduled += r.n
	}
	if first.dwellS > 0 {
		l.StartUnixNs = nanos(max(0, first.startS))
		l.EndUnixNs = l.StartUnixNs + nanos(first.dwellS)
		l.AchievedPerS = float64(l.Scheduled) / first.dwellS
	}
	if first.achievedPerS >= 0 {
		l.AchievedPerS = first.achievedPerS
	}
	l.BeginUnixNs = l.StartUnixNs
	return l
}

// nanos are seconds, no more than a hundred years of them.
func nanos(seconds float64) int64 { return int64(min(seconds, 3.2e9) * 1e9) }

// count fills what a run counts. All is in one block: a table does not tell when
// in a run a request failed.
func (r *run) count(rows runRows, objectives []Objective) {
	for _, row := range rows {
		sheds := max(0, row.sheds)
		r.tally.OK += row.n - row.errors
		r.tally.Errors += row.errors - sheds
		r.tally.Sheds += sheds
		if row.tokensPerS >= 0 && row.dwellS > 0 {
			r.outputTokens += int64(min(row.tokensPerS*row.dwellS, 1e15))
			r.tokenRows++
		}
	}
	r.met = r.tally.OK
	for i, o := range objectives {
		switch o.Metric {
		case "error_rate":
			r.misses[i][0] = tally{k: r.tally.Failed(), n: r.tally.Offered()}
		case "shed_rate":
			r.misses[i][0] = tally{k: r.tally.Sheds, n: r.tally.Offered()}
		default:
			r.unmeasured = r.tally.OK
		}
	}
}

// invalid says why a run says nothing of the service.
func (rows runRows) invalid() []string {
	for _, r := range rows {
		if r.clientInFlightMax > 0 && r.inFlightAtEnd >= r.clientInFlightMax {
			return []string{fmt.Sprintf("line %d: the client's own limit held: %s in flight at the end of at most %s", r.line, formatNumber(r.inFlightAtEnd), formatNumber(r.clientInFlightMax))}
		}
	}
	return nil
}

// tellsInFlight reports whether every line tells what it takes to see a queue
// that grows: the number in flight, the time it was measured for, and how long
// an answer takes.
func (t *Table) tellsInFlight() bool {
	median := t.column("e2e", 0.5)
	return median >= 0 && !slices.ContainsFunc(t.rows, func(r tableRow) bool {
		return r.inFlightAtEnd < 0 || r.dwellS <= 0 || r.ms[median] < 0
	})
}

// settle fills what tells a run that fell behind.
func (t *Table) settle(r *run, row *tableRow) {
	r.open.atEnd, r.open.warmSeen = int64(min(row.inFlightAtEnd, 1e15)), true
	r.open.answeredLate = float64(r.tally.OK) / 2
	r.answeredUs = int64(min(float64(r.tally.OK)*row.ms[t.column("e2e", 0.5)]*1000, 1e18))
}

// column is the place of a quantile's column; −1 = there is none.
func (t *Table) column(metric string, quantile float64) int {
	return slices.Index(t.quantiles, quantileColumn{metric, quantile})
}

// latency is the time to first token at one load as the table gives it: the
// mean over its lines.
func (t *Table) latency(load float64, answered int64) Latency {
	out := Latency{N: answered, Reason: "as the file gives it, mean over its runs; no interval, since single requests are not known"}
	for _, part := range []struct {
		quantile float64
		to       **float64
	}{{0.5, &out.P50}, {0.99, &out.P99}} {
		at := t.column("ttft_user", part.quantile)
		if at < 0 {
			continue
		}
		var ms []float64
		for i := range t.rows {
			if r := &t.rows[i]; sameLoad(r.load, load) && r.ms[at] >= 0 {
				ms = append(ms, r.ms[at])
			}
		}
		if len(ms) > 0 {
			*part.to = finite(1000 * mean(ms))
		}
	}
	if cmp.Or(out.P50, out.P99) == nil {
		out.N, out.Reason = 0, "the file has no time to first token"
	}
	return out
}

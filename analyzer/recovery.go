package analyzer

import (
	"fmt"
	"math"
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
	"github.com/lambdac/lambdac/trace"
)

// Recovery is how long the service took to meet its objectives again after
// faults.
type Recovery struct {
	// Verdict is found where a time is known for a fault, not_found where none
	// recovered while it was watched.
	Verdict Verdict `json:"verdict"`
	// Objectives that must hold again, all of them.
	Objectives []string        `json:"objectives"`
	Faults     []FaultRecovery `json:"faults"`
	// Medians are over the windows of each fault, those that did not recover
	// taken as longer than they were watched (Kaplan and Meier).
	Medians []MedianRecovery `json:"medians"`
	Missing string           `json:"missing,omitempty"`
}

// FaultRecovery is one fault window.
type FaultRecovery struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
	// OfferedPerS is the load that was held when it ended; nil = none was.
	OfferedPerS *float64 `json:"offered_per_s"`
	// Noticed tells whether the requests due in its window missed the objectives
	// by more than chance, and NoticedSeconds after how long from its start that
	// was known; nil = none was due in it, or it was not noticed.
	Noticed        *bool    `json:"noticed"`
	NoticedSeconds *float64 `json:"noticed_seconds"`
	// Seconds from its end to the first second from which each of the next 60
	// met the objectives, and all of them together. Censored: not reached, it is
	// more than Seconds.
	Seconds  *float64 `json:"seconds"`
	Censored bool     `json:"censored"`
	Missing  string   `json:"missing,omitempty"`
}

// MedianRecovery is the median over all windows of one fault.
type MedianRecovery struct {
	Name string `json:"name"`
	// Seconds is nil where fewer than half recovered.
	Seconds   *float64 `json:"seconds"`
	Windows   int      `json:"windows"`
	Recovered int      `json:"recovered"`
}

// moment is one request with the objectives, by number, that it tells of and
// that it missed; only the first 32 are watched.
type moment struct {
	at               int64
	measured, missed uint32
}

// moment takes one row.
func (r *run) moment(w *row, class trace.Class, objectives []Objective) moment {
	m := moment{at: w.StartUnixNs}
	for i, o := range objectives[:min(len(objectives), 32)] {
		missed, measured := o.missed(w, class, r.waited(w))
		if measured {
			m.measured |= 1 << i
		}
		if measured && missed {
			m.missed |= 1 << i
		}
	}
	return m
}

const (
	// holdSeconds is how long the objectives have to hold.
	holdSeconds = 60
	// chance below which the misses of one second are none of a service that
	// meets its objective.
	chance = 0.0001
)

// recoveryOf judges the windows of faults. It is nil where there are none.
func recoveryOf(loads []*load, marks []trace.Mark, objectives []Objective) *Recovery {
	if len(marks) == 0 {
		return nil
	}
	out := &Recovery{Verdict: Insufficient, Objectives: []string{}, Faults: []FaultRecovery{}, Medians: []MedianRecovery{}}
	for _, o := range objectives {
		out.Objectives = append(out.Objectives, o.String())
	}
	if len(objectives) == 0 {
		out.Missing = "an objective (--slo) that has to hold again"
		return out
	}
	recovered, censored := 0, 0
	for _, m := range marks {
		f := recoveryFrom(loads, &m, objectives)
		out.Faults = append(out.Faults, f)
		switch {
		case f.Seconds == nil:
			out.Missing = f.Missing
		case f.Censored:
			censored++
		default:
			recovered++
		}
	}
	out.medians()
	switch {
	case recovered > 0:
		out.Verdict, out.Missing = Found, ""
	case censored > 0:
		out.Verdict, out.Missing = NotFound, ""
	}
	return out
}

// medians joins the windows of faults of one name.
func (r *Recovery) medians() {
	var names []string
	waits := make(map[string][]stats.Wait)
	for _, f := range r.Faults {
		if f.Seconds == nil {
			continue
		}
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
		waits[f.Name] = append(waits[f.Name], stats.Wait{Length: *f.Seconds, Censored: f.Censored})
	}
	for _, name := range names {
		m := MedianRecovery{Name: name, Windows: len(waits[name])}
		for _, w := range waits[name] {
			if !w.Censored {
				m.Recovered++
			}
		}
		if median, ok := stats.MedianWait(waits[name]); ok {
			m.Seconds = &median
		}
		r.Medians = append(r.Medians, m)
	}
}

// recoveryFrom looks for the first second behind a fault from which on the
// objectives hold.
func recoveryFrom(loads []*load, m *trace.Mark, objectives []Objective) FaultRecovery {
	out := FaultRecovery{ID: m.ID, Name: m.Name, Kind: m.Kind}
	r, l := runAt(loads, m)
	if r == nil {
		out.Missing = "the end of the fault is in no level that can be judged"
		return out
	}
	out.OfferedPerS = &l.perS
	out.Noticed, out.NoticedSeconds = r.notice(m, objectives)
	seconds := r.secondsFrom(m.EndUnixNs, len(objectives))
	if len(seconds) < holdSeconds {
		out.Missing = fmt.Sprintf("%d s of load behind the fault, there are %d: hold longer", holdSeconds, len(seconds))
		return out
	}
	for from := 0; from+holdSeconds <= len(seconds); from++ {
		if hold(seconds[from:from+holdSeconds], objectives) {
			out.Seconds = new(float64(from))
			return out
		}
	}
	out.Seconds, out.Censored = new(float64(len(seconds)-holdSeconds)), true
	return out
}

// runAt is the judged run in whose window a fault ended.
func runAt(loads []*load, m *trace.Mark) (*run, *load) {
	for _, l := range loads {
		for _, r := range l.judged {
			if r.level.InWindow(m.EndUnixNs) && (m.Level == nil || *m.Level == r.level.Index) {
				return r, l
			}
		}
	}
	return nil, nil
}

// secondsFrom counts, for each whole second from a moment to the end of the
// window and each objective, the requests that tell of it and those that miss.
func (r *run) secondsFrom(at int64, objectives int) [][]tally {
	n := max(0, (r.level.EndUnixNs-at)/1e9)
	out := make([][]tally, n)
	for i := range out {
		out[i] = make([]tally, objectives)
	}
	for _, m := range r.moments {
		second := (m.at - at) / 1e9
		if m.at < at || second >= n {
			continue
		}
		for i := range min(objectives, 32) {
			out[second][i].n += int64(m.measured >> i & 1)
			out[second][i].k += int64(m.missed >> i & 1)
		}
	}
	return out
}

// hold reports whether all seconds together meet each objective and no single
// one misses it by more than chance.
func hold(seconds [][]tally, objectives []Objective) bool {
	for i, o := range objectives {
		share := o.share()
		var all tally
		for _, s := range seconds {
			if k, n := float64(s[i].k), float64(s[i].n); k > 0 && stats.BinomialSurvival(k, n, share) < chance {
				return false
			}
			all.k, all.n = all.k+s[i].k, all.n+s[i].n
		}
		if all.n == 0 || float64(all.k) > math.Ceil(share*float64(all.n)) {
			return false
		}
	}
	return true
}

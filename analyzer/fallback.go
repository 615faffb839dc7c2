package analyzer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/analyzer/stats"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// Fallback is what became of the requests that faults of the run fell on: whether
// the service fell back, in what time it answered, and how right. A service says
// that it fell back in a header field of the answer whose name holds "fallback"
// (replay --keep-header); its values no, none, false, 0 and off mean that it did
// not.
type Fallback struct {
	// Verdict is found where at least one fault makes the service fall back.
	Verdict Verdict `json:"verdict"`
	// Header is the field's name, in lower case; "" = no answer had one.
	Header string `json:"header"`
	// Faults are by name. A request that two faults fell on is in both.
	Faults []FaultedRequests `json:"faults"`
	// Others are the requests of the same loads that no fault of the run fell on.
	Others  FaultedRequests `json:"others"`
	Missing string          `json:"missing,omitempty"`
}

// FaultedRequests are requests due in the windows of runs that are judged; what
// the client ended is left out.
type FaultedRequests struct {
	// Name is the fault's; "" = none.
	Name string `json:"name"`
	// Verdict is found where the share that fell back is above that of the others
	// (their 95 % intervals do not overlap), not_found where at most 5 % fell back
	// by the upper end.
	Verdict  Verdict `json:"verdict"`
	Requests int64   `json:"requests"`
	Answered int64   `json:"answered"`
	Errors   int64   `json:"errors"`
	Sheds    int64   `json:"sheds"`
	// FellBack is the share of Requests; Clopper-Pearson.
	FellBack Proportion `json:"fell_back"`
	// Reasons counts what the field said, the most frequent at most 20.
	Reasons map[string]int64 `json:"reasons"`
	// Delay is by how much later they were answered than the others that did not
	// fall back at the same load: ms to the first token, or to the end where
	// nothing was streamed; Hodges-Lehmann. Of those that fell back, if any did.
	Delay Effect `json:"delay"`
	// Accuracy is the mean score of the questions with known answers among them.
	Accuracy Proportion `json:"accuracy"`
	Missing  string     `json:"missing,omitempty"`
}

const (
	// rarely is the share up to which a service is said not to fall back.
	rarely = 0.05
	// maxReasons bounds the values of the field that are counted.
	maxReasons = 20
	// maxCompared bounds the answers of each side of which all differences are taken.
	maxCompared = 1500
)

// struckRow is a row with its header fields.
type struckRow struct {
	row

	RequestID   string            `parquet:"request_id"`
	RespHeaders map[string]string `parquet:"resp_headers"`
}

// struckAnswer is one answered request.
type struckAnswer struct {
	load *load
	ms   float64
	fell bool
}

// struckGroup is what is read of the requests of one fault, or of none.
type struckGroup struct {
	out      FaultedRequests
	fellBack int64
	answers  []struckAnswer
	scores   []float64
}

// fallbackOf reads the requests again for what faults did to them. It is nil
// where no fault of the run acted and no answer says that it fell back.
func fallbackOf(d *tracedir.Dir, loads []*load, seen *aside) (*Fallback, error) {
	told := func(knob string) bool {
		return strings.HasPrefix(knob, "fault=") || strings.HasPrefix(knob, "keep_headers=")
	}
	if !slices.ContainsFunc(d.Manifest().Run.Knobs, told) {
		return nil, nil
	}
	runs, at := make(map[int32]*run), make(map[*run]*load)
	for _, l := range loads {
		for _, r := range l.judged {
			runs[r.level.Index], at[r] = r, l
		}
	}
	f := struck{groups: map[string]*struckGroup{"": {}}, seen: seen}
	err := eachRow(d, runs, func(r *run, w *struckRow) {
		if r.level.InWindow(w.StartUnixNs) {
			f.take(at[r], w)
		}
	}, func(w *struckRow) *int32 { return w.Level })
	if err != nil {
		return nil, err
	}
	return f.judge(), nil
}

// struck collects the groups.
type struck struct {
	groups map[string]*struckGroup
	header string
	seen   *aside
}

func (f *struck) take(l *load, w *struckRow) {
	result := w.result()
	class := result.Class()
	if class == trace.ClassExcluded {
		return
	}
	said := f.said(w.RespHeaders)
	names := w.Faults
	if len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		if f.groups[name] == nil {
			f.groups[name] = new(struckGroup)
		}
		f.groups[name].take(l, w, class, said, f.seen.features[hashID(w.RequestID)])
	}
}

// said is what an answer says of why it fell back; "" = it did not.
func (f *struck) said(fields map[string]string) string {
	for name, value := range fields {
		if !strings.Contains(strings.ToLower(name), "fallback") {
			continue
		}
		f.header = strings.ToLower(name)
		switch strings.ToLower(value) {
		case "", "no", "none", "false", "0", "off":
		default:
			return value
		}
	}
	return ""
}

func (g *struckGroup) take(l *load, w *struckRow, class trace.Class, said string, f *feature) {
	g.out.Requests++
	switch class {
	case trace.ClassError:
		g.out.Errors++
	case trace.ClassShed:
		g.out.Errors, g.out.Sheds = g.out.Errors+1, g.out.Sheds+1
	case trace.ClassOK:
		g.out.Answered++
		for _, a := range w.answer(nil) {
			g.answers = append(g.answers, struckAnswer{l, float64(a.LatencyUs) / 1e3, said != ""})
		}
		if f != nil && f.score != nil {
			g.scores = append(g.scores, *f.score)
		}
	}
	if said == "" {
		return
	}
	g.fellBack++
	if g.out.Reasons == nil {
		g.out.Reasons = make(map[string]int64)
	}
	if _, known := g.out.Reasons[said]; known || len(g.out.Reasons) < maxReasons {
		g.out.Reasons[said]++
	}
}

// judge sums the groups; nil where there is nothing to say.
func (f *struck) judge() *Fallback {
	if len(f.groups) == 1 && f.header == "" {
		return nil
	}
	others := f.groups[""]
	out := &Fallback{Verdict: Insufficient, Header: f.header, Faults: []FaultedRequests{}, Others: others.sum(f.header, others)}
	others.out.FellBack = out.Others.FellBack
	verdicts := make(map[Verdict]int)
	for _, name := range slices.Sorted(maps.Keys(f.groups)) {
		if name == "" {
			continue
		}
		s := f.groups[name].sum(f.header, others)
		s.Name = name
		verdicts[s.Verdict]++
		out.Faults = append(out.Faults, s)
	}
	switch {
	case f.header == "":
		out.Missing = "answers that say whether the service fell back: a header field such as X-Fallback, kept with --keep-header"
	case len(out.Faults) == 0:
		out.Missing = "which requests a fault fell on: the run injected none itself"
	case verdicts[Found] > 0:
		out.Verdict = Found
	case verdicts[NotFound] == len(out.Faults):
		out.Verdict = NotFound
	default:
		out.Missing = "more requests that faults fall on"
	}
	return out
}

// sum is a group's result beside the requests on which no fault fell.
func (g *struckGroup) sum(header string, others *struckGroup) FaultedRequests {
	out := g.out
	out.Verdict = Insufficient
	if out.Reasons == nil {
		out.Reasons = map[string]int64{}
	}
	out.Delay, out.Missing = g.delay(others)
	out.Accuracy = meanScore(g.scores)
	if header == "" || out.Requests == 0 {
		return out
	}
	out.FellBack = exactShare(g.fellBack, out.Requests)
	if g == others {
		return out
	}
	without := others.out.FellBack
	switch {
	case without.High == nil:
		out.Missing = "requests at the same loads that no fault falls on"
	case *out.FellBack.Low > *without.High:
		out.Verdict = Found
	case *out.FellBack.High <= rarely:
		out.Verdict = NotFound
	default:
		out.Missing = cmp.Or(out.Missing, fmt.Sprintf("more than %d requests that the fault falls on", out.Requests))
	}
	return out
}

// delay compares the answers that fell back, else all, with those that neither a
// fault fell on nor fell back, each less the median of the latter at its load.
func (g *struckGroup) delay(others *struckGroup) (e Effect, missing string) {
	e.Unit = "ms"
	usual := make(map[*load][]float64)
	for _, a := range others.answers {
		if !a.fell {
			usual[a.load] = append(usual[a.load], a.ms)
		}
	}
	median := make(map[*load]float64)
	for l, all := range usual {
		slices.Sort(all)
		median[l], _ = stats.Quantile(all, 0.5)
	}
	centred := func(answers []struckAnswer, is func(struckAnswer) bool) (out []float64) {
		for _, a := range answers {
			if m, known := median[a.load]; known && is(a) {
				out = append(out, a.ms-m)
			}
		}
		return thinned(out, maxCompared)
	}
	some := slices.ContainsFunc(g.answers, func(a struckAnswer) bool { return a.fell })
	late := centred(g.answers, func(a struckAnswer) bool { return a.fell == some })
	plain := centred(others.answers, func(a struckAnswer) bool { return !a.fell })
	if g == others && !some {
		return e, ""
	}
	test, err := stats.MannWhitney(plain, late, confidence)
	if err != nil {
		return e, "answers of both kinds at one load, to compare their times"
	}
	e.Point = finite(test.Shift)
	if test.Bounded {
		e.Low, e.High = finite(test.Interval.Low), finite(test.Interval.High)
	}
	return e, ""
}

// thinned keeps at most n values, evenly from all.
func thinned(values []float64, n int) []float64 {
	if len(values) <= n {
		return values
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = values[i*len(values)/n]
	}
	return out
}

func exactShare(k, n int64) Proportion {
	i := stats.ClopperPearson(float64(k), float64(n), confidence)
	return Proportion{Point: finite(float64(k) / float64(n)), Low: finite(i.Low), High: finite(i.High)}
}

// meanScore is the mean with its t interval, inside 0 to 1.
func meanScore(scores []float64) Proportion {
	m, i, ok := stats.MeanInterval(scores, confidence)
	if !ok {
		return Proportion{}
	}
	return Proportion{Point: finite(m), Low: finite(max(i.Low, 0)), High: finite(min(i.High, 1))}
}

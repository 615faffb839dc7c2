package analyzer

import (
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// aside is what a run directory holds beside its requests; a table of results
// has nothing, and no requests either.
type aside struct {
	table     bool
	telemetry Telemetry
	marks     []trace.Mark
	warnings  []string
	// features are those of each request that has any, by a hash of its id; rows
	// are the same in the order of the files.
	features map[uint64]*feature
	rows     []*feature
}

// feature is the part of a request's features that is kept: texts are not, and
// token bins are summed as they are read.
type feature struct {
	probe   string
	score   *float64
	in, out *int32
	method  string
	// run and the rest are of its request; nil = not answered in a window.
	run         *run
	startUnixNs int64
	// prompt is a hash of the id without the number of its copy.
	prompt      uint64
	seed        *int64
	temperature *float64
	// vector are the token bins of a probe's answer.
	vector []float64
}

// readAside reads telemetry, marks and features.
func readAside(d *tracedir.Dir) (*aside, error) {
	a := &aside{features: make(map[uint64]*feature)}
	for s, err := range tracedir.Rows[trace.Sample](d) {
		if err != nil {
			return nil, fmt.Errorf("read telemetry: %w", err)
		}
		a.telemetry.Add(s)
	}
	var err error
	if a.marks, err = d.Marks(); err != nil {
		return nil, err
	}
	names, twice := make(map[string]string), 0
	for f, err := range tracedir.Rows[trace.Features](d) {
		if err != nil {
			return nil, fmt.Errorf("read features: %w", err)
		}
		kept := &feature{in: f.InCluster, out: f.OutCluster}
		if s := f.ProbeScore; s != nil && *s >= 0 && *s <= 1 {
			kept.score = s
		}
		if f.ClusterMethod != nil {
			kept.method = interned(names, *f.ClusterMethod)
		}
		if f.ProbeID != nil {
			kept.probe = interned(names, *f.ProbeID)
		}
		id := featureKey(f.RequestID, f.Level)
		if a.features[id] != nil {
			twice++
		}
		a.features[id], a.rows = kept, append(a.rows, kept)
	}
	if twice > 0 {
		a.warnings = append(a.warnings, fmt.Sprintf("features: %s of a request id that is there already: the last counts", countAre(twice, "row")))
	}
	return a, nil
}

// interned returns a name so that equal names share their bytes.
func interned(names map[string]string, name string) string {
	if kept, ok := names[name]; ok {
		return kept
	}
	names[name] = name
	return name
}

func hashID(id string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, id)
	return h.Sum64()
}

// featureKey is a hash of what a row of features belongs to: ids come again from
// level to level.
func featureKey(id string, level *int32) uint64 {
	if level == nil {
		return hashID(id)
	}
	return hashID(id) ^ (uint64(*level)+1)*0x9e3779b97f4a7c15 // 2^64 ÷ the golden ratio
}

// of are the features of a row; files of before had no levels in them.
func (a *aside) of(w *joinedRow) *feature {
	if f := a.features[featureKey(w.RequestID, w.Level)]; f != nil {
		return f
	}
	return a.features[hashID(w.RequestID)]
}

// joinedRow is a row with what joins it to its features.
type joinedRow struct {
	row

	RequestID   string   `parquet:"request_id"`
	Seed        *int64   `parquet:"seed"`
	Temperature *float64 `parquet:"temperature"`
}

// eachRow reads the requests of a directory that belong to a run.
func eachRow[T any](d *tracedir.Dir, runs map[int32]*run, see func(*run, *T), level func(*T) *int32) error {
	for w, err := range tracedir.Rows[T](d) {
		if err != nil {
			return fmt.Errorf("read requests: %w", err)
		}
		if l := level(w); l != nil && runs[*l] != nil {
			see(runs[*l], w)
		}
	}
	return nil
}

// answer appends what the detectors take of an answered request.
func (r *row) answer(answers []Answer) []Answer {
	a := Answer{StartUnixNs: r.StartUnixNs}
	latency, ok := r.TTFTUser()
	if !ok {
		latency, ok = r.E2E()
	}
	if !ok {
		return answers
	}
	a.LatencyUs = latency.Microseconds()
	if r.TSentUs != nil {
		a.LagUs = *r.TSentUs
	}
	if r.InputTokens != nil {
		a.InputTokens = int32(min(*r.InputTokens, 1<<31-1))
	}
	if r.ConnReused != nil {
		if a.Conn = ConnOpened; *r.ConnReused {
			a.Conn = ConnReused
		}
	}
	a.Cut = r.cut() && !r.asAsked()
	return append(answers, a)
}

// join takes the features of a row that is due in the run's window.
func (r *run) join(w *joinedRow, seen *aside) {
	f := seen.of(w)
	if f == nil || !r.level.InWindow(w.StartUnixNs) || len(w.Faults) > 0 {
		return
	}
	result := w.result()
	class := result.Class()
	if class == trace.ClassOK {
		prompt, _, _ := strings.Cut(w.RequestID, "#")
		f.run, f.startUnixNs, f.prompt, f.seed, f.temperature = r, w.StartUnixNs, hashID(prompt), w.Seed, w.Temperature
	}
	if f.probe == "" || f.probe == trace.ProbeSteady || class == trace.ClassExcluded {
		return
	}
	p := Probe{ID: f.probe, StartUnixNs: w.StartUnixNs, Cut: w.cut()}
	if class == trace.ClassOK {
		p.Score, p.Answer = f.score, f.out
	}
	r.probes = append(r.probes, p)
}

// cut reports whether the answer ended at its token limit.
func (r *row) cut() bool {
	for _, reason := range r.FinishReasons {
		switch strings.ToLower(reason) {
		case "length", "max_tokens", "max_output_tokens", "model_length", "incomplete":
			return true
		}
	}
	return false
}

// asAsked reports whether the answer has as many tokens as were asked for at
// most: a replay asks for those of the recording, and its end there tells nothing.
func (r *row) asAsked() bool {
	return r.MaxTokens != nil && r.OutputTokens != nil && *r.OutputTokens >= int64(*r.MaxTokens)
}

// misses says that telemetry was taken at another time than the levels: on
// another clock, or of another run. Empty where it was not.
func (t *Telemetry) misses(loads []*load) string {
	readings := 0
	for _, metric := range slices.Sorted(maps.Keys(t.series)) {
		for _, s := range t.of(metric) {
			readings += len(s.readings)
			for _, l := range loads {
				for _, r := range l.all {
					if len(s.within(r.level.BeginUnixNs, r.level.EndUnixNs)) > 0 {
						return ""
					}
				}
			}
		}
	}
	if readings == 0 {
		return ""
	}
	return fmt.Sprintf("telemetry: none of %d readings was taken while a level was run: they are of another clock or another run, and say nothing", readings)
}

// judgeAside fills what needs more than the counts of the requests.
func (a *Analysis) judgeAside(loads []*load, seen *aside, objectives []Objective) {
	a.Warnings = append(a.Warnings, seen.warnings...)
	if warning := seen.telemetry.misses(loads); warning != "" {
		a.Warnings = append(a.Warnings, warning)
	}
	a.addCounters(loads, &seen.telemetry)
	a.Inflections = Inflections(a.observe(loads, seen))
	a.Entropy = entropyOf(loads, seen, a.Methods.Seed)
	a.SteadyState = steadyStateOf(loads, seen)
	if !seen.table {
		a.Windows = windowsOf(loads)
	}
	a.Recovery = recoveryOf(loads, seen.marks, objectives)
}

// observe hands the judged runs to the detectors.
func (a *Analysis) observe(loads []*load, seen *aside) Observation {
	o := Observation{Closed: a.closed(), Telemetry: &seen.telemetry, QuietUpTo: a.LambdaSLO.Low, Seed: a.Methods.Seed}
	if o.QuietUpTo == nil {
		o.QuietUpTo = a.LambdaC.Low
	}
	for _, l := range loads {
		for _, r := range l.judged {
			o.Runs = append(o.Runs, ObservedRun{
				Level: r.level, Answered: r.tally.OK, OutputTokens: r.outputTokens, Answers: r.answers, Probes: r.probes,
				Overloaded: l.grew || !l.steady || float64(r.tally.Failed()) > overloadedAbove*float64(r.tally.Offered()),
			})
		}
	}
	return o
}

// overloadedAbove is the error rate above which a load is not quiet.
const overloadedAbove = 0.05

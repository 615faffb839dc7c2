package analyzer

import (
	"cmp"
	"slices"

	"github.com/lambdac/lambdac/trace"
)

// Observation is what the detectors of the three inflection points judge: the
// runs of one experiment and the telemetry beside them, in memory.
type Observation struct {
	// Closed: loads are requests in flight, not arrivals per second.
	Closed bool
	// Runs are the runs that say something of the service, in any order.
	Runs []ObservedRun
	// Telemetry is on the clock of the runs.
	Telemetry *Telemetry
	// QuietUpTo is the highest load proven to meet its objective; nil = the
	// highest load that was run stands in for it.
	QuietUpTo *float64
	// Seed of all resampling; 0 = 1.
	Seed uint64
}

// ObservedRun is one level: one load, held once.
type ObservedRun struct {
	Level trace.Level
	// Answered is the number of answered requests that were due in the window,
	// OutputTokens what they were made of; 0 tokens = not counted.
	Answered     int64
	OutputTokens int64
	// Overloaded: the service refused or failed much, or fell behind.
	Overloaded bool
	// Answers are the answered requests due in the window; Probes the questions
	// with known answers asked in it.
	Answers []Answer
	Probes  []Probe
}

// Answer is one answered request. What is 0 but the start is not known.
type Answer struct {
	// StartUnixNs is when the request was due.
	StartUnixNs int64
	// LatencyUs is the time from then to the first token, or to the end where
	// nothing was streamed.
	LatencyUs int64
	// LagUs is the time from then to the send.
	LagUs int64
	// InputTokens is the length of the prompt.
	InputTokens int32
	// Conn tells whether the connection had to be opened first.
	Conn ConnUse
	// Cut: the answer ended before it was complete and before it had the tokens
	// that were asked for at most.
	Cut bool
}

// ConnUse says how a request came by its connection.
type ConnUse uint8

const (
	ConnUnknown ConnUse = iota
	ConnOpened
	ConnReused
)

// Probe is one question with a known answer.
type Probe struct {
	// ID is the question's.
	ID string
	// StartUnixNs is when it was due.
	StartUnixNs int64
	// Score is 0 (wrong) to 1 (right); nil = not answered, or not scored.
	Score *float64
	// Cut: the answer ended at its token limit.
	Cut bool
	// Answer numbers the different answers to the question; nil = not known.
	Answer *int32
}

// Inflections judges the three counter-intuitive turns of a service: throughput
// up and accuracy down, out of memory below 60 % CPU, P99 jump at low load. The
// order is always that.
func Inflections(o Observation) []Inflection {
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Telemetry == nil {
		o.Telemetry = new(Telemetry)
	}
	loads := o.loads()
	return []Inflection{qualityFall(loads, o.Seed), memoryEvents(loads, o.Telemetry, o.Seed), quietTail(loads, &o)}
}

// observedLoad is one load with its runs.
type observedLoad struct {
	perS float64
	runs []*ObservedRun
}

// loads groups the runs by load, ascending.
func (o *Observation) loads() []observedLoad {
	var loads []observedLoad
	for i := range o.Runs {
		r := &o.Runs[i]
		at := loadOf(&r.Level, o.Closed)
		j := slices.IndexFunc(loads, func(l observedLoad) bool { return sameLoad(l.perS, at) })
		if j < 0 {
			j = len(loads)
			loads = append(loads, observedLoad{perS: at})
		}
		loads[j].runs = append(loads[j].runs, r)
	}
	slices.SortFunc(loads, func(a, b observedLoad) int { return cmp.Compare(a.perS, b.perS) })
	return loads
}

// State is what a piece of evidence says.
type State string

const (
	// Holds: the condition is met.
	Holds State = "holds"
	// Fails: it is not.
	Fails State = "fails"
	// Unknown: the data do not tell; the text says what is missing.
	Unknown State = "unknown"
)

// Evidence is one condition of a verdict with what was measured of it.
type Evidence struct {
	// Name is stable; Text says in words what was seen and what was asked for.
	Name  string `json:"name"`
	State State  `json:"state"`
	// Point with its 95 % interval, in Unit; nil = not a number or not known.
	Point  *float64 `json:"point"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Unit   string   `json:"unit,omitempty"`
	PValue *float64 `json:"p_value"`
	Text   string   `json:"text"`
}

// Cause is another explanation of what was seen.
type Cause struct {
	Name string `json:"name"`
	// State is holds where the data show it, fails where they rule it out.
	State State  `json:"state"`
	Text  string `json:"text"`
}

// newInflection is a detector's answer before anything was looked at.
func newInflection(id, unit string) Inflection {
	return Inflection{ID: id, Verdict: Insufficient, Effect: Effect{Unit: unit}, Evidence: []Evidence{}, Competing: []Cause{}}
}

// lacks makes the answer an insufficient one.
func (i Inflection) lacks(missing string) Inflection {
	i.Verdict, i.Missing = Insufficient, missing
	return i
}

// stateOf is holds or fails.
func stateOf(holds bool) State {
	if holds {
		return Holds
	}
	return Fails
}

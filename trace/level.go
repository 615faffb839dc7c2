package trace

// Level is one offered load held long enough to measure: one run of the
// schedule at one load. Replicates of a load are levels of their own with the
// same Offered load.
type Level struct {
	// Index is the level's number in this run from 0, the value of Record's level;
	// texts for people count levels from 1.
	Index int32 `json:"index"`
	// Replicate counts from 0 among the levels of one load; Order is the place
	// in which this level was run, from 0.
	Replicate int32 `json:"replicate"`
	Order     int32 `json:"order"`
	// OfferedPerS is the offered load: arrivals per second that the schedule
	// intends inside the window, 0 < OfferedPerS < ∞; in a closed loop, the rate
	// that came of Concurrency.
	OfferedPerS float64 `json:"offered_per_s"`
	// Concurrency is the number kept in flight; closed loop only.
	Concurrency *int32 `json:"concurrency,omitempty"`
	// Scale is the factor on the trace's recorded rate.
	Scale float64 `json:"scale"`
	// BeginUnixNs is the first scheduled send, warm-up included; the window
	// [StartUnixNs, EndUnixNs) is what is measured; DrainedUnixNs is when the
	// last answer had ended or was cut.
	BeginUnixNs   int64 `json:"begin_unix_ns"`
	StartUnixNs   int64 `json:"start_unix_ns"`
	EndUnixNs     int64 `json:"end_unix_ns"`
	DrainedUnixNs int64 `json:"drained_unix_ns"`
	// Scheduled is the number of requests due inside the window. It equals the
	// sum of Outcomes: a request has exactly one outcome.
	Scheduled int64             `json:"scheduled"`
	Outcomes  map[Outcome]int64 `json:"outcomes"`
	Tally     Tally             `json:"tally"`
	// Faulted are those of Scheduled that a fault of the run changed: what
	// became of them is in Outcomes and Tally, and says nothing of the service.
	Faulted int64 `json:"faulted,omitempty"`
	// AchievedPerS is the rate at which requests were really sent.
	AchievedPerS float64 `json:"achieved_per_s"`
	// LagP50Us and LagP99Us are quantiles of send less schedule of all that
	// were sent, lag caused by sessions left out; nil if none was sent.
	LagP50Us *int64 `json:"lag_p50_us"`
	LagP99Us *int64 `json:"lag_p99_us"`
	// InFlightMax is the highest number open at once; InFlightCap the client's
	// own limit; InFlightAtEnd the number still open at EndUnixNs.
	InFlightMax   int32 `json:"in_flight_max"`
	InFlightCap   int32 `json:"in_flight_cap"`
	InFlightAtEnd int32 `json:"in_flight_at_end"`
	// ConnsOpened counts connections dialled during the level, ConnsReused the
	// requests that went out on a connection which had carried one before.
	ConnsOpened int64 `json:"conns_opened"`
	ConnsReused int64 `json:"conns_reused,omitempty"`
	// Within is what happened inside the window, whenever it was due; nil in runs
	// of versions that did not count it.
	Within *WindowEvents `json:"within,omitempty"`
	// Prefix is what prompts had in common with those sent before; nil in runs
	// of versions that did not count it.
	Prefix *PrefixReuse `json:"prefix,omitempty"`
	// ClientCPUShare is the load generator's CPU time ÷ (window × its cores);
	// nil where the system does not tell.
	ClientCPUShare *float64 `json:"client_cpu_share"`
	// Invalid lists why this level says nothing about the service; empty =
	// valid.
	Invalid []string `json:"invalid,omitempty"`
	// Warnings are doubts that do not void the level.
	Warnings []string `json:"warnings,omitempty"`
}

// WindowEvents counts what happened in a level's window by when it happened. A
// request that was due in the warm-up has a part of its answer in the window,
// and one that ends in the drain has only a part of it there.
type WindowEvents struct {
	// Answered are the answers (outcome ok) that ended in the window.
	Answered int64 `json:"answered"`
	// OutputTokens are the tokens that arrived in it, see
	// [Record.OutputTokensWithin]; Uncounted are the answers that brought output
	// in it whose tokens nobody counted.
	OutputTokens float64 `json:"output_tokens"`
	Uncounted    int64   `json:"uncounted"`
}

// Take counts what an exchange did in the level's window.
func (w *WindowEvents) Take(l *Level, r *Record) {
	n, ok := r.OutputTokensWithin(l.StartUnixNs, l.EndUnixNs)
	w.OutputTokens += n
	if !ok {
		w.Uncounted++
	}
	if r.Outcome == OutcomeOK && r.TEndUs != nil && l.InWindow(r.StartUnixNs+*r.TEndUs*1000) {
		w.Answered++
	}
}

// PrefixReuse compares what a cache of prompts could have served with what it
// did, over the requests due in a level's window that were sent.
type PrefixReuse struct {
	// PlannedTokens are those of the prompts; RepeatedTokens are those of them
	// that a prompt sent before in the run began with as well: what a cache
	// without limits would serve. Both 0 = not known: there was no room to
	// follow all prompts.
	PlannedTokens  int64 `json:"planned_tokens"`
	RepeatedTokens int64 `json:"repeated_tokens"`
	// ReportedTokens are the prompt tokens of the answers whose usage tells how
	// many of them came from a cache, and CachedTokens are these.
	ReportedTokens int64 `json:"reported_tokens"`
	CachedTokens   int64 `json:"cached_tokens"`
}

// Expected is the share of the prompts' tokens that a cache without limits
// would serve, in [0, 1]; nil where it is not known.
func (p *PrefixReuse) Expected() *float64 { return p.share(p.RepeatedTokens, p.PlannedTokens) }

// Observed is the share that the answers' usage says was served from a cache,
// in [0, 1]; nil where none told.
func (p *PrefixReuse) Observed() *float64 { return p.share(p.CachedTokens, p.ReportedTokens) }

func (*PrefixReuse) share(part, whole int64) *float64 {
	if whole == 0 {
		return nil
	}
	return new(float64(part) / float64(whole))
}

// Add counts another's prompts in.
func (p *PrefixReuse) Add(o *PrefixReuse) {
	p.PlannedTokens, p.RepeatedTokens = p.PlannedTokens+o.PlannedTokens, p.RepeatedTokens+o.RepeatedTokens
	p.ReportedTokens, p.CachedTokens = p.ReportedTokens+o.ReportedTokens, p.CachedTokens+o.CachedTokens
}

// InWindow reports whether a start, on the run's clock, is measured by the
// level. Starts before the window are warm-up.
func (l *Level) InWindow(startUnixNs int64) bool {
	return startUnixNs >= l.StartUnixNs && startUnixNs < l.EndUnixNs
}

// Seconds is the length of the window in seconds.
func (l *Level) Seconds() float64 { return float64(l.EndUnixNs-l.StartUnixNs) / 1e9 }

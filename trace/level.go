package trace

// Level is one offered load held long enough to measure: one run of the
// schedule at one load. Replicates of a load are levels of their own with the
// same Offered load.
type Level struct {
	// Index is the level's number in this run, the value of Record's level.
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
	// ConnsOpened counts connections dialled during the level.
	ConnsOpened int64 `json:"conns_opened"`
	// ClientCPUShare is the load generator's CPU time ÷ (window × its cores);
	// nil where the system does not tell.
	ClientCPUShare *float64 `json:"client_cpu_share"`
	// Invalid lists why this level says nothing about the service; empty =
	// valid.
	Invalid []string `json:"invalid,omitempty"`
	// Warnings are doubts that do not void the level.
	Warnings []string `json:"warnings,omitempty"`
}

// InWindow reports whether a start, on the run's clock, is measured by the
// level. Starts before the window are warm-up.
func (l *Level) InWindow(startUnixNs int64) bool {
	return startUnixNs >= l.StartUnixNs && startUnixNs < l.EndUnixNs
}

// Seconds is the length of the window in seconds.
func (l *Level) Seconds() float64 { return float64(l.EndUnixNs-l.StartUnixNs) / 1e9 }

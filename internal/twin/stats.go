package twin

// Stats are the engine's counters since its start and its gauges now. Over all
// jobs
//
//	Submitted = Done + Failed + Refused + Shed + Cancelled + Broken + Open
type Stats struct {
	Submitted int64
	Done      int64
	Failed    int64 // status 500
	Refused   int64 // status 400
	Shed      int64
	Cancelled int64
	// Broken by a pathology: cut, out of memory, evicted for good.
	Broken int64
	// Open jobs have been submitted and have no end yet.
	Open int64

	// Running and Waiting sequences, abandoned ones that are still served
	// among them.
	Running, Waiting int
	// KVUsage is the share of the KV blocks that sequences hold, in [0, 1].
	KVUsage float64

	// PrefixQueries and PrefixHits are prompt tokens looked up and found at
	// first admission; 0 without prefix caching.
	PrefixQueries, PrefixHits int64
	Preemptions               int64
	// PromptTokens are of prompts that were computed to their end,
	// GeneratedTokens of answers. Recomputing counts in neither.
	PromptTokens, GeneratedTokens int64
	// Steps and the virtual time spent in them.
	Steps, BusyNs int64
}

// Stats returns counters and gauges.
func (e *Engine) Stats() Stats {
	st := e.stats
	st.Open = int64(len(e.open))
	st.Running, st.Waiting = len(e.running), e.waiting.n
	st.KVUsage = float64(e.kv.inUse()) / float64(e.kv.total)
	return st
}

func (st *Stats) count(ev Event) {
	switch ev.Kind {
	case Done:
		st.Done++
	case Shed:
		st.Shed++
	case Cancelled:
		st.Cancelled++
	case Cut:
		st.Broken++
	case Failed:
		switch {
		case ev.Cause != CauseNone:
			st.Broken++
		case ev.Status == 500:
			st.Failed++
		default:
			st.Refused++
		}
	}
}

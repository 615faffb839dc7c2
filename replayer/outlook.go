package replayer

import (
	"cmp"
	"slices"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Outlook is what a replay would do: nothing is sent to know it.
type Outlook struct {
	Levels []LevelOutlook `json:"levels"`
	// Requests, InputTokens and OutputTokens add up the levels, warm-ups
	// included.
	Requests     int64 `json:"requests"`
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	// Cost of those tokens; nil where no price was given.
	Cost *float64 `json:"cost,omitempty"`
	// Takes is the time without drains; each drain adds up to the configured
	// one.
	Takes time.Duration `json:"takes_ns"`
	// Knobs are the declared departures from the recording, as in the manifest.
	Knobs []string `json:"knobs"`
}

// LevelOutlook is what one level would do, in the order in which it would run.
type LevelOutlook struct {
	OfferedPerS float64 `json:"offered_per_s"`
	// Warmup and Requests are the requests due before and in the window.
	Warmup   int64 `json:"warmup_requests"`
	Requests int64 `json:"requests"`
	// InputTokens and OutputTokens are those that the service would count, of
	// all that is sent; lengths that the trace does not tell are estimated (see
	// Knobs), and answers without a known length are left out.
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	// PeakPerS is the highest number of arrivals in one second.
	PeakPerS int64 `json:"peak_per_s"`
	// PeakInFlight is how many would be open at once if answers took as long as
	// recorded; nil where the trace does not tell that for half of them. Under
	// more load than the recording's they take longer.
	PeakInFlight *int64 `json:"peak_in_flight"`
}

// Plan says what [Run] would do. A Planner's levels are not known before it is
// run: that is an [ErrInput].
func Plan(cfg Config, tr Trace) (*Outlook, error) {
	cfg = cfg.withDefaults()
	r, err := newRun(&cfg, tr, nil)
	if err != nil {
		return nil, err
	}
	if r.levels == 0 {
		return nil, inputError("give --rate, --levels or --scale", "a search chooses its loads as it goes: they cannot be listed before")
	}
	if cfg.closed() {
		return nil, inputError("give --levels", "a closed loop has no schedule: what is sent follows from the answers")
	}
	o := &Outlook{Knobs: r.knobs(), Levels: []LevelOutlook{}}
	err = r.foresee(func(next trace.Level, arrivals []arrival) {
		l := r.outlook(arrivals)
		l.OfferedPerS = next.OfferedPerS
		o.Levels = append(o.Levels, l)
		o.Requests += l.Warmup + l.Requests
		o.InputTokens += l.InputTokens
		o.OutputTokens += l.OutputTokens
		o.Takes += cfg.Warmup + cfg.Hold
	})
	if err != nil {
		return nil, err
	}
	if cfg.Price != (Price{}) {
		o.Cost = new(cfg.Price.of(o.InputTokens, o.OutputTokens))
	}
	return o, nil
}

// foresee visits the levels of a plan that is known before, each with what this
// process would send in it, in the order in which they are run.
func (r *run) foresee(visit func(trace.Level, []arrival)) error {
	defer func() { r.result.Levels = nil }()
	for {
		next, ok := r.planner.Next(r.result.Levels)
		if !ok {
			return nil
		}
		if err := r.complete(&next); err != nil {
			return err
		}
		arrivals, _, err := r.timeline.schedule(r.cfg.Scaling, r.plan(next.OfferedPerS, next.Replicate))
		if err != nil {
			return err
		}
		visit(next, r.cfg.Shard.keep(arrivals, r.timeline.unit))
		r.result.Levels = append(r.result.Levels, next)
	}
}

// outlook sums one level's arrivals up.
func (r *run) outlook(arrivals []arrival) (l LevelOutlook) {
	var open []change
	first := 0 // of the second that ends with arrival i
	for i, a := range arrivals {
		rec := r.recs[a.rec]
		if a.at < 0 {
			l.Warmup++
		} else {
			l.Requests++
		}
		l.InputTokens += r.prompts.ledger.inputTokens(rec)
		if rec.APIKind != trace.KindOpenAIEmbeddings {
			if n, _ := r.prompts.ledger.outputTokens(rec); n != nil {
				l.OutputTokens += int64(*n)
			}
		}
		for arrivals[first].at <= a.at-time.Second {
			first++
		}
		l.PeakPerS = max(l.PeakPerS, int64(i-first+1))
		if rec.TEndUs != nil {
			open = append(open, change{int64(a.at), 1}, change{int64(a.at) + *rec.TEndUs*int64(time.Microsecond), -1})
		}
	}
	if known := len(open) / 2; 2*known >= len(arrivals) && known > 0 {
		// Those whose time is not known are taken to be like the others.
		l.PeakInFlight = new(int64(float64(peak(open)) * float64(len(arrivals)) / float64(known)))
	}
	return l
}

// peak is the highest number open at once. What ends and what begins at one
// moment do not overlap.
func peak(changes []change) (most int32) {
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	open := int32(0)
	for _, c := range changes {
		open += c.by
		most = max(most, open)
	}
	return most
}

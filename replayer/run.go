package replayer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/trace"
)

// Output takes what a replay measures. Its methods are never called at once.
type Output interface {
	// Write takes ownership of the record.
	Write(*trace.Record) error
	// WriteFeatures takes the features of a record that was written without.
	WriteFeatures(*trace.Features) error
	// SetLevels replaces the levels written so far.
	SetLevels([]trace.Level) error
	// SetMarks replaces the windows of faults written so far.
	SetMarks([]trace.Mark) error
	// SetManifest rewrites the manifest.
	SetManifest(func(*trace.Manifest)) error
}

// Result is the sum of a replay.
type Result struct {
	Levels []trace.Level
	// Scheduled is the number of requests drawn up, the warm-ups' too; it equals
	// the sum of Outcomes.
	Scheduled int64
	Outcomes  map[trace.Outcome]int64
	// Marks are the windows of the faults, of each level.
	Marks    []trace.Mark
	Validity trace.Validity
	Warnings []string
}

// run is a replay under way.
type run struct {
	cfg      *Config
	trace    Trace
	out      Output
	target   *url.URL
	recs     []*trace.Record
	leftOut  []string
	timeline *timeline
	turns    *turns
	prompts  *prompter
	quality  *quality // nil = no questions with known answers
	features *features
	planner  Planner
	levels   int // planned; 0 = a Planner decides
	// counts of what the trace does not tell, for the manifest
	guessedInputs, guessedOutputs, toolRequests, namelessModels int

	dialled atomic.Int64
	sender  *sender
	client  *http.Client
	fits    *calibration
	budget  *budget
	streak  int64     // failures since the last answer that was none
	said    trace.Run // what the manifest says of the run
	result  Result
}

// Trace is what is replayed. Records are sorted by start; they are read only.
type Trace struct {
	Manifest *trace.Manifest
	Records  []*trace.Record
	// Selected says in words which of the trace's exchanges Records are; "" = all.
	Selected string
}

// Run holds each level in turn and writes a Record for every scheduled request.
//
// It returns when all levels are done, or early: with an error that matches
// [ErrInput] before anything was sent, [ErrStopped] after a safety stop or when
// ctx was cancelled (the kill switch: nothing new is sent, what is open is cut
// and recorded, what is left is recorded as not sent), [ErrOutput] where
// records could not be written. The Result is not nil once a level has begun.
func Run(ctx context.Context, cfg Config, tr Trace, out Output) (*Result, error) {
	cfg = cfg.withDefaults()
	r, err := newRun(&cfg, tr, out)
	if err != nil {
		return nil, err
	}
	if err := Preflight(ctx, cfg, tr.Manifest); err != nil {
		return nil, err
	}
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	defer r.disconnect()
	r.features = newFeatures(cfg.Features, cfg.Seed)
	defer r.features.close()
	r.sender.features = r.features
	r.said = r.describe()
	if err := r.setManifest(false); err != nil {
		return nil, err
	}
	return r.finish(r.all(ctx))
}

// Check reports what is wrong with a configuration for a trace, before
// anything is made or sent: an error that matches [ErrInput], or
// [trace.ErrUnsanitized] where the trace has no seal.
func Check(cfg Config, tr Trace) error {
	cfg = cfg.withDefaults()
	_, err := newRun(&cfg, tr, nil)
	return err
}

func newRun(cfg *Config, tr Trace, out Output) (*run, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if err := tr.Manifest.CheckSeal(); err != nil {
		return nil, err
	}
	r := &run{cfg: cfg, trace: tr, out: out}
	r.target, _ = parseTarget(cfg.Target) // checked above
	r.recs, r.leftOut = replayable(tr.Records)
	if tr.Selected != "" {
		r.leftOut = append(r.leftOut, tr.Selected)
	}
	if len(r.recs) == 0 {
		return nil, inputError("see what the trace holds with: lambdac show TRACE",
			"none of the trace's %d exchanges can be sent again", len(tr.Records))
	}
	slices.SortStableFunc(r.recs, func(a, b *trace.Record) int { return cmp.Compare(a.StartUnixNs, b.StartUnixNs) })
	r.timeline = newTimeline(r.recs, cfg.Seed, !cfg.NoSpread, cfg.MaxIdle)
	r.turns = newTurns(r.recs)
	r.prompts = newPrompter(r.recs, tokens.Words(), cfg)
	r.quality, r.budget = newQuality(cfg.Probes, cfg.Seed), newBudget(cfg)
	r.result.Outcomes = make(map[trace.Outcome]int64)
	if files, ok := maxOpenFiles(); ok && cfg.Dial == nil {
		var warning string
		if cfg.MaxInFlight, warning = withinFiles(cfg.MaxInFlight, files); warning != "" {
			r.result.Warnings = append(r.result.Warnings, warning)
		}
	}
	r.survey()
	return r, r.planLevels()
}

func (r *run) planLevels() error {
	if r.planner = r.cfg.Planner; r.planner != nil {
		return nil
	}
	if r.cfg.closed() {
		plan := newClosedPlan(r.cfg)
		r.planner, r.levels = plan, len(plan.fixedPlan)
		return nil
	}
	rates, err := resolve(r.cfg.Loads, r.timeline.perS())
	if err != nil {
		return err
	}
	for _, rate := range rates {
		if r.cfg.MaxPerS > 0 && rate > r.cfg.MaxPerS {
			return inputError("lower the load or raise --max-rate", "load %.4g/s is above the limit of %.4g/s", rate, r.cfg.MaxPerS)
		}
		if err := r.timeline.checkPlan(r.cfg.Scaling, r.plan(rate, 0)); err != nil {
			return err
		}
	}
	plan := newFixedPlan(rates, r.cfg.Replicates, !r.cfg.NoRepeat, r.cfg.Seed)
	r.planner, r.levels = plan, len(plan)
	return nil
}

func (r *run) plan(perS float64, replicate int32) plan {
	return plan{perS: perS, warmup: r.cfg.Warmup, hold: r.cfg.Hold, ramp: r.cfg.Ramp, replicate: replicate, seed: r.cfg.Seed, cv: r.cfg.CV, even: r.cfg.Even}
}

// connect makes the one client of all levels.
func (r *run) connect(ctx context.Context) error {
	base := newTransport(r.cfg, &r.dialled)
	r.fits = newCalibration(r.prompts.refit)
	r.sender = &sender{
		base: base, target: r.target,
		header: targetHeader(r.cfg.Headers), limits: r.cfg.Timeouts, patient: r.cfg.NoCancels, quality: r.quality,
		keep: append([]string{"Content-Type", "Retry-After"}, r.cfg.KeepHeaders...),
	}
	if r.cfg.Connections == ConnRecorded {
		own := *r.cfg
		own.Connections = ConnFresh
		r.sender.fresh = newTransport(&own, &r.dialled)
	}
	// Timeout stays 0: Vegeta's own default of 30 s would cut long streams.
	r.client = &http.Client{Transport: r.sender}
	return r.arm(ctx, base)
}

func (r *run) disconnect() {
	r.sender.base.(*http.Transport).CloseIdleConnections()
	if r.sender.faults != nil {
		r.sender.faults.Close()
	}
}

// all runs level after level.
func (r *run) all(ctx context.Context) error {
	if err := r.prime(ctx); err != nil {
		return err
	}
	for {
		next, ok := r.planner.Next(slices.Clone(r.result.Levels))
		if !ok {
			return nil
		}
		if len(r.result.Levels) > 0 {
			pause(ctx, r.cfg.Settle)
		}
		if ctx.Err() != nil {
			return stopped(errKill.Error())
		}
		if err := r.complete(&next); err != nil {
			return err
		}
		if err := r.level(ctx, next); err != nil {
			return err
		}
		if err := r.writeLevels(); err != nil {
			return err
		}
	}
}

// writeLevels writes the levels done, and the windows of faults in them.
func (r *run) writeLevels() error {
	err := r.out.SetLevels(r.result.Levels)
	if err == nil && len(r.cfg.Faults) > 0 {
		err = r.out.SetMarks(r.result.Marks)
	}
	if err != nil {
		return fmt.Errorf("%w: write levels: %w", ErrOutput, err)
	}
	return nil
}

// complete fills in what a planner leaves open.
func (r *run) complete(l *trace.Level) error {
	recorded := r.timeline.perS()
	if l.OfferedPerS == 0 && l.Scale > 0 {
		l.OfferedPerS = l.Scale * recorded
	}
	if r.cfg.MaxPerS > 0 && l.OfferedPerS > r.cfg.MaxPerS {
		return inputError("raise --max-rate", "load %.4g/s is above the limit of %.4g/s", l.OfferedPerS, r.cfg.MaxPerS)
	}
	if recorded > 0 && l.Concurrency == nil {
		l.Scale = l.OfferedPerS / recorded
	}
	l.Index = int32(len(r.result.Levels))
	l.Order = l.Index
	for i := range r.result.Levels {
		if sameLoad(&r.result.Levels[i], l) {
			l.Replicate++
		}
	}
	l.Outcomes = make(map[trace.Outcome]int64)
	l.InFlightCap, l.Prefix, l.Within = int32(r.cfg.MaxInFlight), new(trace.PrefixReuse), new(trace.WindowEvents)
	return nil
}

// finish writes levels, verdict and prompts, whatever ended the run.
func (r *run) finish(cause error) (*Result, error) {
	res := &r.result
	res.Validity = verdict(res.Levels)
	r.said.Validity = res.Validity
	var warnings []string
	r.said.Prompts, warnings = r.fits.report()
	warnings = append(warnings, r.features.warnings()...)
	res.Warnings = append(res.Warnings, warnings...)
	res.Warnings = append(res.Warnings, comparePrefixes(res.Levels, r.cfg.Cache)...)
	if errors.Is(cause, ErrStopped) {
		res.Warnings = append(res.Warnings, r.cutShort(cause))
	}
	if errors.Is(cause, ErrOutput) {
		return res, cause
	}
	if err := cmp.Or(r.features.finish(r.out.WriteFeatures), r.writeLevels()); err != nil {
		return res, cmp.Or(cause, err)
	}
	return res, cmp.Or(cause, r.setManifest(true))
}

func (r *run) setManifest(clean bool) error {
	err := r.out.SetManifest(func(m *trace.Manifest) {
		m.Run, m.Clean, m.Warnings = new(r.said), clean, r.result.Warnings
	})
	if err != nil {
		return fmt.Errorf("%w: write manifest: %w", ErrOutput, err)
	}
	return nil
}

// cutShort says how far a run came that was stopped.
func (r *run) cutShort(cause error) string {
	if r.levels == 0 {
		return fmt.Sprintf("%v, in level %d", cause, len(r.result.Levels))
	}
	return fmt.Sprintf("%v, in level %d of %d", cause, len(r.result.Levels), r.levels)
}

// stopped is an ErrStopped that says why.
func stopped(why string) error { return fmt.Errorf("%w: %s", ErrStopped, why) }

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

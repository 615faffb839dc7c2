package main

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/internal/experiment"
	"github.com/lambdac/lambdac/replayer"
	"github.com/lambdac/lambdac/trace"
)

// controlJob is the replay of an experiment's control arm; nil where there is none.
func controlJob(x *experiment.Experiment, job replayJob, seed uint64) *replayJob {
	if x.Spec.Control == nil {
		return nil
	}
	job.out, job.synthetic, job.seed, job.watch = filepath.Join(job.out, "control"), true, seed, nil
	return &job
}

// runControl replays the control arm at the loads that the experiment ran, and
// tells in the experiment's analysis how the two differ.
func (p *plan) runControl(ctx context.Context, u *ui, cfg replayer.Config, job replayJob, ran []trace.Level, a *analyzer.Analysis) error {
	watch, err := p.flags.telemetry.config(&cfg)
	if err != nil {
		return err
	}
	job.watch = watch
	if cfg.Planner != nil {
		cfg.Planner = again(ran)
	}
	u.say("control arm: a synthetic trace at the same loads")
	result, stopped := replayShown(ctx, u, cfg, job)
	if result == nil {
		return stopped
	}
	for _, warning := range result.Warnings {
		u.warn("control arm: %s", warning)
	}
	control, err := analyzeRun(job.out, analyzer.Options{Seed: p.seed, Version: version, Objectives: p.objectives})
	if control == nil {
		return cmp.Or(stopped, err)
	}
	a.Control = analyzer.RelateControl(a, control)
	return cmp.Or(stopped, err, writeAnalysis(p.flags.out, a))
}

// again holds the loads of a run once more, in their order.
type again []trace.Level

// Next implements [replayer.Planner].
func (l again) Next(done []trace.Level) (trace.Level, bool) {
	if len(done) >= len(l) {
		return trace.Level{}, false
	}
	return trace.Level{OfferedPerS: l[len(done)].OfferedPerS}, true
}

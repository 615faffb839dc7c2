package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/analyzer/report"
	"github.com/lambdac/lambdac/internal/experiment"
	"github.com/lambdac/lambdac/internal/yamlfile"
	"github.com/lambdac/lambdac/replayer"
	"github.com/lambdac/lambdac/trace"
)

// runFlags are the flags of run.
type runFlags struct {
	out, junit, markdown  string
	force, dryRun, asJSON bool
	// dial connects to the target and its metrics; nil = TCP.
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

func newRun() *cobra.Command {
	var o runFlags
	c := &cobra.Command{
		Use:   "run EXPERIMENT.yaml",
		Short: "Replay, analyze and judge as a file says",
		Long: `Run an experiment: replay its trace at its loads, analyze what came of it, and
judge that by its objectives; where the file names a baseline, compare with it
too. The run goes to runs/NAME, or to -o, with analysis.json and report.html. Where the file asks
for a control arm, a synthetic trace of the same rate and lengths follows at the
same loads, into control below that.

The file is one YAML document; docs/schema/experiment.v1.json is its form, for
editors too, and docs/examples/ has some to start from. Header values of the target
come from the environment by the names the file gives.

Exit codes: 0 all limits are kept; 1 a limit is missed, or a metric is worse
than the baseline's; 2 the run is not valid, or the data cannot tell; 3 the file
or the trace cannot be used; 4 stopped by a limit or by Ctrl-C.`,
		Example: `  lambdac run docs/examples/tipping-point.yaml --dry-run
  lambdac run docs/examples/tipping-point.yaml -o runs/tuesday --junit run.xml --markdown comment.md`,
		Args: oneArg("EXPERIMENT.yaml"),
		RunE: func(c *cobra.Command, args []string) error { return runExperiment(c, args[0], &o) },
	}
	f := c.Flags()
	f.StringVarP(&o.out, "out", "o", "", "run directory to make (default runs/NAME)")
	f.StringVar(&o.junit, "junit", "", "also write the limits as JUnit XML to this file")
	f.StringVar(&o.markdown, "markdown", "", "also write a summary for a pull request to this file")
	f.BoolVar(&o.force, "force", false, "replace an existing run directory")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the schedule, the tokens and the in-flight estimate of each level; send nothing")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON document instead of text")
	return c
}

// experimentSchema is the value of experimentResult.Schema.
const experimentSchema = "lambdac.experiment-result/v1"

// experimentResult is what `lambdac run --json` prints.
type experimentResult struct {
	Schema string `json:"schema"`
	// Version is the version of the tool.
	Version  string   `json:"version"`
	Warnings []string `json:"warnings"`
	Name     string   `json:"name"`
	// Run is the run directory, which holds the whole analysis.
	Run      string            `json:"run"`
	Validity analyzer.Validity `json:"validity"`
	// LambdaC and LambdaSLO are those of analysis.json.
	LambdaC   analyzer.LambdaC   `json:"lambda_c"`
	LambdaSLO analyzer.LambdaSLO `json:"lambda_slo"`
	// Checks are the limits, and what each came to.
	Checks []analyzer.Check `json:"checks"`
	// Comparison is the verdict beside the baseline; nil where there is none.
	Comparison *analyzer.Gate `json:"comparison"`
	// Control is the control arm beside the run, as in analysis.json; nil where
	// there is none.
	Control *analyzer.ControlArm `json:"control"`
}

func runExperiment(c *cobra.Command, path string, o *runFlags) error {
	x, err := experiment.Read(path)
	if err != nil {
		return badExperiment(err)
	}
	p, err := newPlan(x, cmp.Or(o.out, filepath.Join("runs", x.Metadata.Name)))
	if err != nil {
		return badExperiment(err)
	}
	job := replayJob{trace: x.Spec.Trace.Path, out: p.flags.out, force: o.force}
	if job.selection, err = parseSelection(p.flags.selected); err != nil {
		return badExperiment(x.At("trace.select", err))
	}
	_, from, err := job.read()
	if err != nil {
		return err
	}
	cfg, err := p.resolve(x, from)
	if err != nil {
		return badExperiment(err)
	}
	if o.dryRun {
		return dryRun(c, cfg, job, controlJob(x, job, p.seed), o.asJSON)
	}
	cfg.Dial = o.dial
	if job.watch, err = p.flags.telemetry.config(&cfg); err != nil {
		return badExperiment(x.At("telemetry", plain(err)))
	}
	return p.execute(c, x, cfg, job, o)
}

// badExperiment tells an error in the file apart from one of reading it.
func badExperiment(err error) error {
	if _, wrong := errors.AsType[*yamlfile.Error](err); wrong {
		return usage("the keys are in docs/schema/experiment.v1.json, and docs/examples/ shows them in use", "%w", err)
	}
	return err
}

// execute replays, analyzes, compares and judges.
func (p *plan) execute(c *cobra.Command, x *experiment.Experiment, cfg replayer.Config, job replayJob, o *runFlags) error {
	u := newUI(c)
	result, stopped := replayShown(c.Context(), u, cfg, job)
	if result == nil {
		return stopped
	}
	for _, warning := range result.Warnings {
		u.warn("%s", warning)
	}
	if line := job.watch.line(); line != "" {
		u.say("%s", line)
	}
	a, err := analyzeRun(job.out, analyzer.Options{Seed: p.seed, Version: version, Objectives: p.objectives})
	if a == nil {
		return cmp.Or(stopped, err)
	}
	if second := controlJob(x, job, p.seed); second != nil && stopped == nil {
		stopped = p.runControl(c.Context(), u, cfg, *second, result.Levels, a)
	}
	compared, err2 := p.compareWith(c.Context(), x, job.out)
	checks := analyzer.Checks(a, p.floors)
	shown := p.show(c, x, o, a, compared, checks)
	written := errors.Join(
		writeForm(o.markdown, func(w io.Writer) error { return p.markdown(w, x, a, compared, checks) }),
		writeForm(o.junit, func(w io.Writer) error { return report.ChecksJUnit(w, a, checks) }),
	)
	return cmp.Or(stopped, err, err2, shown, written, conclude(a, checks, compared))
}

// compareWith compares the run with the baseline; nil where there is none.
func (p *plan) compareWith(ctx context.Context, x *experiment.Experiment, run string) (*analyzer.Comparison, error) {
	b := x.Spec.Baseline
	if b == nil || ctx.Err() != nil {
		return nil, nil
	}
	return compareRuns(b.Run, run, b.Control, p.compare)
}

func (p *plan) show(c *cobra.Command, x *experiment.Experiment, o *runFlags, a *analyzer.Analysis, compared *analyzer.Comparison, checks []analyzer.Check) error {
	w := c.OutOrStdout()
	if o.asJSON {
		doc := &experimentResult{
			Schema: experimentSchema, Version: version, Warnings: append([]string{}, a.Warnings...), Name: x.Metadata.Name, Run: p.flags.out,
			Validity: a.Validity, LambdaC: a.LambdaC, LambdaSLO: a.LambdaSLO, Checks: checks, Control: a.Control,
		}
		if compared != nil {
			doc.Comparison = &compared.Verdict
		}
		return printJSON(w, doc)
	}
	err := report.Text(w, a)
	if compared != nil {
		_, blank := fmt.Fprintln(w)
		err = cmp.Or(err, blank, report.CompareText(w, compared))
	}
	if len(checks) > 0 {
		_, head := fmt.Fprintln(w, "\nlimits")
		err = cmp.Or(err, head, report.ChecksText(w, checks))
	}
	newUI(c).say("written: %s", filepath.Join(p.flags.out, "report.html"))
	return err
}

// markdown is the summary for a pull request.
func (p *plan) markdown(w io.Writer, x *experiment.Experiment, a *analyzer.Analysis, compared *analyzer.Comparison, checks []analyzer.Check) error {
	err := report.ChecksMarkdown(w, x.Metadata.Name, a, checks)
	if compared != nil {
		err = cmp.Or(err, report.CompareMarkdown(w, compared))
	}
	return err
}

// conclude is the exit code of an experiment: a run that is not valid decides
// nothing, a limit that is missed goes before one that cannot be judged.
func conclude(a *analyzer.Analysis, checks []analyzer.Check, compared *analyzer.Comparison) error {
	if a.Validity.Verdict != trace.Valid {
		return &exitError{code: exitInvalid}
	}
	judged := judge(checks)
	if compared == nil || codeOf(judged) == exitMissed {
		return judged
	}
	if gated := gate(compared.Verdict); codeOf(gated) == exitMissed || judged == nil {
		return gated
	}
	return judged
}

// codeOf is the code of an error that only sets one.
func codeOf(err error) int {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return exitOK
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/replayer"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

func newReplay() *cobra.Command {
	var o replayFlags
	c := &cobra.Command{
		Use:   "replay TRACE --target URL (--rate R | --levels R,R,… | --scale K,K,… | --concurrency N,N,… | --search R,R) --hold D -o RUN",
		Short: "Send a trace at scaled load",
		Long: `Replay a recorded or imported trace against a target, open loop: requests go
out when they are due, however slow the answers are. (With --concurrency the
loop is closed: one goes out when another has ended.) Each load is held for
--warmup plus --hold; levels run in random order, and the lowest load is run
again at the end to see drift. A turn of a conversation waits for the one
before it, and an answer that the recorded client gave up on is given up at the
same token (--sessions, --no-cancels). Prompts are regenerated from the trace's shape:
same token totals, same shared prefixes, no original word.

Credentials of the target come from the environment: LAMBDAC_TARGET_HEADER_
and the header's name, such as LAMBDAC_TARGET_HEADER_AUTHORIZATION.`,
		Example: `  lambdac replay traces/tuesday --target http://staging:8000 --levels 5,10,20,30,40,50 --hold 60s --warmup 10s -o runs/tuesday
  lambdac replay traces/tuesday --target http://staging:8000 --search 5,80 --budget 20m --hold 60s --warmup 10s -o runs/tuesday
  lambdac replay traces/tuesday --target http://staging:8000 --scale 0.5,1,1.5,2,3 --hold 2m --replicates 3 -o runs/tuesday`,
		Args: oneArg("TRACE"),
		RunE: func(c *cobra.Command, args []string) error { return replay(c, args[0], &o) },
	}
	o.register(c)
	return c
}

func replay(c *cobra.Command, path string, o *replayFlags) error {
	cfg, err := o.config()
	if err != nil {
		return err
	}
	job := replayJob{trace: path, out: o.out, force: o.force}
	if job.selection, err = parseSelection(o.selected); err != nil {
		return &exitError{exitUsage, err, "such as --select \"api_kind = 'openai.chat' and input_tokens < 4000\""}
	}
	if o.dryRun {
		return dryRun(c, cfg, job, nil, o.asJSON)
	}
	if job.watch, err = o.telemetry.config(&cfg); err != nil {
		return err
	}
	u := newUI(c)
	warnFewLoads(u, &cfg)
	result, err := replayShown(c.Context(), u, cfg, job)
	if result == nil {
		return err
	}
	// What was measured before an early end is a result too.
	shown := showRun(c, u, o, job.watch, result)
	return cmp.Or(err, shown)
}

// fewestLoads is the number of different loads from which λc can be told.
const fewestLoads = 5

// warnFewLoads says before anything is sent what will be missing. One load alone
// is asked for where faults or builds are compared.
func warnFewLoads(u *ui, cfg *replayer.Config) {
	loads := slices.Clone(cfg.Loads)
	slices.SortFunc(loads, func(a, b replayer.Load) int {
		return cmp.Or(cmp.Compare(a.PerS, b.PerS), cmp.Compare(a.Scale, b.Scale), cmp.Compare(a.InFlight, b.InFlight))
	})
	if n := len(slices.Compact(loads)); n > 1 && n < fewestLoads {
		u.warn("%d loads are too few for λc, which takes %d that can be judged: more --levels, or --search", n, fewestLoads)
	}
}

// replayShown replays a trace and shows how far it is.
func replayShown(ctx context.Context, u *ui, cfg replayer.Config, job replayJob) (*replayer.Result, error) {
	progress := newReplayProgress(u, cfg, "")
	cfg.Progress = progress.show
	defer progress.begin()()
	return replayTrace(ctx, cfg, job)
}

// showRun prints what a replay measured, and how it can be used.
func showRun(c *cobra.Command, u *ui, o *replayFlags, sampled *runWatch, result *replayer.Result) error {
	for _, warning := range result.Warnings {
		u.warn("%s", warning)
	}
	var err error
	if o.asJSON {
		err = printJSON(c.OutOrStdout(), newRunResult(o.out, result, sampled.sources()))
	} else {
		err = printRun(c, o.out, result)
	}
	if err != nil {
		return err
	}
	if line := sampled.line(); line != "" {
		u.say("%s", line)
	}
	u.say("next: lambdac analyze %s", o.out)
	if result.Validity.Verdict != trace.Valid {
		return &exitError{code: exitInvalid}
	}
	return nil
}

// replayJob says what is replayed, and where the run goes.
type replayJob struct {
	trace     string
	selection selection
	// out is the run directory to make; force replaces one that is there.
	out   string
	force bool
	// synthetic replays the control arm's trace instead, drawn by seed.
	synthetic bool
	seed      uint64
	// watch is what is sampled meanwhile; nil = nothing.
	watch *runWatch
}

// replayTrace replays a trace into a new run directory.
func replayTrace(ctx context.Context, cfg replayer.Config, job replayJob) (*replayer.Result, error) {
	dir, from, err := job.read()
	if err != nil {
		return nil, err
	}
	path, out := job.trace, job.out
	unread, err := readBodies(dir, from.Records)
	if err != nil {
		return nil, err
	}
	if err := replayer.Check(cfg, from); err != nil {
		return nil, replayError(err, out)
	}
	if err := replayer.Preflight(ctx, cfg, dir.Manifest()); err != nil {
		return nil, replayError(err, out)
	}
	samples, err := job.watch.open(ctx, cfg.Target)
	if err != nil {
		return nil, err
	}
	m := newManifest(trace.OriginReplay, dir.Manifest().Seal)
	m.TimeBase = trace.TimeUnix
	w, err := tracedir.Create(out, m, tracedir.Options{Force: job.force, Live: true})
	if err != nil {
		return nil, cmp.Or(err, samples.Close().Err)
	}
	samples.Start(w)
	result, err := replayer.Run(ctx, cfg, from, w)
	err = cmp.Or(err, job.watch.close(samples, result, w))
	if err == nil {
		err = w.SetManifest(func(m *trace.Manifest) { m.Clean, m.Warnings = true, result.Warnings })
	}
	closed := w.Close()
	if result != nil && unread > 0 {
		result.Warnings = append(result.Warnings, fmt.Sprintf("%d requests were sent as filler of their shape: a replay holds %d MiB of bodies", unread, maxBodies>>20))
	}
	if result != nil && dir.Manifest().Run != nil {
		result.Warnings = append(result.Warnings, fmt.Sprintf("%s is a run, not a trace: its arrivals are those of its levels, warm-ups and all", path))
	}
	if err := cmp.Or(err, closed); err != nil {
		return result, replayError(err, out)
	}
	return result, nil
}

// read opens the trace and reads what a replay needs of it, but the bodies.
func (j *replayJob) read() (*tracedir.Dir, replayer.Trace, error) {
	dir, err := tracedir.Open(j.trace)
	if err != nil {
		return nil, replayer.Trace{}, err
	}
	all, err := readRecords(dir)
	if err != nil {
		return nil, replayer.Trace{}, err
	}
	kept := j.selection.keep(all)
	if len(kept) == 0 {
		return nil, replayer.Trace{}, &exitError{exitUsage, fmt.Errorf("none of the trace's %d exchanges is selected", len(all)), "see what it holds with lambdac show " + j.trace}
	}
	from := replayer.Trace{Manifest: dir.Manifest(), Records: kept}
	if len(j.selection) > 0 {
		from.Selected = fmt.Sprintf("selected: %d of %d exchanges, %s", len(kept), len(all), j.selection)
	}
	if j.synthetic {
		from.Records = replayer.Synthetic(kept, j.seed)
		from.Selected = strings.Join(slices.DeleteFunc([]string{"synthetic: rate and lengths of the trace, no content or order of it", from.Selected}, func(s string) bool { return s == "" }), "; ")
	}
	return dir, from, nil
}

// readRecords reads a trace without its chunks, sorted by start.
func readRecords(dir *tracedir.Dir) ([]*trace.Record, error) {
	var records []*trace.Record
	for r, err := range tracedir.Rows[replayRow](dir) {
		if err != nil {
			return nil, fmt.Errorf("read trace: %w", err)
		}
		records = append(records, r.record())
	}
	slices.SortStableFunc(records, func(a, b *trace.Record) int { return cmp.Compare(a.StartUnixNs, b.StartUnixNs) })
	if len(records) == 0 {
		return nil, &exitError{exitInvalid, errors.New("trace has no exchange"), "record again; see lambdac show for what was lost"}
	}
	return records, nil
}

// maxBodies bounds the bodies that a replay holds, bytes.
const maxBodies = 1 << 30

// readBodies gives the records the requests' bodies, where the trace kept them,
// and returns how many there was no room for.
func readBodies(dir *tracedir.Dir, records []*trace.Record) (unread int, err error) {
	if mode := dir.Manifest().Seal.Mode; mode != trace.ModeFiller && mode != trace.ModeRedact {
		return 0, nil
	}
	byID := make(map[string]*trace.Record, len(records))
	for _, r := range records {
		byID[r.RequestID] = r
	}
	held := 0
	for b, err := range tracedir.Rows[trace.Body](dir) {
		if err != nil {
			return 0, fmt.Errorf("read bodies: %w", err)
		}
		r := byID[b.RequestID]
		switch {
		case r == nil || b.Side != trace.SideRequest:
		case held+len(b.Body) > maxBodies:
			unread++
		default:
			held += len(b.Body)
			r.Bodies = append(r.Bodies, *b)
		}
	}
	return unread, nil
}

// replayRow is what a replay needs of a record: everything but the chunks.
type replayRow struct {
	trace.Identity
	trace.Arrival
	trace.Request
	trace.Usage
	trace.Prefix
	trace.Result
	trace.Timing
	trace.Provenance
	trace.Capture
	trace.Conn
}

func (r *replayRow) record() *trace.Record {
	return &trace.Record{
		Identity: r.Identity, Arrival: r.Arrival, Request: r.Request, Usage: r.Usage, Prefix: r.Prefix,
		Result: r.Result, Timing: r.Timing, Provenance: r.Provenance, Capture: r.Capture, Conn: r.Conn,
	}
}

// replayError gives the replayer's errors their exit codes.
func replayError(err error, out string) error {
	switch {
	case errors.Is(err, replayer.ErrOutput):
		return &exitError{exitInvalid, err, "free space or choose another -o; rows written before are complete and readable: lambdac show " + out}
	case errors.Is(err, replayer.ErrStopped):
		return &exitError{exitStopped, err, "see what was measured until then: lambdac analyze " + out}
	case errors.Is(err, replayer.ErrInput):
		return &exitError{code: exitUsage, err: err}
	}
	return err
}

func printRun(c *cobra.Command, out string, r *replayer.Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d levels, %d of them usable, %s\n", out, len(r.Levels), usable(r.Levels), r.Validity.Verdict)
	for _, reason := range r.Validity.Reasons {
		fmt.Fprintf(&b, "  invalid: %s\n", reason)
	}
	for i := range r.Levels {
		l := &r.Levels[i]
		fmt.Fprintf(&b, "  %8.4g/s  scheduled %6d  ok %6d  errors %5d  sheds %5d  excluded %4d  sent %.4g/s  lag p99 %s\n",
			l.OfferedPerS, l.Scheduled, l.Tally.OK, l.Tally.Errors, l.Tally.Sheds, l.Tally.Excluded, l.AchievedPerS, lag(l.LagP99Us))
	}
	_, err := fmt.Fprint(c.OutOrStdout(), b.String())
	return err
}

// usable counts the levels that can be judged.
func usable(levels []trace.Level) (n int) {
	for i := range levels {
		if len(levels[i].Invalid) == 0 {
			n++
		}
	}
	return n
}

func lag(us *int64) string {
	if us == nil {
		return "–"
	}
	return (time.Duration(*us) * time.Microsecond).String()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/internal/sim"
	"github.com/lambdac/lambdac/internal/twin"
	"github.com/lambdac/lambdac/recorder"
	"github.com/lambdac/lambdac/replayer"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// The demo's plan. The loads are the same whatever the server's capacity: the
// demo must find it, not be told.
const (
	demoRecordFor  = 12 * time.Second
	demoRecordPerS = 40
	demoHold       = 14 * time.Second
	demoWarmup     = 2 * time.Second
	demoDrain      = 5 * time.Second
	// demoMaxLag is far above a replay's own bound: client, server and
	// recorder share this machine. The error rate, on which λc rests, does not
	// feel it; the latencies do, and the report says so.
	demoMaxLag = 200 * time.Millisecond
)

func demoLoads() []replayer.Load {
	var loads []replayer.Load
	for perS := 40.0; perS <= 200; perS += 20 {
		loads = append(loads, replayer.Load{PerS: perS})
	}
	return loads
}

func newDemo() *cobra.Command {
	var d demo
	c := &cobra.Command{
		Use:   "demo",
		Short: "Record, sanitize, replay and analyze on this machine in under four minutes",
		Long: `Start a simulated server, send it traffic while recording from the loopback
interface, sanitize, replay the trace at nine loads, and find the critical load,
beside the true one that the simulator knows. Where raw sockets are not allowed
the traffic is recorded inside the process instead, and the demo says so.`,
		Example: "  lambdac demo --out demo-out",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d.ui = newUI(c)
			return d.run(c)
		},
	}
	f := c.Flags()
	f.StringVarP(&d.out, "out", "o", "demo-out", "folder for the trace and the run")
	f.Uint64Var(&d.seed, "seed", 1, "seed; it also decides the server's capacity")
	f.BoolVar(&d.force, "force", false, "replace what an earlier demo left there")
	f.BoolVar(&d.asJSON, "json", false, "print what was found and the truth as one JSON document")
	return c
}

// demo is one demonstration.
type demo struct {
	out    string
	seed   uint64
	force  bool
	ui     *ui
	asJSON bool

	params twin.Params
	target string
	begin  time.Time
	// dial replaces TCP in virtual time; nil otherwise.
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

func (d *demo) run(c *cobra.Command) error {
	ctx, stop := context.WithCancel(c.Context())
	defer stop()
	d.begin = time.Now()
	d.params = twin.DemoParams(d.seed)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	src, served, err := d.source(ln)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	server, err := sim.New(sim.Config{Params: d.params, Seed: d.seed})
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	serving := make(chan error, 1)
	go func() { serving <- serveUntil(ctx, served, server) }()
	d.target = "http://" + ln.Addr().String()
	d.ui.say("simulated server on %s, capacity unknown to what follows", d.target)
	err = d.steps(ctx, c, src)
	stop()
	if serveErr := <-serving; err == nil {
		err = serveErr
	}
	return err
}

// source opens the loopback interface, or a tap inside the process where raw
// sockets are not allowed, and returns the listener to serve on.
func (d *demo) source(ln net.Listener) (recorder.Source, net.Listener, error) {
	port := ln.Addr().(*net.TCPAddr).Port
	src, err := recorder.OpenInterface("lo", []int{port})
	if err == nil {
		d.ui.say("recording from the loopback interface, port %d", port)
		return src, ln, nil
	}
	if os.Getenv("CI") == "true" {
		return nil, nil, fmt.Errorf("with CI=true the demo records from the interface only: %w", err)
	}
	d.ui.say("recording inside the process: %v", err)
	tap := recorder.NewTap()
	return tap, tap.Listener(ln), nil
}

func (d *demo) steps(ctx context.Context, c *cobra.Command, src recorder.Source) error {
	tracePath, runPath := filepath.Join(d.out, "trace"), filepath.Join(d.out, "run")
	if err := d.record(ctx, src, tracePath); err != nil {
		return err
	}
	if !d.asJSON {
		if err := show(c, tracePath, false); err != nil {
			return err
		}
	}
	truth, err := d.truth(tracePath)
	if err != nil {
		return err
	}
	if err := d.replay(ctx, tracePath, runPath); err != nil {
		return err
	}
	a, err := analyzeRun(runPath, analyzer.Options{Seed: d.seed, Version: version})
	if err != nil {
		return err
	}
	d.ui.say("done in %s", time.Since(d.begin).Round(time.Second))
	result := newDemoResult(a, truth, src.Name(), tracePath, runPath)
	if d.asJSON {
		err = printJSON(c.OutOrStdout(), result)
	} else {
		err = result.print(c.OutOrStdout(), a)
	}
	return errors.Join(err, verdict(a))
}

// record sends the demo's traffic while recording it.
func (d *demo) record(ctx context.Context, src recorder.Source, path string) error {
	recordingCtx, stop := context.WithCancel(ctx)
	defer stop()
	type result struct {
		report recorder.Report
		err    error
	}
	done := make(chan result, 1)
	go func() {
		r := recording{out: path, force: d.force, live: true, how: recorder.Config{Vantage: trace.VantageServer}}
		report, err := r.from(recordingCtx, src)
		done <- result{report, err}
	}()
	traffic := traffic{target: d.target, perS: demoRecordPerS, span: demoRecordFor, seed: d.seed, dial: d.dial}
	sent, answered, err := traffic.send(ctx, func(sent int, left time.Duration) {
		d.ui.progress("recording: %d requests sent, %s of traffic and %s of replay left", sent, left.Round(time.Second), d.replayTime().Round(time.Second))
	})
	// The last packets are on their way through the kernel.
	sleepUntil(ctx, time.Now().Add(300*time.Millisecond))
	stop()
	r := <-done
	err = errors.Join(err, r.err, src.Close())
	if err != nil {
		return err
	}
	d.ui.say("sent %d requests, %d answered with 200; recorded %d exchanges", sent, answered, r.report.Totals.ExchangesSeen)
	return nil
}

func (d *demo) replayTime() time.Duration {
	return time.Duration(len(demoLoads())+1) * (demoWarmup + demoHold + time.Second)
}

// truth is the capacity of the simulated server for the recorded mix, from
// the same scheduler in virtual time.
func (d *demo) truth(path string) (twin.Estimate, error) {
	dir, err := tracedir.Open(path)
	if err != nil {
		return twin.Estimate{}, err
	}
	records, err := readRecords(dir)
	if err != nil {
		return twin.Estimate{}, err
	}
	return twin.Capacity(d.params, twin.Jobs(records).Jobs, d.seed)
}

func (d *demo) replay(ctx context.Context, tracePath, runPath string) error {
	cfg := replayer.Config{
		Target: d.target, Loads: demoLoads(), Seed: d.seed,
		Hold: demoHold, Warmup: demoWarmup, Drain: demoDrain,
		// The trace's host is this very server; it serves no production.
		AllowProduction: true, SharedProcess: true, MaxLag: demoMaxLag, Dial: d.dial, Version: version,
	}
	cfg.Progress = newReplayProgress(d.ui, cfg, "replaying: ").show
	result, err := replayTrace(ctx, cfg, replayJob{trace: tracePath, out: runPath, force: d.force})
	if err != nil {
		return err
	}
	for _, warning := range result.Warnings {
		d.ui.warn("%s", warning)
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lambdac/lambdac/internal/sim"
	"github.com/lambdac/lambdac/internal/twin"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// simFlags are the flags of sim.
type simFlags struct {
	params twin.Params
	// pathologies are kept apart: a list has no text that its flag reads back.
	pathologies []string
	preset      string
	listen      string
	seed        uint64
	truth       bool
	trace       string
	loads       []float64
	asJSON      bool
}

func newSim() *cobra.Command {
	o := simFlags{params: twin.DefaultParams()}
	c := &cobra.Command{
		Use:   "sim",
		Short: "A simulated inference server whose capacity is known",
		Long: `Serve an OpenAI-compatible API from a simulated scheduler: continuous batching
with a token budget, KV blocks with prefix caching and preemption, a bounded
queue, seeded errors. With --truth, run the same scheduler in virtual time and
print its true capacity and error curve instead of serving.

/metrics has vLLM's names, and those of node_exporter and the DCGM exporter for
a simulated host and its GPU. Questions of the kinds that probes ask are solved:
sums, codes to be found in the prompt, words to be written backwards, JSON to be
repeated. --pathology makes the server ill:` + pathologyHelp(),
		Example: `  lambdac sim --listen 127.0.0.1:8000
  lambdac sim --preset demo --pathology cold-pages
  lambdac sim --truth --trace traces/tuesday --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return simulate(c, &o) },
	}
	o.register(c)
	return c
}

func (o *simFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:8000", "address to serve on")
	f.Uint64Var(&o.seed, "seed", 1, "seed of errors, lengths and arrivals")
	f.StringVar(&o.preset, "preset", "default", "parameters to start from: default or demo (of the seed)")
	f.BoolVar(&o.truth, "truth", false, "print the true capacity and error curve instead of serving")
	f.StringVar(&o.trace, "trace", "", "with --truth: the trace whose mix is served (default: the built-in mix)")
	f.Float64SliceVar(&o.loads, "loads", nil, "with --truth: `loads` of the error curve (default: 0.5 to 2 times the capacity)")
	f.BoolVar(&o.asJSON, "json", false, "with --truth: print JSON")
	f.StringSliceVar(&o.pathologies, "pathology", nil, "faults of the server itself, by `names`")
	paramFlags(f, &o.params)
}

// pathologyHelp lists what --pathology takes.
func pathologyHelp() string {
	var b strings.Builder
	for _, p := range twin.Pathologies() {
		fmt.Fprintf(&b, "\n  %-19s%s", p.Name, p.About)
	}
	return b.String()
}

// paramFlags are the flags of the scheduler; p holds their defaults.
func paramFlags(f *pflag.FlagSet, p *twin.Params) {
	f.DurationVar(&p.StepFixed, "step-fixed", p.StepFixed, "cost of a step")
	f.DurationVar(&p.PerPrefillToken, "per-prefill-token", p.PerPrefillToken, "cost of a prompt token")
	f.DurationVar(&p.PerSequence, "per-sequence", p.PerSequence, "cost of a sequence in a step")
	f.IntVar(&p.TokenBudget, "token-budget", p.TokenBudget, "tokens in one step")
	f.BoolVar(&p.ChunkedPrefill, "chunked-prefill", p.ChunkedPrefill, "compute long prompts in pieces")
	f.IntVar(&p.MaxRunning, "max-running", p.MaxRunning, "largest batch")
	f.IntVar(&p.MaxQueue, "max-queue", p.MaxQueue, "places in the queue; -1 = no limit")
	f.IntVar(&p.ShedStatus, "shed-status", p.ShedStatus, "status of a refused request: 429 or 503")
	f.DurationVar(&p.RetryAfter, "retry-after", p.RetryAfter, "what a refused request is told to wait")
	f.Float64Var(&p.ErrorRate, "error-rate", p.ErrorRate, "share of requests that fail with 500, whatever the load")
	f.Float64Var(&p.WrongRate, "wrong-rate", p.WrongRate, "share of wrong answers to questions, whatever the load")
	f.BoolVar(&p.ServeAbandoned, "serve-abandoned", p.ServeAbandoned, "serve requests to their end whose client went away")
	f.IntVar(&p.KVBlocks, "kv-blocks", p.KVBlocks, "KV memory in blocks of 16 tokens")
	f.IntVar(&p.MaxContext, "max-context", p.MaxContext, "longest prompt and answer together, tokens; 0 = what the KV memory holds")
	f.BoolVar(&p.PrefixCaching, "prefix-caching", p.PrefixCaching, "keep computed prompt blocks for shared prefixes")
	f.IntVar(&p.CacheBlocks, "cache-blocks", p.CacheBlocks, "blocks kept for reuse; 0 = all of the KV memory")
	f.Float64Var(&p.RetainRatio, "retain-ratio", p.RetainRatio, "share of --cache-blocks left after an eviction")
	f.StringVar((*string)(&p.Eviction), "eviction", string(p.Eviction), "which cached blocks go first: lru or window")
}

// resolve applies the preset under the flags that were given.
func (o *simFlags) resolve(c *cobra.Command) (twin.Params, error) {
	pathologies := append([]string{}, o.pathologies...)
	switch o.preset {
	case "default":
		o.params.Pathologies = pathologies
		return o.params, nil
	case "demo":
	default:
		return o.params, usage("use default or demo", "preset %q is not known", o.preset)
	}
	p := twin.DemoParams(o.seed)
	p.Pathologies = pathologies
	over := pflag.NewFlagSet("", pflag.ContinueOnError)
	paramFlags(over, &p)
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		if over.Lookup(f.Name) != nil {
			err = errors.Join(err, over.Set(f.Name, f.Value.String()))
		}
	})
	return p, err
}

func simulate(c *cobra.Command, o *simFlags) error {
	p, err := o.resolve(c)
	if err != nil {
		return err
	}
	if err := p.Validate(); err != nil {
		return usage("see lambdac sim --help", "%w", err)
	}
	if o.truth {
		return printTruth(c, o, p)
	}
	return serveSim(c, sim.Config{Params: p, Seed: o.seed}, o.listen)
}

func serveSim(c *cobra.Command, cfg sim.Config, listen string) error {
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return usage("choose another --listen, such as 127.0.0.1:0", "listen: %w", err)
	}
	server, err := sim.New(cfg)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	if _, err := fmt.Fprintf(c.OutOrStdout(), "listening http://%s\n", ln.Addr()); err != nil {
		return err
	}
	return serveUntil(c.Context(), ln, server)
}

// serveUntil serves until ctx ends, then closes everything that is open.
func serveUntil(ctx context.Context, ln net.Listener, server *sim.Server) error {
	httpServer := &http.Server{Handler: server, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- httpServer.Serve(ln) }()
	select {
	case err := <-done:
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	err := httpServer.Close()
	<-done
	return errors.Join(err, server.Close())
}

func printTruth(c *cobra.Command, o *simFlags, p twin.Params) error {
	cfg := twin.TruthConfig{Params: p, Seed: o.seed, Version: version, Loads: o.loads}
	if o.trace != "" {
		dir, err := tracedir.Open(o.trace)
		if err != nil {
			return err
		}
		records, err := readRecords(dir)
		if err != nil {
			return err
		}
		cfg.Mix = new(twin.Jobs(records))
	}
	truth, err := twin.FindTruth(c.Context(), cfg)
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		return usage("check the trace and the parameters", "%w", err)
	}
	if o.asJSON {
		return printJSON(c.OutOrStdout(), truth)
	}
	u := newUI(c)
	for _, warning := range truth.Warnings {
		u.warn("%s", warning)
	}
	out := c.OutOrStdout()
	for _, name := range truth.Parameters.Pathologies {
		fmt.Fprintf(out, "pathology %s\n", name)
	}
	fmt.Fprintf(out, "capacity %.4g requests/s (± %.2g)\n", truth.CapacityPerS, 1.96*truth.CapacityStdErr)
	for _, point := range truth.ErrorCurve {
		fmt.Fprintf(out, "  %8.4g/s  error rate %.3f %%\n", point.OfferedPerS, point.ErrorRate*100)
	}
	return nil
}

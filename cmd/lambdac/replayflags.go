package main

import (
	"crypto/x509"
	"errors"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lambdac/lambdac/internal/experiment"
	"github.com/lambdac/lambdac/replayer"
)

// headerPrefix starts the environment variables that hold header fields for
// the target: secrets are never flags, where other users could read them.
const headerPrefix = "LAMBDAC_TARGET_HEADER_"

// replayFlags are the flags of replay that are no field of its configuration.
type replayFlags struct {
	cfg         replayer.Config
	search      searchFlags
	rate        float64
	levels      []float64
	scales      []float64
	inFlight    []int
	scaling     string
	arrivals    string
	catchUp     string
	sessions    string
	onCap       string
	cache       string
	connections string
	shard       string
	ca          string
	startAt     string
	faults      faultFlags
	selected    string
	probes      string
	features    string
	telemetry   telemetryFlags
	out         string
	force       bool
	asJSON      bool
	dryRun      bool
}

func (o *replayFlags) register(c *cobra.Command) {
	f := c.Flags()
	section(f, "Target", o.bindTarget)
	section(f, "Load", o.bindLoad)
	section(f, "Requests", o.bindRequests)
	section(f, "Limits, and when a level is invalid", o.bindLimits)
	section(f, "What is sampled beside the requests", o.telemetry.register)
	section(f, "Several processes for one load", o.bindShards)
	section(f, "Output", o.bindOutput)
}

func (o *replayFlags) bindTarget(f *pflag.FlagSet) {
	f.StringVar(&o.cfg.Target, "target", "", "base URL of the service, such as http://staging:8000")
	f.StringVar(&o.cfg.Model, "model", "", "model to ask for instead of the recorded one")
	f.BoolVar(&o.cfg.HTTP2, "http2", false, "send over HTTP/2: by ALPN to https targets, by prior knowledge to http ones")
	f.StringVar(&o.ca, "ca", "", "PEM file of the authority of an https target's certificate (default: the system's)")
	f.BoolVar(&o.cfg.IgnoreEOS, "ignore-eos", false, "ask the service to generate up to the recorded length")
	f.StringVar(&o.connections, "connections", "", "connections of HTTP/1: reuse (default), fresh (one for each request) or recorded (as the recorded requests had them)")
	f.IntVar(&o.cfg.MaxConns, "max-connections", 0, "the most connections open at once; a level in which more requests are open is invalid (default no limit)")
	f.BoolVar(&o.cfg.TokenIDs, "token-ids", false, "send prompts of /v1/completions as token ids, so that they have the recorded length in every vocabulary")
	f.BoolVar(&o.cfg.AllowProduction, "allow-production", false, "permit a target that was captured in this trace")
}

func (o *replayFlags) bindLoad(f *pflag.FlagSet) {
	f.Float64Var(&o.rate, "rate", 0, "one load, requests per second")
	f.Float64SliceVar(&o.levels, "levels", nil, "`loads`, requests per second, such as 5,10,20")
	f.Float64SliceVar(&o.scales, "scale", nil, "loads as `multiples` of the recorded rate, such as 0.5,1,2")
	f.IntSliceVar(&o.inFlight, "concurrency", nil, "closed loop: `numbers` of requests to keep in flight, such as 1,2,4,8")
	o.search.register(f)
	f.DurationVar(&o.cfg.Hold, "hold", 0, "measured time of each level")
	f.DurationVar(&o.cfg.Warmup, "warmup", 0, "time of the same load before --hold, not measured")
	f.DurationVar(&o.cfg.Ramp, "ramp", 0, "raise the load evenly over this first part of --warmup")
	f.DurationVar(&o.cfg.Drain, "drain", 30*time.Second, "how long answers may take after a level")
	f.IntVar(&o.cfg.Replicates, "replicates", 1, "how often each load is held")
	f.Uint64Var(&o.cfg.Seed, "seed", 1, "seed of order, phases, thinning and prompts")
}

func (o *replayFlags) bindRequests(f *pflag.FlagSet) {
	f.StringVar(&o.scaling, "scaling", "", "how the recorded arrivals become the load: superpose (default; copies of the trace, each at another phase), thin (whole sessions), compress (shorter gaps) or resample (drawn gaps); one per run")
	f.StringVar(&o.arrivals, "arrivals", "", "drawn gaps instead of the recorded ones: constant, poisson, or gamma with a coefficient of variation, such as gamma:2 (burstier than Poisson); what --scaling resample draws")
	f.BoolVar(&o.cfg.NoSpread, "no-spread", false, "keep arrivals on the grid of the recording's clock, such as whole seconds, instead of spreading them inside it")
	f.StringVar(&o.selected, "select", "", "replay the exchanges that meet a `condition` only, such as \"api_kind = 'openai.chat' and input_tokens < 4000\"")
	f.DurationVar(&o.cfg.MaxIdle, "max-idle", 0, "shorten gaps of the trace above this, such as nights")
	f.StringVar(&o.sessions, "sessions", "", "turns of a conversation: causal (default; not before the turn before has ended), strict (recorded times) or closed (think times only)")
	f.BoolVar(&o.cfg.NoCancels, "no-cancels", false, "wait for answers that the recorded client gave up on")
	f.StringVar(&o.cache, "cache", "", "prompts across levels: as_trace (default), cold or primed")
	f.StringVar(&o.probes, "probes", "", "`share` of chat requests to replace by questions with known answers, such as 5%, which show whether quality falls with load")
	f.StringVar(&o.features, "features", "", "`share` of recorded requests, such as 1/16, from whose answers to take numbers before their text is dropped (tokens, repetition, clusters by letters), with one prompt asked every 5 s beside: semantic entropy, shift of tokens and steady state rest on them")
	o.faults.register(f)
	f.StringSliceVar(&o.cfg.KeepHeaders, "keep-header", nil, "`names` of answers' header fields to keep in the records, such as one that says that the service fell back")
}

func (o *replayFlags) bindLimits(f *pflag.FlagSet) {
	f.Float64Var(&o.cfg.MaxPerS, "max-rate", 0, "refuse loads above this")
	f.IntVar(&o.cfg.MaxInFlight, "max-in-flight", 0, "the client's own limit of open requests (default 4096)")
	f.StringVar(&o.onCap, "on-cap", "", "at --max-in-flight: drop (default) or queue")
	f.StringVar(&o.catchUp, "catch-up", "", "requests that are overdue because this client was stalled: burst (default; at once), smooth (at twice the rate) or drop (not sent)")
	f.DurationVar(&o.cfg.MaxLag, "max-lag", 0, "a level is invalid where the 99th percentile of our own delay is above this (default 5ms)")
	f.Var(textFlag[int64]{&o.cfg.MaxTokens, experiment.ParseCount}, "max-tokens", "stop before prompts and answers exceed this `number` of tokens, such as 20M")
	f.Float64Var(&o.cfg.MaxCost, "max-cost", 0, "stop before prompts and answers cost more than this, at --price-input and --price-output")
	f.Float64Var(&o.cfg.Price.Input, "price-input", 0, "what a million prompt tokens cost")
	f.Float64Var(&o.cfg.Price.Output, "price-output", 0, "what a million output tokens cost")
	f.Var(textFlag[replayer.Breaker]{&o.cfg.Breaker, parseBreaker}, "stop-errors", "stop at this `share` of errors over a time, such as '50% over 30s', or off; default: all answers fail, at the lowest load half of them")
	f.DurationVar(&o.cfg.Timeouts.FirstToken, "timeout-first-token", 0, "deadline for the first token (default none)")
	f.DurationVar(&o.cfg.Timeouts.Idle, "timeout-idle", 0, "deadline between events (default none)")
	f.DurationVar(&o.cfg.Timeouts.Total, "timeout-total", 0, "deadline for a whole exchange (default none)")
}

func (o *replayFlags) bindShards(f *pflag.FlagSet) {
	f.StringVar(&o.shard, "shard", "", "send one part of the load, such as 2/8; lambdac merge joins the runs")
	f.StringVar(&o.startAt, "start-at", "", "common `start` of all shards, such as 2026-01-31T15:04:05Z: far enough ahead that the slowest has read the trace and drawn up its first prompts (seconds, for large traces a minute); a shard that is late ends and makes the run invalid")
}

func (o *replayFlags) bindOutput(f *pflag.FlagSet) {
	f.StringVarP(&o.out, "out", "o", "", "run directory to make")
	f.BoolVar(&o.force, "force", false, "replace an existing run directory")
	f.BoolVar(&o.asJSON, "json", false, "print the levels and the verdict as one JSON document")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the schedule, the tokens and the in-flight estimate of each level; send nothing")
}

// config checks the flags and completes the replay's configuration.
func (o *replayFlags) config() (replayer.Config, error) {
	const see = "see lambdac replay --help"
	if (o.out == "" || o.cfg.Target == "") && !o.dryRun {
		return o.cfg, usage(see, "--target and -o are needed")
	}
	planner, err := o.search.planner(&o.cfg)
	if err != nil {
		return o.cfg, err
	}
	given := 0
	for _, set := range []bool{o.rate != 0, len(o.levels) > 0, len(o.scales) > 0, len(o.inFlight) > 0, planner != nil} {
		if set {
			given++
		}
	}
	if given != 1 {
		return o.cfg, usage(see, "give exactly one of --rate, --levels, --scale, --concurrency and --search")
	}
	if o.cfg.Replicates < 1 {
		return o.cfg, usage(see, "%d replicates: want 1 or more", o.cfg.Replicates)
	}
	cfg := o.cfg
	if cfg.Faults, err = o.faults.specs(); err != nil {
		return cfg, err
	}
	if planner != nil && cfg.Replicates > 1 {
		planner = repeated{planner, cfg.Replicates}
	}
	cfg.Planner = planner
	if o.dryRun && cfg.Target == "" {
		cfg.Target = "http://127.0.0.1" // nothing is sent there
	}
	if o.rate != 0 {
		cfg.Loads = []replayer.Load{{PerS: o.rate}}
	}
	for _, r := range o.levels {
		cfg.Loads = append(cfg.Loads, replayer.Load{PerS: r})
	}
	for _, k := range o.scales {
		cfg.Loads = append(cfg.Loads, replayer.Load{Scale: k})
	}
	for _, n := range o.inFlight {
		cfg.Loads = append(cfg.Loads, replayer.Load{InFlight: n})
	}
	cfg.Sessions, cfg.Connections = replayer.Sessions(o.sessions), replayer.Connections(o.connections)
	cfg.CatchUp = replayer.CatchUp(o.catchUp)
	cfg.Scaling, cfg.CapPolicy, cfg.Cache = replayer.Scaling(o.scaling), replayer.CapPolicy(o.onCap), replayer.Cache(o.cache)
	if err := o.drawn(&cfg); err != nil {
		return cfg, err
	}
	if o.probes != "" {
		if cfg.Probes, err = experiment.ParseShare(o.probes); err != nil {
			return cfg, usage(see, "--probes: %w", err)
		}
	}
	if o.features != "" {
		if cfg.Features, err = experiment.ParseShare(o.features); err != nil {
			return cfg, usage(see, "--features: %w", err)
		}
	}
	if err := o.trust(&cfg); err != nil {
		return cfg, err
	}
	if err := o.placeShard(&cfg); err != nil {
		return cfg, err
	}
	cfg.Headers, cfg.Version = targetHeaders(os.Environ()), version
	return cfg, nil
}

// drawn reads --arrivals.
func (o *replayFlags) drawn(cfg *replayer.Config) (err error) {
	if o.arrivals == "" {
		return nil
	}
	if cfg.Scaling != "" && cfg.Scaling != replayer.Resample {
		return usage("leave out one of them", "--arrivals %s and --scaling %s: gaps are drawn or recorded", o.arrivals, o.scaling)
	}
	cfg.Scaling = replayer.Resample
	name, cv, shaped := strings.Cut(o.arrivals, ":")
	switch {
	case name == "constant" && !shaped:
		cfg.Even = true
		return nil
	case name == "poisson" && !shaped:
		return nil
	case name == "gamma" && shaped:
		cfg.CV, err = strconv.ParseFloat(cv, 64)
	default:
		err = errors.New("unknown")
	}
	if err != nil || !(cfg.CV > 0) || math.IsInf(cfg.CV, 0) {
		return usage("use constant, poisson or gamma:CV, such as gamma:2", "--arrivals %q", o.arrivals)
	}
	return nil
}

// trust reads --ca.
func (o *replayFlags) trust(cfg *replayer.Config) error {
	if o.ca == "" {
		return nil
	}
	pem, err := os.ReadFile(o.ca)
	if err != nil {
		return usage("name a PEM file", "read certificates: %v", err)
	}
	cfg.RootCAs = x509.NewCertPool()
	if !cfg.RootCAs.AppendCertsFromPEM(pem) {
		return usage("name a PEM file", "no certificate in %q", o.ca)
	}
	return nil
}

// placeShard reads --shard and --start-at.
func (o *replayFlags) placeShard(cfg *replayer.Config) error {
	if o.shard == "" {
		return nil
	}
	s, err := replayer.ParseShard(o.shard)
	if err != nil {
		return replayError(err, o.out)
	}
	if o.startAt != "" {
		if s.StartAt, err = time.Parse(time.RFC3339Nano, o.startAt); err != nil {
			return usage("give a time such as 2026-01-31T15:04:05Z, the same to all shards", "--start-at %q is no time", o.startAt)
		}
	}
	cfg.Shard = s
	return nil
}

// targetHeaders reads the header fields for the target from an environment.
func targetHeaders(environ []string) http.Header { return headersFrom(environ, headerPrefix) }

// headersFrom reads the header fields of the variables that begin with prefix.
func headersFrom(environ []string, prefix string) http.Header {
	h := make(http.Header)
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		name, isHeader := strings.CutPrefix(name, prefix)
		if ok && isHeader && name != "" {
			h.Set(strings.ReplaceAll(name, "_", "-"), value)
		}
	}
	return h
}

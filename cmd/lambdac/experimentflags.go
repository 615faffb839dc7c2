package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/internal/experiment"
	"github.com/lambdac/lambdac/internal/fault"
	"github.com/lambdac/lambdac/replayer"
)

// key is a key of an experiment file, below spec, and the flag of replay that
// it stands for.
type key struct {
	path, flag string
	values     []string // none = the key is not there
}

// keys are those of an experiment in the order in which they are read: what
// others are measured by comes first.
func keys(s *experiment.Spec) []key {
	l := &s.Load
	list := []key{
		{"target.url", "target", given(s.Target.URL)},
		{"target.model", "model", given(s.Target.Model)},
		{"target.http2", "http2", switched(s.Target.HTTP2)},
		{"target.ca", "ca", given(s.Target.CA)},
		{"target.allowProduction", "allow-production", switched(s.Target.AllowProduction)},
		{"target.keepHeaders", "keep-header", s.Target.KeepHeaders},
		{"target.connections", "connections", given(s.Target.Connections)},
		{"target.maxConnections", "max-connections", whole(s.Target.MaxConnections)},
		{"target.tokenIDs", "token-ids", switched(s.Target.TokenIDs)},
		{"target.ignoreEOS", "ignore-eos", switched(s.Target.IgnoreEOS)},
		{"trace.select", "select", given(s.Trace.Select)},
		{"load.hold", "hold", given(l.Hold)},
		{"load.warmup", "warmup", given(l.Warmup)},
		{"load.ramp", "ramp", given(l.Ramp)},
		{"load.drain", "drain", given(l.Drain)},
		{"load.maxIdle", "max-idle", given(l.MaxIdle)},
		{"load.scaling", "scaling", given(l.Scaling)},
		{"load.arrivals", "arrivals", given(l.Arrivals)},
		{"load.noSpread", "no-spread", switched(l.NoSpread)},
		{"load.replicates", "replicates", whole(l.Replicates)},
		{"load.catchUp", "catch-up", given(l.CatchUp)},
		{"load.onCap", "on-cap", given(l.OnCap)},
		{"load.rate", "rate", decimals(l.Rate)},
		{"load.levels", "levels", decimals(l.Levels...)},
		{"load.scale", "scale", decimals(l.Scale...)},
		{"load.concurrency", "concurrency", each(l.Concurrency)},
		{"sessions", "sessions", given(s.Sessions)},
		{"cancels", "no-cancels", switched(s.Cancels != nil && !*s.Cancels)},
		{"cache", "cache", given(s.Cache)},
		{"stop.errorRate", "stop-errors", given(s.Stop.ErrorRate)},
		{"stop.maxTokens", "max-tokens", given(s.Stop.MaxTokens)},
		{"stop.inputPrice", "price-input", decimals(s.Stop.InputPrice)},
		{"stop.outputPrice", "price-output", decimals(s.Stop.OutputPrice)},
		{"stop.maxCost", "max-cost", decimals(s.Stop.MaxCost)},
		{"stop.maxInFlight", "max-in-flight", whole(s.Stop.MaxInFlight)},
		{"stop.maxRate", "max-rate", decimals(s.Stop.MaxRate)},
		{"stop.maxLag", "max-lag", given(s.Stop.MaxLag)},
		{"stop.firstToken", "timeout-first-token", given(s.Stop.FirstToken)},
		{"stop.idle", "timeout-idle", given(s.Stop.Idle)},
		{"stop.total", "timeout-total", given(s.Stop.Total)},
	}
	if s.Probes != "" {
		list = append(list, key{"probeShare", "probes", given(cmp.Or(s.ProbeShare, "5%"))})
	}
	if l.Seed != nil {
		list = append(list, key{"load.seed", "seed", []string{strconv.FormatUint(*l.Seed, 10)}})
	}
	if t := s.Telemetry; t != nil {
		list = append(list,
			key{"telemetry.host", "telemetry", sampledParts(t)},
			key{"telemetry.server", "server-metrics", given(t.Server)},
			key{"telemetry.servers", "server-metrics", t.Servers},
		)
	}
	if l.Search != nil {
		list = append(list,
			key{"load.search.budget", "budget", given(l.Search.Budget)},
			key{"load.search.maxLevels", "max-levels", whole(l.Search.MaxLevels)},
			key{"load.search.objective", "search-slo", given(l.Search.Objective)},
			key{"load.search.replicates", "replicates", whole(l.Search.Replicates)},
		)
	}
	return list
}

func switched(on bool) []string {
	if !on {
		return nil
	}
	return []string{"true"}
}

// sampledParts is what --telemetry is for a file that says so: without host it is
// found out, as without the flag.
func sampledParts(t *experiment.Telemetry) []string {
	switch {
	case t.Host && t.GPU == "off":
		return []string{"client,host"}
	case t.Host:
		return []string{"client,host,gpu"}
	case t.GPU == "on":
		return []string{"client,gpu"}
	}
	return nil
}

func whole(n int) []string {
	if n == 0 {
		return nil
	}
	return []string{strconv.Itoa(n)}
}

func decimals(list ...float64) (values []string) {
	for _, v := range list {
		if v != 0 || len(list) > 1 {
			values = append(values, strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	return values
}

// plan is an experiment as the stages take it.
type plan struct {
	flags      replayFlags
	objectives []analyzer.Objective
	floors     []analyzer.Floor
	compare    analyzer.CompareOptions
	seed       uint64
}

// newPlan turns an experiment into flags and options. Its errors name line and
// column.
func newPlan(x *experiment.Experiment, out string) (*plan, error) {
	var p plan
	if err := p.setFlags(x, keys(&x.Spec)); err != nil {
		return nil, err
	}
	p.flags.out, p.seed = out, p.flags.cfg.Seed
	for _, step := range []func(*experiment.Experiment) error{p.search, p.faults, p.judges, p.baseline} {
		if err := step(x); err != nil {
			return nil, err
		}
	}
	return &p, nil
}

func (p *plan) setFlags(x *experiment.Experiment, list []key) error {
	c := &cobra.Command{}
	p.flags.register(c)
	for _, k := range list {
		for _, v := range k.values {
			if err := c.Flags().Set(k.flag, v); err != nil {
				return x.At(k.path, fmt.Errorf("%s: %w", k.path, innermost(err)))
			}
		}
	}
	return nil
}

// innermost is what went wrong, without the flag around it.
func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// search turns multiples of the recorded rate into rates once the trace is
// known; see resolve.
func (p *plan) search(x *experiment.Experiment) error {
	s := x.Spec.Load.Search
	if s == nil {
		return nil
	}
	for _, end := range []struct{ path, text string }{{"load.search.from", s.From}, {"load.search.to", s.To}} {
		if _, _, err := experiment.ParseLoad(end.text); err != nil {
			return x.At(end.path, err)
		}
	}
	return nil
}

// faults reads the faults.
func (p *plan) faults(x *experiment.Experiment) error {
	var specs []fault.Spec
	for i, members := range x.Spec.Faults {
		path := fmt.Sprintf("faults[%d]", i)
		s, err := fault.Parse(members)
		if err == nil {
			err = s.CheckWindow(p.flags.cfg.Hold)
		}
		if err != nil {
			return x.At(placeOf(path, err), err)
		}
		specs = append(specs, s)
		p.flags.faults.texts = append(p.flags.faults.texts, s.String())
	}
	err := fault.CheckTogether(specs)
	if told := (*fault.Error)(nil); errors.As(err, &told) && told.Index != nil {
		return x.At(placeOf(fmt.Sprintf("faults[%d]", *told.Index), err), err)
	} else if err != nil {
		return x.At("faults", err)
	}
	return nil
}

// placeOf is the path of what an error of a fault is about.
func placeOf(path string, err error) string {
	if told, ok := errors.AsType[*fault.Error](err); ok && told.Field != "" {
		path += "." + told.Field
	}
	return path
}

// judges reads the objectives.
func (p *plan) judges(x *experiment.Experiment) error {
	for i, o := range x.Spec.Objectives {
		path := fmt.Sprintf("objectives[%d]", i)
		if err := p.judgeBy(o); err != nil {
			return x.At(path, err)
		}
	}
	return nil
}

func (p *plan) judgeBy(o experiment.Objective) error {
	if o.Metric == "lambda_c" || o.Metric == "lambda_slo" {
		if o.Min == "" || o.Max != "" || o.Quantile != 0 {
			return fmt.Errorf("%s takes min and nothing else, such as min: 12/s", o.Metric)
		}
		least, err := experiment.ParseRate(o.Min)
		if err != nil {
			return err
		}
		p.floors = append(p.floors, analyzer.Floor{Metric: o.Metric, MinPerS: least})
		return nil
	}
	if o.Min != "" {
		return fmt.Errorf("%s takes max: only %s take min", o.Metric, strings.Join(analyzer.FloorMetrics, " and "))
	}
	words := []string{o.Metric}
	if o.Quantile != 0 {
		words = append(words, "p"+strconv.FormatFloat(100*o.Quantile, 'g', 6, 64))
	}
	objective, err := analyzer.ParseObjective(strings.Join(append(words, o.Max), " "))
	if err != nil {
		return err
	}
	p.objectives = append(p.objectives, objective)
	return nil
}

// baseline reads what does not matter in a comparison.
func (p *plan) baseline(x *experiment.Experiment) error {
	b := x.Spec.Baseline
	if b == nil {
		return nil
	}
	p.compare = analyzer.CompareOptions{Seed: p.seed, Version: version}
	for _, t := range []struct {
		path, text, standard string
		to                   *float64
	}{
		{"baseline.tolerance", b.Tolerance, "5%", &p.compare.Tolerance},
		{"baseline.toleranceErrors", b.ToleranceErrors, "0.5%", &p.compare.RateTolerance},
	} {
		if t.text == "" {
			t.text = t.standard
		}
		share, err := parseTolerance(t.text)
		if err != nil {
			return x.At(t.path, fmt.Errorf("%q: %w", t.text, err))
		}
		*t.to = share
	}
	return nil
}

// resolve completes the configuration with what the trace tells, and checks it
// all: an error names the first key that makes it wrong.
func (p *plan) resolve(x *experiment.Experiment, from replayer.Trace) (replayer.Config, error) {
	if s := x.Spec.Load.Search; s != nil {
		between, err := p.searchBetween(s, from)
		if err != nil {
			return replayer.Config{}, x.At("load.search", err)
		}
		p.flags.search.between = between
	}
	cfg, err := p.config(x)
	if err != nil {
		return cfg, x.At("load", plain(err))
	}
	if err := replayer.Check(cfg, from); err != nil {
		return cfg, p.blame(x, from, err)
	}
	return cfg, nil
}

func (p *plan) config(x *experiment.Experiment) (replayer.Config, error) {
	cfg, err := p.flags.config()
	if err != nil {
		return cfg, err
	}
	for name, variable := range x.Spec.Target.HeadersFromEnv {
		value, set := os.LookupEnv(variable)
		if !set {
			return cfg, x.At("target.headersFromEnv."+name, fmt.Errorf("the environment has no %s: set it, or take the header out", variable))
		}
		cfg.Headers.Set(name, value)
	}
	return cfg, nil
}

// searchBetween are the ends of a search in requests per second.
func (p *plan) searchBetween(s *experiment.Search, from replayer.Trace) ([]float64, error) {
	once, err := replayer.Plan(replayer.Config{
		Target: "http://127.0.0.1", Loads: []replayer.Load{{Scale: 1}}, Hold: time.Second, MaxIdle: p.flags.cfg.MaxIdle,
	}, from)
	if err != nil {
		return nil, err
	}
	recorded := once.Levels[0].OfferedPerS
	var between []float64
	for _, text := range []string{s.From, s.To} {
		perS, scale, err := experiment.ParseLoad(text)
		if err != nil {
			return nil, err
		}
		between = append(between, perS+scale*recorded)
	}
	return between, nil
}

// blame finds the key with which an error of the whole begins.
func (p *plan) blame(x *experiment.Experiment, from replayer.Trace, whole error) error {
	list := keys(&x.Spec)
	for i, k := range list {
		if len(k.values) == 0 {
			continue
		}
		var part plan
		if part.setFlags(x, list[:i+1]) != nil {
			break
		}
		part.flags.out, part.flags.search.between = p.flags.out, p.flags.search.between
		if part.flags.rate == 0 && len(part.flags.levels) == 0 && len(part.flags.scales) == 0 && len(part.flags.inFlight) == 0 && len(part.flags.search.between) == 0 {
			part.flags.rate = 1 // no load has been said yet
		}
		cfg, err := part.flags.config()
		if err != nil {
			continue
		}
		if err = replayer.Check(cfg, from); err != nil && err.Error() == whole.Error() {
			return x.At(k.path, whole)
		}
	}
	return x.At("load", whole)
}

package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/replayer"
	"github.com/lambdac/lambdac/trace"
)

// searchFlags are those of replay --search.
type searchFlags struct {
	between []float64
	slo     string
	config  analyzer.SearchConfig
}

func (s *searchFlags) register(f *pflag.FlagSet) {
	f.Float64SliceVar(&s.between, "search", nil, "choose the `loads` between two, such as 5,80, from what each level shows: near λc, or where the objective of --search-slo breaks")
	f.StringVar(&s.slo, "search-slo", "", "search where this objective breaks instead of λc: 'error_rate 1%' or 'ttft_user p99 800ms'")
	f.DurationVar(&s.config.Budget, "budget", 0, "time that the levels of a search may take in all, drains included")
	f.IntVar(&s.config.MaxLevels, "max-levels", 0, "the most levels of a search (default 40)")
}

// planner is the search that the flags ask for; nil = none.
func (s *searchFlags) planner(cfg *replayer.Config) (replayer.Planner, error) {
	const see = "see lambdac replay --help"
	if len(s.between) == 0 {
		if s.slo != "" || s.config != (analyzer.SearchConfig{}) {
			return nil, usage(see, "--search-slo, --budget and --max-levels are limits of --search")
		}
		return nil, nil
	}
	if len(s.between) != 2 {
		return nil, usage(see, "--search takes two loads, got %d", len(s.between))
	}
	c := s.config
	c.From, c.To = s.between[0], s.between[1]
	if s.slo != "" {
		o, err := analyzer.ParseObjective(s.slo)
		if err != nil {
			return nil, &exitError{exitUsage, err, see}
		}
		c.Objective = &o
		c.Drain, c.FirstToken, c.Total = cfg.Drain, cfg.Timeouts.FirstToken, cfg.Timeouts.Total
	}
	search, err := analyzer.NewSearch(c)
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("--search: %w", err), see}
	}
	return search, nil
}

// repeated holds each load that another planner chooses so many times.
type repeated struct {
	inner replayer.Planner
	times int
}

func (r repeated) Next(done []trace.Level) (trace.Level, bool) {
	if n := len(done); n%r.times != 0 {
		return trace.Level{OfferedPerS: done[n-1].OfferedPerS}, true
	}
	return r.inner.Next(done)
}

// See implements [replayer.Watcher].
func (r repeated) See(l *trace.Level, rec *trace.Record) {
	if w, ok := r.inner.(replayer.Watcher); ok {
		w.See(l, rec)
	}
}

package twin

import (
	"context"
	"fmt"
	"strings"
)

// TruthSchema names the JSON document of [Truth].
const TruthSchema = "lambdac.truth/v1"

// Truth is what `lambdac sim --truth --json` prints: the virtual-time answer
// for the parameters that the HTTP server takes.
type Truth struct {
	Schema   string   `json:"schema"`
	Version  string   `json:"version"`
	Warnings []string `json:"warnings"`
	// CapacityPerS is [Capacity], the λcap of the analyzer's shed and queue
	// families, and CapacityStdErr its standard error.
	CapacityPerS   float64 `json:"capacity_per_s"`
	CapacityStdErr float64 `json:"capacity_std_err"`
	// ErrorCurve is [ErrorCurve] at Loads of the capacity, or at those asked
	// for.
	ErrorCurve []Point    `json:"error_curve"`
	Mix        MixSummary `json:"mix"`
	Parameters Params     `json:"parameters"`
	Seed       uint64     `json:"seed"`
}

// MixSummary describes the traffic that the truth holds for.
type MixSummary struct {
	// Source is "builtin" or "trace".
	Source           string  `json:"source"`
	Requests         int     `json:"requests"`
	MeanInputTokens  float64 `json:"mean_input_tokens"`
	MeanOutputTokens float64 `json:"mean_output_tokens"`
	// Estimated requests have a token count that was not reported; Skipped
	// records are no inference requests.
	Estimated int `json:"estimated"`
	Skipped   int `json:"skipped"`
}

// TruthConfig asks for a truth.
type TruthConfig struct {
	Params  Params
	Seed    uint64
	Version string
	// Mix is the traffic; nil = [BuiltinMix] of the seed.
	Mix *Mix
	// Loads in requests per second; nil = 13 from half to twice the capacity.
	Loads []float64
}

// relativeLoads are the loads of a truth in units of the capacity.
var relativeLoads = []float64{0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1, 1.1, 1.25, 1.5, 1.75, 2}

// FindTruth measures capacity and error curve. It takes a few seconds, long
// prompts half a minute. A mix without a request that fits the server matches
// [ErrEmptyMix]; ctx is looked at between numbers.
func FindTruth(ctx context.Context, c TruthConfig) (*Truth, error) {
	mix, source := c.Mix, "trace"
	if mix == nil {
		mix, source = new(BuiltinMix(c.Seed)), "builtin"
	}
	capacity, err := Capacity(c.Params, mix.Jobs, c.Seed)
	if err != nil {
		return nil, err
	}
	loads := c.Loads
	if loads == nil {
		for _, x := range relativeLoads {
			loads = append(loads, x*capacity.Value)
		}
	}
	curve := []Point{}
	for i, load := range loads {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		points, err := ErrorCurve(c.Params, mix.Jobs, []float64{load}, c.Seed+uint64(i))
		if err != nil {
			return nil, err
		}
		curve = append(curve, points...)
	}
	return &Truth{
		Schema: TruthSchema, Version: c.Version, Warnings: warnings(c.Params, mix),
		CapacityPerS: capacity.Value, CapacityStdErr: capacity.StdErr, ErrorCurve: curve,
		Mix: summarize(mix, source), Parameters: c.Params, Seed: c.Seed,
	}, nil
}

func warnings(p Params, mix *Mix) []string {
	out := []string{}
	if p.MaxQueue == Unbounded {
		out = append(out, "the queue has no bound, so nothing is shed and the error curve does not show the capacity")
	}
	if len(p.Pathologies) > 0 {
		out = append(out, fmt.Sprintf("the server has pathologies (%s): its error curve depends on how long it has run", strings.Join(p.Pathologies, ", ")))
	}
	long := 0
	for _, j := range mix.Jobs {
		if !p.fits(j) {
			long++
		}
	}
	if long > 0 {
		out = append(out, fmt.Sprintf("%d of %d requests exceed the context of %d tokens and are left out", long, len(mix.Jobs), p.contextLimit()))
	}
	if mix.Estimated > 0 {
		out = append(out, fmt.Sprintf("%d of %d requests have token counts that were estimated", mix.Estimated, len(mix.Jobs)))
	}
	return out
}

func summarize(mix *Mix, source string) MixSummary {
	s := MixSummary{Source: source, Requests: len(mix.Jobs), Estimated: mix.Estimated, Skipped: mix.Skipped}
	for _, j := range mix.Jobs {
		s.MeanInputTokens += float64(j.InputTokens) / float64(len(mix.Jobs))
		s.MeanOutputTokens += float64(j.OutputTokens) / float64(len(mix.Jobs))
	}
	return s
}

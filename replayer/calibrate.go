package replayer

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/lambdac/lambdac/trace"
)

const (
	// calibrateAfter answers of a model, intended and reported prompt tokens
	// are compared.
	calibrateAfter = 200
	// scaleAbove is the median error from which later prompts are scaled,
	// prefillLimit that from which the run says nothing about prefill.
	scaleAbove   = 0.02
	prefillLimit = 0.10
)

// calibration compares, per model, the prompt tokens that were meant with
// those that the service reports.
type calibration struct {
	refit  func(model string, f promptFit)
	models map[string]*modelFit
}

// modelFit are the first answers of one model.
type modelFit struct {
	intended, words, reported []float64
	fit                       promptFit
	done                      bool
	asIs                      bool // there is nothing to fit
}

func newCalibration(refit func(string, promptFit)) *calibration {
	return &calibration{refit: refit, models: make(map[string]*modelFit)}
}

// add takes one answered request.
func (c *calibration) add(p *prompt, r *trace.Record) {
	if r.Outcome != trace.OutcomeOK || r.TokenSource != trace.TokensUsage || r.InputTokens == nil || *r.InputTokens <= 0 {
		return
	}
	m := c.models[p.model]
	if m == nil {
		m = &modelFit{fit: promptFit{scale: 1}}
		c.models[p.model] = m
	}
	if m.done {
		return
	}
	m.asIs = m.asIs || p.asIs
	m.intended = append(m.intended, float64(p.intended))
	m.words = append(m.words, float64(p.words))
	m.reported = append(m.reported, float64(*r.InputTokens))
	if len(m.words) < calibrateAfter {
		return
	}
	m.done = true
	if m.medianError() > scaleAbove && !m.asIs {
		m.fit = fitPrompts(m.words, m.reported)
		c.refit(p.model, m.fit)
	}
}

func (m *modelFit) medianError() float64 {
	errs := make([]float64, len(m.intended))
	for i := range errs {
		errs[i] = math.Abs(m.reported[i]-m.intended[i]) / m.intended[i]
	}
	return quantile(errs, 0.5)
}

// fitPrompts learns reported = overhead + words ÷ scale: the slope is the
// median over all pairs (Theil and Sen; Sen, JASA 63, 1968), so that a model's
// odd answers count little. Where all prompts are nearly of one length the two
// cannot be told apart: a small excess is taken for the template, a large one
// for the vocabulary.
func fitPrompts(words, reported []float64) promptFit {
	slope, ok := medianSlope(words, reported)
	if !ok {
		slope = 1
		if excess := medianRest(words, reported, 1); excess < 0 || excess > 64 {
			slope = medianRatio(words, reported)
		}
	}
	rest := medianRest(words, reported, slope)
	if rest < 0 {
		rest, slope = 0, medianRatio(words, reported)
	}
	return promptFit{overhead: int64(math.Round(rest)), scale: 1 / slope}
}

func medianSlope(x, y []float64) (float64, bool) {
	if slices.Max(x) < 1.2*slices.Min(x) {
		return 0, false
	}
	var slopes []float64
	for i := range x {
		for j := range i {
			if x[i] != x[j] {
				slopes = append(slopes, (y[i]-y[j])/(x[i]-x[j]))
			}
		}
	}
	slope := quantile(slopes, 0.5)
	return slope, slope > 0.1 && slope < 10
}

func medianRest(x, y []float64, slope float64) float64 {
	rests := make([]float64, len(x))
	for i := range x {
		rests[i] = y[i] - slope*x[i]
	}
	return quantile(rests, 0.5)
}

func medianRatio(x, y []float64) float64 {
	ratios := make([]float64, len(x))
	for i := range x {
		ratios[i] = y[i] / max(x[i], 1)
	}
	return quantile(ratios, 0.5)
}

// report is what the manifest says, with warnings where prompts were off.
func (c *calibration) report() (fits []trace.PromptFit, warnings []string) {
	for model, m := range c.models {
		f := trace.PromptFit{Model: model, N: int64(len(m.words)), MedianError: m.medianError(), Scale: m.fit.scale}
		fits = append(fits, f)
		if m.fit != (promptFit{scale: 1}) {
			warnings = append(warnings, fmt.Sprintf(
				"prompts of model %q: %.1f %% off over the first %d answers; later ones were scaled by %.3f after %d tokens for the template",
				model, 100*f.MedianError, f.N, f.Scale, m.fit.overhead))
		}
		if f.MedianError > prefillLimit {
			warnings = append(warnings, fmt.Sprintf(
				"prompts of model %q: %.1f %% off over the first %d answers: invalid for prefill claims", model, 100*f.MedianError, f.N))
		}
	}
	slices.SortFunc(fits, func(a, b trace.PromptFit) int { return cmp.Compare(a.Model, b.Model) })
	slices.Sort(warnings)
	return fits, warnings
}

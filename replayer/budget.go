package replayer

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/lambdac/lambdac/trace"
)

// Price is what a service charges, in one currency per million tokens.
type Price struct {
	Input, Output float64
}

// budget counts the tokens of a run against its limits. A request is charged
// when it is drawn up: its prompt, and the answer's pinned length. An answer
// without one is charged when it is there, by what the service counted.
type budget struct {
	maxTokens     int64
	maxCost       float64
	price         Price
	input, output atomic.Int64
}

func newBudget(c *Config) *budget {
	return &budget{maxTokens: c.MaxTokens, maxCost: c.MaxCost, price: c.Price}
}

// afford charges a request; false, and nothing is charged, where it would
// exceed a limit.
func (b *budget) afford(p *prompt) bool {
	input, output := b.input.Load()+p.intended, b.output.Load()
	if p.maxTokens != nil {
		output += int64(*p.maxTokens)
	}
	if b.maxTokens > 0 && input+output > b.maxTokens || b.maxCost > 0 && b.price.of(input, output) > b.maxCost {
		return false
	}
	b.input.Add(p.intended)
	if p.maxTokens != nil {
		b.output.Add(int64(*p.maxTokens))
	}
	return true
}

// answered charges what could not be known before.
func (b *budget) answered(p *prompt, r *trace.Record) {
	if p.maxTokens == nil && r.OutputTokens != nil {
		b.output.Add(*r.OutputTokens)
	}
}

func (b *budget) tokens() int64 { return b.input.Load() + b.output.Load() }

func (b *budget) cost() float64 { return b.price.of(b.input.Load(), b.output.Load()) }

func (p Price) of(input, output int64) float64 {
	return (p.Input*float64(input) + p.Output*float64(output)) / 1e6
}

// checkBudget returns an ErrInput where a limit makes no sense.
func (c *Config) checkBudget() error {
	finite := func(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }
	switch {
	case c.MaxTokens < 0:
		return inputError("give --max-tokens above 0, or leave it out", "at most %d tokens: out of range", c.MaxTokens)
	case !finite(c.MaxCost) || !finite(c.Price.Input) || !finite(c.Price.Output):
		return inputError("give --max-cost and prices of 0 or more", "cost of at most %v at prices of %v and %v: out of range", c.MaxCost, c.Price.Input, c.Price.Output)
	case c.MaxCost > 0 && c.Price == (Price{}):
		return inputError("give --price-input and --price-output, per million tokens", "a cost of at most %v: nothing is said of what tokens cost", c.MaxCost)
	}
	return nil
}

// costKnob says what a run may cost.
func (c *Config) costKnob() string {
	return fmt.Sprintf("max_cost=%g at %g and %g per million tokens in and out", c.MaxCost, c.Price.Input, c.Price.Output)
}

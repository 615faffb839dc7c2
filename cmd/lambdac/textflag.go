package main

import (
	"fmt"

	"github.com/lambdac/lambdac/internal/experiment"
	"github.com/lambdac/lambdac/replayer"
)

// textFlag is a flag whose text is read by a parser that experiment files share.
type textFlag[T any] struct {
	to    *T
	parse func(string) (T, error)
}

// Set implements pflag.Value.
func (f textFlag[T]) Set(text string) (err error) {
	v, err := f.parse(text)
	if err == nil {
		*f.to = v
	}
	return err
}

// String implements pflag.Value: these flags show no default.
func (f textFlag[T]) String() string { return "" }

// Type implements pflag.Value.
func (f textFlag[T]) Type() string { return fmt.Sprintf("%T", *new(T)) }

// parseBreaker reads "50% over 30s" or "off".
func parseBreaker(text string) (b replayer.Breaker, err error) {
	if text == "off" {
		return replayer.Breaker{Off: true}, nil
	}
	b.ErrorRate, b.Over, err = experiment.ParseErrorRate(text)
	return b, err
}

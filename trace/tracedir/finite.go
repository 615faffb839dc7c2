package tracedir

import (
	"errors"
	"fmt"
	"math"

	"github.com/lambdac/lambdac/trace"
)

// ErrNotFinite reports a NaN or an infinity given for a DOUBLE column. Such a
// value is never written: writers leave NaN out of the bounds and DuckDB then
// prunes the rows that hold it.
var ErrNotFinite = errors.New("not a finite number: unknown is nil")

func finite(column string, v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("write column %q: %w", column, ErrNotFinite)
	}
	return nil
}

func finiteOrNil(column string, v *float64) error {
	if v == nil {
		return nil
	}
	return finite(column, *v)
}

// checkRecord checks every DOUBLE of an exchange, those of its features too.
func checkRecord(r *trace.Record) error {
	err := errors.Join(
		finiteOrNil("temperature", r.Temperature),
		finiteOrNil("top_p", r.TopP),
		finiteOrNil("frequency_penalty", r.FrequencyPenalty),
		finiteOrNil("presence_penalty", r.PresencePenalty),
		finite("sampled_weight", r.SampledWeight),
	)
	if err != nil || r.Features == nil {
		return err
	}
	return checkFeatures(r.Features)
}

func checkFeatures(f *trace.Features) error {
	return errors.Join(finiteOrNil("out_distinct3", f.OutDistinct3), finiteOrNil("probe_score", f.ProbeScore))
}

func checkSample(s *trace.Sample) error { return finiteOrNil("value", s.Value) }

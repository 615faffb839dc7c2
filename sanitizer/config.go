package sanitizer

import (
	"fmt"
	"io"

	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/trace"
)

// Output is where safe records go: a trace directory. It need not be safe for
// concurrent use.
type Output interface {
	// Write takes ownership of the record.
	Write(*trace.Record) error
	// WriteFeatures takes the features of a record that was written without.
	WriteFeatures(*trace.Features) error
	WriteCapture(*trace.CaptureWindow) error
	// SetManifest changes the manifest on disk.
	SetManifest(update func(*trace.Manifest)) error
}

// Config is all that a [Sanitizer] is told. The zero value is the default
// policy in shape mode.
type Config struct {
	// Policy with no content at all means [DefaultPolicy].
	Policy Policy
	// Mode is what is left of texts: shape, the default, filler or redact.
	Mode trace.Mode
	// Vocabulary is the one in which filler counts tokens, cl100k_base or
	// o200k_base; "" = the one that fits the model.
	Vocabulary string
	// FeatureShare is the keyed share of answers whose tokens are counted, in
	// (0, 1]; 0 = 1/16.
	FeatureShare float64
	// Live: the traffic does not wait. Answers for which the tokenizer has no
	// time go without those numbers, with the reason "sampled". Otherwise the tokenizer is waited for, and equal input with
	// an equal Key gives equal records.
	Live bool
	// Version of the tool; "" = "devel".
	Version string
	// Random is where the key is drawn from; nil = the system's source.
	Random io.Reader
	// Key makes pseudonyms repeatable, for tests; nil = random. It is copied,
	// and never written.
	Key []byte
}

// defaultShare keeps the tokenizer (1 MB/s) below the cost of the capture.
const defaultShare = 1.0 / 16

// checked fills in defaults and refuses what cannot be done.
func (c Config) checked() (Config, error) {
	if c.Policy.isZero() {
		c.Policy = DefaultPolicy()
	}
	if c.Mode == "" {
		c.Mode = trace.ModeShape
	}
	switch c.Mode {
	case trace.ModeShape, trace.ModeFiller, trace.ModeRedact:
	default:
		return c, fmt.Errorf("choose mode %q: use %s, %s or %s", c.Mode, trace.ModeShape, trace.ModeFiller, trace.ModeRedact)
	}
	switch c.Vocabulary {
	case "", tokens.CL100K, tokens.O200K:
	default:
		return c, fmt.Errorf("choose vocabulary %q: use %s or %s", c.Vocabulary, tokens.CL100K, tokens.O200K)
	}
	if c.FeatureShare == 0 {
		c.FeatureShare = defaultShare
	}
	if !(c.FeatureShare > 0 && c.FeatureShare <= 1) {
		return c, fmt.Errorf("choose feature share %v: use a number above 0, at most 1", c.FeatureShare)
	}
	if c.Version == "" {
		c.Version = "devel"
	}
	return c, c.Policy.check()
}

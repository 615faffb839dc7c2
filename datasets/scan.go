package datasets

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/lambdac/lambdac/trace"
)

// scan is one pass over a source file. A format calls row for each exchange,
// bad for each row that cannot be used, and skip for each that is none; an
// error of row or bad ends the pass.
type scan struct {
	in io.Reader
	// unit is that of numeric times.
	unit time.Duration
	// perS and tokenizer are Config's.
	perS      float64
	tokenizer string
	// key makes pseudonyms of one import; nil in the pass that only looks.
	key   []byte
	named map[string]*string

	row  func(line int64, r *trace.Record) error
	bad  func(line int64, msg string) error
	skip func()
}

// pseudonym names what id names, without its text: equal ids of one import
// have equal pseudonyms.
func (s *scan) pseudonym(id string) *string {
	if s.key == nil { // nothing is written in this pass
		return new("")
	}
	if known := s.named[id]; known != nil {
		return known
	}
	if len(s.named) >= maxNamed || s.named == nil {
		s.named = make(map[string]*string)
	}
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(id))
	name := hex.EncodeToString(mac.Sum(nil)[:8])
	s.named[id] = &name
	return &name
}

// maxNamed bounds the pseudonyms that are kept at hand.
const maxNamed = 4096

// scanFile passes over a file, gzip or not. What is read of it goes to sum.
func scanFile(ctx context.Context, cfg *Config, f format, sum io.Writer, s scan) error {
	file, err := os.Open(cfg.Path)
	if err != nil {
		return fmt.Errorf("open source: %w", err)
	}
	defer file.Close()
	raw := io.TeeReader(file, sum)
	s.in, err = decompress(raw)
	if err != nil {
		return fmt.Errorf("open source %q: %w: %w", cfg.Path, ErrFormat, err)
	}
	s.perS, s.tokenizer = cfg.PerS, cfg.Tokenizer
	row := s.row
	s.row = func(line int64, r *trace.Record) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return row(line, r)
	}
	if err := f.scan(&s); err != nil {
		return fmt.Errorf("import %q as %s: %w", cfg.Path, f.name, err)
	}
	if _, err := io.Copy(io.Discard, raw); err != nil { // what a decoder left unread
		return fmt.Errorf("read source: %w", err)
	}
	return nil
}

// decompress reads gzip as what is in it, and all else as it is.
func decompress(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	if magic, err := in.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return in, nil //nolint:nilerr // a file of one byte is no gzip
	}
	return gzip.NewReader(in)
}

// maxNs bounds a time in ns, either way of the epoch: some 146 years.
const maxNs = math.MaxInt64 / 2

// decimalNs reads a decimal number of units as nanoseconds, rounded to the
// nearest; one without an exponent is exact. ok is false where it is no
// number, or too large.
func decimalNs(text string, unit time.Duration) (ns int64, ok bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	part, digits := fractionNs(fraction, unit)
	if err != nil || !digits {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(math.Abs(f) < maxNs/float64(unit)) {
			return 0, false
		}
		return int64(math.Round(f * float64(unit))), true
	}
	if n > maxNs/int64(unit) || n < -maxNs/int64(unit) {
		return 0, false
	}
	if strings.HasPrefix(whole, "-") {
		part = -part
	}
	return n*int64(unit) + part, true
}

// fractionNs is what the digits behind the point are worth.
func fractionNs(digits string, unit time.Duration) (ns int64, ok bool) {
	worth := int64(unit)
	for i := range len(digits) {
		digit := int64(digits[i]) - '0'
		if digit < 0 || digit > 9 {
			return 0, false
		}
		if worth == 1 && digit >= 5 {
			ns++
		}
		worth /= 10
		ns += digit * worth
	}
	return ns, true
}

// dateNs reads a date of a layout; ok is false outside 1970 … 2115.
func dateNs(layout, text string) (ns int64, ok bool) {
	at, err := time.Parse(layout, text)
	if err != nil || at.Year() < 1970 || at.Year() > 2115 {
		return 0, false
	}
	return at.UnixNano(), true
}

// parseCount reads a token count: a whole number in [0, 2³¹).
func parseCount(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q: want a whole number of tokens, 0 or more", clip(s))
	}
	return n, nil
}

// errCount says what is wrong with a count that JSON gave; "" = nothing.
func errCount(name string, n *int64) string {
	switch {
	case n == nil:
		return "no " + name
	case *n < 0 || *n > math.MaxInt32:
		return fmt.Sprintf("%s %d: want 0 or more", name, *n)
	}
	return ""
}

// word is a name from a source (of a model, a finish reason) as a column may
// hold it: one of the length and letters of an identifier. Anything else is
// nil, for it may be text.
func word(s string) *string {
	const most = 80
	if s == "" || len(s) > most {
		return nil
	}
	for i := range len(s) {
		c := s[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("._:/+-", c) >= 0 {
			continue
		}
		return nil
	}
	return &s
}

// fileError is an error of the file as a whole: nothing of it can be used.
func fileError(line int64, format string, args ...any) error {
	return fmt.Errorf("%w: line %d %s", ErrFormat, line, fmt.Sprintf(format, args...))
}

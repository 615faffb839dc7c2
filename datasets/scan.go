package datasets

import (
	"bufio"
	"bytes"
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
	// key makes pseudonyms of one import; nil in a pass that only looks.
	key   []byte
	named map[string]*string
	words map[string]*string

	// row gets records that are valid until it returns: all of them are one.
	row  func(line int64, r *trace.Record) error
	bad  func(line int64, msg string) error
	skip func()

	record  trace.Record
	numbers []int64 // the rest of what number hands out
	block   *int32
	token   *trace.BlockUnit
}

// blank is the record of the next row, of which only the arrival is known.
func (s *scan) blank(startNs int64) *trace.Record {
	s.record = trace.Record{}
	s.record.StartUnixNs = startNs
	return &s.record
}

// number is a place of its own for a number, from a slab: rows have several.
func (s *scan) number(n int64) *int64 {
	if len(s.numbers) == 0 {
		s.numbers = make([]int64, slabIDs)
	}
	at := &s.numbers[0]
	*at, s.numbers = n, s.numbers[1:]
	return at
}

// numberOf is nil where the number is unknown.
func (s *scan) numberOf(n optional) *int64 {
	if !n.known {
		return nil
	}
	return s.number(n.n)
}

// prefix is a prompt in blocks of so many tokens.
func (s *scan) prefix(ids []int64, block int32) trace.Prefix {
	if s.block == nil || *s.block != block {
		s.block, s.token = &block, new(trace.UnitToken)
	}
	return trace.Prefix{PrefixBlockSize: s.block, PrefixBlockUnit: s.token, PrefixBlockIDs: ids}
}

// lengths is a record of which only arrival and token counts are known.
func (s *scan) lengths(startNs, input, output int64) *trace.Record {
	r := s.blank(startNs)
	r.InputTokens, r.OutputTokens = s.number(input), s.number(output)
	r.RawInputTokens, r.RawOutputTokens = r.InputTokens, r.OutputTokens
	r.Outcome = trace.OutcomeUnknown
	return r
}

// pseudonym names what id names, without its text: equal ids of one import
// have equal pseudonyms.
func (s *scan) pseudonym(id []byte) *string {
	if s.key == nil { // nothing is written in this pass
		return new("")
	}
	if known := s.named[string(id)]; known != nil {
		return known
	}
	mac := hmac.New(sha256.New, s.key)
	mac.Write(id)
	return keep(&s.named, id, hex.EncodeToString(mac.Sum(nil)[:8]))
}

// word is a name from a source (of a model, a finish reason) as a column may
// hold it: one of the length and letters of an identifier. Anything else is
// nil, for it may be text.
func (s *scan) word(text []byte) *string {
	if known := s.words[string(text)]; known != nil || !isWord(text) {
		return known
	}
	return keep(&s.words, text, string(text))
}

// maxKept bounds the texts that are kept at hand, since they come again.
const maxKept = 4096

func keep(at *map[string]*string, text []byte, value string) *string {
	if *at == nil || len(*at) >= maxKept {
		*at = make(map[string]*string)
	}
	(*at)[string(text)] = &value
	return &value
}

// pass passes over the file, gzip or not, as look does. What is read of it goes
// to sum.
func (m *importing) pass(ctx context.Context, look func(*scan) error, sum io.Writer, s scan) error {
	file, err := os.Open(m.Path)
	if err != nil {
		return fmt.Errorf("open source: %w", err)
	}
	defer file.Close()
	raw := io.TeeReader(file, sum)
	s.in, err = decompress(raw)
	if err != nil {
		return fmt.Errorf("open source %q: %w: %w", m.Path, ErrFormat, err)
	}
	s.unit, s.perS, s.tokenizer = m.unit, m.PerS, m.Tokenizer
	row := s.row
	s.row = func(line int64, r *trace.Record) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return row(line, r)
	}
	if err := look(&s); err != nil {
		return fmt.Errorf("import %q as %s: %w", m.Path, m.name, err)
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
func decimalNs(text []byte, unit time.Duration) (ns int64, ok bool) {
	unsigned := bytes.TrimPrefix(text, []byte{'-'})
	n, width := leadingInt(unsigned)
	part, decimal := int64(0), width > 0 && width <= maxDigits
	if decimal && width < len(unsigned) {
		decimal = unsigned[width] == '.'
		if decimal {
			part, decimal = fractionNs(unsigned[width+1:], unit)
		}
	}
	if !decimal {
		f, err := strconv.ParseFloat(string(text), 64)
		if err != nil || !(math.Abs(f) < maxNs/float64(unit)) {
			return 0, false
		}
		return int64(math.Round(f * float64(unit))), true
	}
	if n > maxNs/int64(unit) {
		return 0, false
	}
	ns = n*int64(unit) + part
	if len(unsigned) < len(text) {
		ns = -ns
	}
	return ns, true
}

// fractionNs is what the digits behind the point are worth.
func fractionNs(digits []byte, unit time.Duration) (ns int64, ok bool) {
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
func errCount(name string, n optional) string {
	switch {
	case !n.known:
		return "no " + name
	case n.n < 0 || n.n > math.MaxInt32:
		return fmt.Sprintf("%s %d: want 0 or more", name, n.n)
	}
	return ""
}

func isWord[T string | []byte](s T) bool {
	const most = 80
	if len(s) == 0 || len(s) > most {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("._:/+-", c) >= 0 {
			continue
		}
		return false
	}
	return true
}

// fileError is an error of the file as a whole: nothing of it can be used.
func fileError(line int64, format string, args ...any) error {
	return fmt.Errorf("%w: line %d %s", ErrFormat, line, fmt.Sprintf(format, args...))
}

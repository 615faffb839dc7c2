package fault

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value is one parameter: a number in the base of its unit, or a word.
type value struct {
	num  float64
	text string
}

// unit is how a parameter is written.
type unit uint8

const (
	unitDuration unit = iota // ns
	unitShare                // 0…1
	unitCount                // a whole number
	unitBytes                // bytes
	unitRate                 // bytes per second
	unitWord                 // one of the parameter's words
)

// param is one parameter of a kind. Lists of kinds are read by people too: see
// [Kinds].
type param struct {
	name string
	unit unit
	// def is what it is where it is not given; "" = it has to be given.
	def string
	// low and high bound it, in the base of its unit; high 0 = no bound.
	low, high float64
	words     []string // of unitWord
	about     string
}

// zero is the default's value; a parameter that must be given has none.
func (p *param) zero() value {
	if p.def == "" {
		return value{num: math.NaN()}
	}
	v, err := p.parse(p.def)
	if err != nil {
		panic(fmt.Sprintf("default of %s: %v", p.name, err)) // held by a test
	}
	return v
}

func (p *param) parse(given any) (value, error) {
	if p.unit == unitWord {
		word, _ := given.(string)
		if !slices.Contains(p.words, word) {
			return value{}, fmt.Errorf("%s is none of %s", quoteAny(given), strings.Join(p.words, ", "))
		}
		return value{text: word}, nil
	}
	n, err := p.unit.parse(given)
	if err != nil {
		return value{}, err
	}
	if n < p.low || p.high != 0 && n > p.high {
		return value{}, fmt.Errorf("%s is out of range: want %s", quoteAny(given), p.bounds())
	}
	return value{num: n}, nil
}

func (p *param) bounds() string {
	low := p.unit.format(value{num: p.low})
	if p.high == 0 {
		return low + " or more"
	}
	return low + " to " + p.unit.format(value{num: p.high})
}

// parse reads a value as YAML or a flag gives it: text, or a bare number.
func (u unit) parse(given any) (float64, error) {
	if n, ok := plainNumber(given); ok {
		return u.bare(n, given)
	}
	text, ok := given.(string)
	if !ok {
		return 0, fmt.Errorf("%s is no %s", quoteAny(given), u.what())
	}
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return u.bare(n, given)
	}
	switch u {
	case unitDuration:
		d, err := time.ParseDuration(text)
		if err == nil && d >= 0 && d <= maxDuration {
			return float64(d), nil
		}
	case unitShare:
		if head, ok := strings.CutSuffix(text, "%"); ok {
			if n, err := strconv.ParseFloat(strings.TrimSpace(head), 64); err == nil && finite(n) {
				return checkShare(n/100, given)
			}
		}
	case unitBytes:
		return parseBytes(text)
	case unitRate:
		if head, ok := strings.CutSuffix(text, "/s"); ok {
			return parseBytes(head)
		}
	}
	return 0, fmt.Errorf("%s is no %s", quoteAny(given), u.what())
}

// maxDuration keeps durations and their sums exact.
const maxDuration = 90 * 24 * time.Hour

// bare takes a number without a unit, where that can be meant.
func (u unit) bare(n float64, given any) (float64, error) {
	switch {
	case !finite(n) || n < 0:
		return 0, fmt.Errorf("%s is no %s", quoteAny(given), u.what())
	case u == unitShare:
		return checkShare(n, given)
	case u == unitCount && n == math.Trunc(n) && n < 1<<53, n == 0:
		return n, nil
	case u == unitCount:
		return 0, fmt.Errorf("%s is no %s", quoteAny(given), u.what())
	}
	return 0, fmt.Errorf("%s has no unit: want %s", quoteAny(given), u.what())
}

var errShare = errors.New("want 0% to 100%, or 0 to 1")

func checkShare(n float64, given any) (float64, error) {
	if n < 0 || n > 1 {
		return 0, fmt.Errorf("%s is out of range: %w", quoteAny(given), errShare)
	}
	return n, nil
}

func (u unit) what() string {
	return [...]string{
		"duration such as 500ms or 2m", "share such as 5% or 0.05", "whole number of 0 or more",
		"size such as 500B, 16KB or 1MB", "rate such as 64KB/s", "word",
	}[u]
}

func (u unit) format(v value) string {
	switch u {
	case unitDuration:
		return time.Duration(v.num).String()
	case unitShare:
		return formatShare(v.num)
	case unitBytes:
		return formatBytes(v.num)
	case unitRate:
		return formatBytes(v.num) + "/s"
	case unitWord:
		return v.text
	}
	return strconv.FormatFloat(v.num, 'f', -1, 64)
}

func formatShare(share float64) string {
	return strconv.FormatFloat(share*100, 'g', 6, 64) + "%"
}

// sizes are the units of bytes, from the longest name. KB and MB are decimal,
// as rates of networks are.
var sizes = []struct {
	name string
	n    float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

func parseBytes(text string) (float64, error) {
	for _, s := range sizes {
		head, ok := strings.CutSuffix(text, s.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(head), 64)
		if err == nil && finite(n) && n >= 0 && n*s.n < 1<<53 {
			return math.Round(n * s.n), nil
		}
		break
	}
	return 0, fmt.Errorf("%s is no %s", quoteAny(text), unitBytes.what())
}

func formatBytes(n float64) string {
	for _, s := range []string{"GB", "MB", "KB"} {
		if of := math.Pow(1000, float64(strings.Index("BKMG", s[:1]))); n >= of && math.Mod(n, of) == 0 {
			return strconv.FormatFloat(n/of, 'f', -1, 64) + s
		}
	}
	return strconv.FormatFloat(n, 'f', -1, 64) + "B"
}

func finite(n float64) bool { return !math.IsNaN(n) && !math.IsInf(n, 0) }

// plainNumber takes what decoders of YAML and JSON make of a number.
func plainNumber(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// quoteAny shows a value of a configuration, which holds nothing captured.
func quoteAny(v any) string {
	const most = 64
	text := fmt.Sprint(v)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strconv.Quote(text)
}

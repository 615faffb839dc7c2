package experiment

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseShare reads 5% or 0.05, in (0, 1].
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	number, of, fraction := strings.Cut(number, "/")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		share /= 100
	}
	if fraction && err == nil {
		var parts float64
		parts, err = strconv.ParseFloat(strings.TrimSpace(of), 64)
		share /= parts
	}
	if err != nil || !(share > 0 && share <= 1) {
		return 0, fmt.Errorf("%q is no share: want 5%%, 0.05 or 1/20, at most 100%%", text)
	}
	return share, nil
}

// ParseRate reads 12/s, 12 req/s or 90/min into requests per second, above 0.
func ParseRate(text string) (float64, error) {
	number, unit, _ := strings.Cut(text, "/")
	seconds, known := map[string]float64{"s": 1, "min": 60, "h": 3600}[strings.TrimSpace(unit)]
	number = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(number), "req"))
	r, err := strconv.ParseFloat(number, 64)
	if err != nil || !known || !(r > 0) || math.IsInf(r, 0) {
		return 0, fmt.Errorf("%q is no rate: want 12/s or 90/min", text)
	}
	return r / seconds, nil
}

// ParseLoad reads a rate as [ParseRate] does, or a plain number, which is a
// multiple of the recorded rate.
func ParseLoad(text string) (perS, scale float64, err error) {
	if strings.Contains(text, "/") {
		perS, err = ParseRate(text)
		return perS, 0, err
	}
	scale, err = strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(scale > 0) || math.IsInf(scale, 0) {
		return 0, 0, fmt.Errorf("%q is no load: want a multiple of the recorded rate such as 0.5, or a rate such as 20/s", text)
	}
	return 0, scale, nil
}

// ParseCount reads 2000, 20k, 20M or 2G, above 0; the factors are powers of
// 1000.
func ParseCount(text string) (int64, error) {
	number := strings.TrimSpace(text)
	factor := 1.0
	for suffix, f := range map[string]float64{"k": 1e3, "M": 1e6, "G": 1e9} {
		if cut, ok := strings.CutSuffix(number, suffix); ok {
			number, factor = cut, f
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	n *= factor
	if err != nil || !(n >= 1) || n > 1e15 || n != math.Trunc(n) {
		return 0, fmt.Errorf("%q is no count: want 2000, 20k or 20M", text)
	}
	return int64(n), nil
}

// ParseErrorRate reads "50% over 30s": a share of failures over a time.
func ParseErrorRate(text string) (share float64, over time.Duration, err error) {
	left, right, ok := strings.Cut(text, "over")
	if share, err = ParseShare(left); err != nil {
		return 0, 0, err
	}
	if !ok {
		return 0, 0, errors.New("say over which time: 50% over 30s")
	}
	over, err = time.ParseDuration(strings.TrimSpace(right))
	if err != nil || over < time.Second {
		return 0, 0, fmt.Errorf("%q is no time: want 1s or more, such as 30s", strings.TrimSpace(right))
	}
	return share, over, nil
}

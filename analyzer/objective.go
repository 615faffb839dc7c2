package analyzer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Objective is one service-level objective: a latency metric whose quantile
// must stay below a duration, or an error rate that must stay below a share.
type Objective struct {
	// Metric is ttft_user, ttft_sent, ttft_visible, tpot, max_gap, e2e,
	// error_rate or shed_rate.
	Metric string
	// Quantile in (0, 1), of latency metrics.
	Quantile float64
	// Max is the limit of latency metrics, MaxShare that of rates, in (0, 1).
	Max      time.Duration
	MaxShare float64
}

// ErrObjective reports an objective that cannot be read.
var ErrObjective = errors.New("not an objective")

const objectiveHint = "write METRIC QUANTILE LIMIT, such as 'ttft_user p99 800ms', or 'error_rate 0.5%'"

// ParseObjective reads "ttft_user p99 800ms", "error_rate 0.5%" or
// "shed_rate 0.01". A "<" before the limit is allowed. Errors match
// [ErrObjective] and end with how to write one.
func ParseObjective(s string) (Objective, error) {
	words := strings.Fields(strings.ReplaceAll(s, "<", " "))
	o, err := parseObjective(words)
	if err != nil {
		return Objective{}, fmt.Errorf("parse objective %q: %w: %w; %s", s, ErrObjective, err, objectiveHint)
	}
	return o, nil
}

func parseObjective(words []string) (Objective, error) {
	if len(words) == 0 {
		return Objective{}, errors.New("it is empty")
	}
	switch metric := words[0]; {
	case metric == "error_rate" || metric == "shed_rate":
		return parseRateObjective(words)
	case isLatencyMetric(metric):
		return parseLatencyObjective(words)
	default:
		return Objective{}, fmt.Errorf("unknown metric %q (known: %s, error_rate, shed_rate)", metric, strings.Join(latencyMetrics(), ", "))
	}
}

func parseRateObjective(words []string) (Objective, error) {
	if len(words) != 2 {
		return Objective{}, fmt.Errorf("a rate takes one limit, got %d words after the metric", len(words)-1)
	}
	share, err := parseShare(words[1])
	if err != nil {
		return Objective{}, err
	}
	return Objective{Metric: words[0], MaxShare: share}, nil
}

func parseLatencyObjective(words []string) (Objective, error) {
	if len(words) != 3 {
		return Objective{}, fmt.Errorf("a latency takes a quantile and a limit, got %d words after the metric", len(words)-1)
	}
	q, err := parseQuantile(words[1])
	if err != nil {
		return Objective{}, err
	}
	limit, err := time.ParseDuration(words[2])
	if err != nil || limit <= 0 {
		return Objective{}, fmt.Errorf("limit %q is not a duration above 0", words[2])
	}
	return Objective{Metric: words[0], Quantile: q, Max: limit}, nil
}

// parseQuantile reads p50, p99, p99.9.
func parseQuantile(s string) (float64, error) {
	percent, err := strconv.ParseFloat(strings.TrimPrefix(s, "p"), 64)
	if err != nil || !strings.HasPrefix(s, "p") || !(percent > 0 && percent < 100) {
		return 0, fmt.Errorf("quantile %q is not of the form p99", s)
	}
	return percent / 100, nil
}

// parseShare reads 0.5% or 0.005.
func parseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share > 0 && share < 1) {
		return 0, fmt.Errorf("limit %q is not a share between 0 and 100 %%", s)
	}
	return share, nil
}

// String is the canonical form, which ParseObjective reads back.
func (o Objective) String() string {
	if o.isRate() {
		return fmt.Sprintf("%s %s%%", o.Metric, formatNumber(o.MaxShare*100))
	}
	return fmt.Sprintf("%s p%s %s", o.Metric, formatNumber(o.Quantile*100), o.Max)
}

func (o Objective) isRate() bool { return o.Metric == "error_rate" || o.Metric == "shed_rate" }

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', 10, 64) }

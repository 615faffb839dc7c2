package analyzer

import "slices"

// latencyMetrics are the names of the latencies that an objective may be
// about, in the order of messages.
func latencyMetrics() []string {
	return []string{"ttft_user", "ttft_sent", "ttft_visible", "tpot", "max_gap", "e2e"}
}

func isLatencyMetric(name string) bool { return slices.Contains(latencyMetrics(), name) }

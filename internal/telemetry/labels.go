package telemetry

import (
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// labels are those of one series.
type labels map[string]string

func labelsOf(m *dto.Metric) labels {
	l := make(labels, len(m.GetLabel()))
	for _, pair := range m.GetLabel() {
		l[pair.GetName()] = pair.GetValue()
	}
	return l
}

// String names a series within its family.
func (l labels) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		parts = append(parts, name+"="+l[name])
	}
	return strings.Join(parts, ",")
}

// migMark joins a GPU and its partition.
const migMark = "/MIG"

// gpu is the Instance of the GPU, or of its partition, that a series is of.
func (l labels) gpu() string {
	name := ""
	for _, label := range []string{"UUID", "gpu_uuid", "uuid", "gpu"} {
		if l[label] != "" {
			name = l[label]
			break
		}
	}
	if part := l["GPU_I_ID"]; part != "" {
		name += migMark + part
	}
	return name
}

// otherRank reports whether a series is of a rank beside the first of one engine:
// each of them tells of all.
func (l labels) otherRank() bool {
	for _, name := range []string{"tp_rank", "pp_rank"} {
		if rank := l[name]; rank != "" && rank != "0" {
			return true
		}
	}
	return false
}

// chooses reports whether the row is for a series.
func (m *mapping) chooses(l labels) bool {
	name, value, ok := strings.Cut(m.label, "=")
	return !ok || l[name] == value
}

// valueOf is the value of a gauge or counter, the sum of a histogram or summary.
func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Gauge != nil:
		return m.GetGauge().GetValue()
	case m.Counter != nil:
		return m.GetCounter().GetValue()
	case m.Histogram != nil:
		return m.GetHistogram().GetSampleSum()
	case m.Summary != nil:
		return m.GetSummary().GetSampleSum()
	}
	return m.GetUntyped().GetValue()
}

package trace

// Sample is one reading of one gauge or counter: one row of the telemetry
// table.
type Sample struct {
	// AtUnixNs is when it was read.
	AtUnixNs int64 `parquet:"at_unix_ns,delta"`
	// Source is what was sampled.
	Source SampleSource `parquet:"source,dict"`
	// Instance is the device, process or endpoint that was read.
	Instance string `parquet:"instance,dict"`
	// Metric is the common name, which has the unit: see trace/samplemetric.go.
	Metric string `parquet:"metric,dict"`
	// RawName is the source's own name where it differs.
	RawName *string `parquet:"raw_name,dict"`
	// Value is finite; nil where it could not be read.
	Value *float64 `parquet:"value"`
	// Reason says why there is no value.
	Reason *string `parquet:"reason,dict"`
}

// SampleSource is what was sampled.
type SampleSource string

const (
	SampleHost   SampleSource = "host"
	SampleGPU    SampleSource = "gpu"
	SampleServer SampleSource = "server"
	SampleClient SampleSource = "client"
)

package trace

// Sample is one reading of one gauge or counter: one row of the telemetry
// table.
type Sample struct {
	AtUnixNs int64        `parquet:"at_unix_ns,delta"`
	Source   SampleSource `parquet:"source,dict"`
	// Instance is the device, process or endpoint that was read.
	Instance string `parquet:"instance,dict"`
	// Metric is the common name; RawName the source's own where it differs.
	Metric  string  `parquet:"metric,dict"`
	RawName *string `parquet:"raw_name,dict"`
	// Value is finite; nil with a Reason where it could not be read.
	Value  *float64 `parquet:"value"`
	Reason *string  `parquet:"reason,dict"`
}

// SampleSource is what was sampled.
type SampleSource string

const (
	SampleHost   SampleSource = "host"
	SampleGPU    SampleSource = "gpu"
	SampleServer SampleSource = "server"
	SampleClient SampleSource = "client"
)

// Package telemetry samples what surrounds a replay, on the run's clock: the
// host (CPU, memory, free blocks by order, pressure, a control group, the
// kernel's log and tracepoints), GPUs, the /metrics of servers and exporters,
// and the load generator itself. Rows have the names of trace/samplemetric.go
// whoever told them.
//
// Each source is one file and one row of a table ([samplers]) and is read by a
// goroutine of its own, so that one that hangs holds up nothing. What could not
// be read is a sample without a value that says why, never 0 and never a gap:
// a source that is not there says so once, at the start; one that fails, blocks
// or comes late leaves a hole for each series that it had given, at each tick
// until it is back.
package telemetry

// Package trace holds every noun of lambdac that outlives a process: one
// LLM exchange as files keep it (Record), the numbers taken from its text
// (Features), the levels and marks of a run, telemetry samples, losses and
// the manifest. It is the leaf of the project: standard library only, and
// every other package may import it.
//
// Two types stand for one exchange. An [Exchange] is raw captured traffic: it
// lives in memory, cannot be encoded, and prints as "[unsanitized]". A
// [Record] is safe: its numbers were measured by the recorder and each of its
// strings was written by the sanitizer, an importer or the replayer. The
// struct tags of Record are the Parquet schema (version [SchemaVersion]).
//
// Times. Start is when the exchange was due: the first request byte in a
// recording, the scheduled send in a replay. Every t_*_us is an offset from
// it in microseconds, so one definition of each latency serves both
// (timing.go).
//
// Unknown is nil, never zero. A pointer field is replaced, never written
// through: records may share pointees.
package trace

// SchemaVersion is the version of the Parquet schema in the struct tags of
// this package. Columns are only ever added; a column's type never changes.
const SchemaVersion = 1

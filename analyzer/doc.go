// Package analyzer turns a run directory into findings: the levels with their
// intervals, the load λc at which the service leaves its sub-critical regime,
// the load λ_SLO up to which an objective holds, and the head-room between
// them and the recorded traffic. Describe does the same for a trace: what is
// in it, and what was lost.
//
// It reads Records through projections of [trace.Record] and returns plain
// structs whose JSON form is published (docs/schema). Every verdict is one of
// found, not_found and insufficient; every number has its n and interval, or
// is nil beside a reason.
//
// Definitions. The offered load λ is what the schedule intends, never what
// was achieved. ε = (errors + sheds) ÷ offered, with the classes of
// trace.Class. Latency is over answered requests only. The unit of replication
// is the run: a level of trace.Level; levels of equal load are pooled for
// display and told apart for inference.
package analyzer

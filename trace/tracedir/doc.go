// Package tracedir keeps a trace or a run in a directory: JSON for what there
// is one of, Parquet for what there is one of per exchange.
//
//	manifest.json    what the directory is, and the sanitizer's seal
//	levels.json      the levels of a run
//	marks.json       fault windows of a run
//	requests/part-<host>-<first>-<last>.parquet   one row per exchange
//	features/ bodies/ capture/ telemetry/         likewise
//
// The Parquet schema is the struct tags of package trace. No other package
// imports a Parquet library.
//
// # Crashes
//
// A file appears under its name only when it is complete: it is written as
// NAME.tmp, synced, checked by reading its footer back, renamed, and the
// folder is synced. A live writer closes one part per table and second; a
// kill loses what was written in the open second and nothing else.
//
// Small parts are folded into larger ones as they age. A part's name is the
// range of one-second parts that are in it, so between the rename of a folded
// part and the removal of its sources every row exists twice on disk but once
// for a reader, which skips a part whose range lies inside another's.
//
// # Text
//
// Columns that can hold text have neither statistics in page headers, nor
// bounds in the footer, nor a column index: what was once in a body shall not
// reappear in plain bytes of the footer.
package tracedir

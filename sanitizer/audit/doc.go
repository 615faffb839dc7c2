// Package audit reads a trace or run as a stranger would, and says where
// something stands that looks like a credential or a person. It is the gate
// in front of whatever leaves: read-only, and independent of the sanitizer.
// Its table is plain regular expressions of its own; it shares no code with
// the detectors, so that one mistake does not blind both.
//
// It reads every string of every Parquet file (values, dictionaries, page
// headers, statistics, metadata), of JSON, and of whatever else lies in the
// directory, and the names of files. What it cannot read is a finding. It
// lists rule, file, place and count, never the value.
//
// It is stricter in form than the detectors: a number without a word for what
// it is, which the sanitizer judges by its surroundings, is no finding here.
// Names of people and addresses are found by neither.
package audit

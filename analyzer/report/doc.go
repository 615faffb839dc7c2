// Package report writes an analysis for people: as text for a terminal and as
// one HTML file that works offline, prints well, and shows each chart beside
// its table. It computes nothing: every number is the analyzer's.
package report

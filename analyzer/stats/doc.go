// Package stats holds the statistics of lambdac: float64 slices in, structs
// out, no I/O, no state. Randomness is a seed that the caller gives.
//
// Loads are offered loads in ascending order. Counts are float64 that hold
// integers, so that pooled and weighted counts share one path.
package stats

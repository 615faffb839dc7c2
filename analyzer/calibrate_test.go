package analyzer

import (
	"runtime"
	"slices"
	"sync"

	"github.com/lambdac/lambdac/internal/testenv"
)

// scale returns the number of replicates: full in a calibration, short in the
// unit tests.
func scale(short, full int) int {
	if testenv.Calibrating() {
		return full
	}
	return short
}

// parallel runs f(0…n−1) on all cores and returns the results in order.
func parallel[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				out[i] = f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}

func median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	return xs[len(xs)/2]
}

package analyzer

import (
	"math"
	"math/bits"
)

// lengths is a histogram of non-negative integers, exact below 4,096 and to
// 1/2,048 of the value above.
type lengths struct {
	counts []int64
	n      int64
	sum    float64
	max    int64
}

const exactBits = 12

// bucketOf numbers the buckets: values below 2^12 one each, above 2^11 per
// octave.
func bucketOf(v int64) int {
	octave := max(0, bits.Len64(uint64(v))-exactBits)
	return octave<<(exactBits-1) + int(v>>octave)
}

// valueOf is the lowest value of a bucket.
func valueOf(bucket int) int64 {
	octave := max(0, bucket>>(exactBits-1)-1)
	return int64(bucket-octave<<(exactBits-1)) << octave
}

func (l *lengths) add(v int64) {
	v = max(v, 0)
	at := bucketOf(v)
	if at >= len(l.counts) {
		l.counts = append(l.counts, make([]int64, at+1-len(l.counts))...)
	}
	l.counts[at]++
	l.n++
	l.sum += float64(v)
	l.max = max(l.max, v)
}

// quantile is the lowest value with at least q·n values at or below it.
func (l *lengths) quantile(q float64) float64 {
	rank := int64(math.Ceil(q * float64(l.n)))
	seen := int64(0)
	for bucket, n := range l.counts {
		seen += n
		if n > 0 && seen >= rank {
			return float64(valueOf(bucket))
		}
	}
	return float64(l.max)
}

func (l *lengths) summary() Lengths {
	if l.n == 0 {
		return Lengths{}
	}
	return Lengths{
		N: l.n, Mean: new(l.sum / float64(l.n)),
		P50: new(l.quantile(0.5)), P90: new(l.quantile(0.9)), P99: new(l.quantile(0.99)),
		Max: new(float64(l.max)),
	}
}

package stats

import "math"

// Entropy is the Shannon entropy of categories, in bits, of which counts are a
// sample.
type Entropy struct {
	// PlugIn takes the shares for the probabilities: it is too low.
	PlugIn float64
	// MillerMadow adds (K − 1) ÷ (2N ln 2), K categories seen in N.
	MillerMadow float64
	// ChaoShen weighs each category by its chance to be seen at all.
	ChaoShen float64
	// Jackknife is N·H − (N−1)·mean of H without one, SE its standard error.
	Jackknife, SE float64
	// Coverage is the estimated probability of the categories seen: 1 − f1 ÷ N,
	// f1 those seen once.
	Coverage float64
	// N is the sum of counts, K the number of categories.
	N, K int
}

// EntropyOf estimates the entropy from positive counts; others are left out, and
// of none all is 0.
//
// Sources: Miller 1955; Chao & Shen, Environ. Ecol. Stat. 10:429 (2003); Zahl,
// Ecology 58:907 (1977); Good, Biometrika 40:237 (1953).
func EntropyOf(counts []int) Entropy {
	var e Entropy
	once := 0
	for _, c := range counts {
		if c > 0 {
			e.N, e.K = e.N+c, e.K+1
		}
		if c == 1 {
			once++
		}
	}
	if e.N == 0 {
		return e
	}
	n := float64(e.N)
	e.Coverage = 1 - float64(once)/n
	weight := e.Coverage
	if once == e.N {
		weight = 1 / n // as if one had been seen twice
	}
	for _, c := range counts {
		if c <= 0 {
			continue
		}
		p := float64(c) / n
		e.PlugIn -= plog(p)
		e.ChaoShen -= plog(weight*p) / -math.Expm1(n*math.Log1p(-weight*p))
	}
	e.MillerMadow = e.PlugIn + float64(e.K-1)/(2*n*math.Ln2)
	e.jackknife(counts)
	return e
}

// plog is p·log2 p, 0 at 0.
func plog(p float64) float64 {
	if p <= 0 {
		return 0
	}
	return p * math.Log2(p)
}

// jackknife leaves one of each category out: all of one category give the same.
func (e *Entropy) jackknife(counts []int) {
	n := float64(e.N)
	if e.N < 2 {
		e.Jackknife = e.PlugIn
		return
	}
	// H = log2 N − Σ c·log2 c ÷ N.
	weighed := 0.0
	for _, c := range counts {
		weighed += plog(float64(max(c, 0)))
	}
	mean, square := 0.0, 0.0
	for _, c := range counts {
		if c <= 0 {
			continue
		}
		h := math.Log2(n-1) - (weighed-plog(float64(c))+plog(float64(c-1)))/(n-1)
		mean += float64(c) * h / n
		square += float64(c) * h * h / n
	}
	e.Jackknife = n*e.PlugIn - (n-1)*mean
	e.SE = math.Sqrt(max(0, (n-1)*(square-mean*mean)))
}

// Interval is the jackknife interval, not below 0.
func (e Entropy) Interval(confidence float64) Interval {
	half := normalQuantile(1-(1-confidence)/2) * e.SE
	return Interval{Low: max(0, e.Jackknife-half), High: max(0, e.Jackknife+half), Confidence: confidence}
}

// Rarefied is the expected plug-in entropy of n of the N counted, drawn without
// replacement: samples of different size can be compared at the smaller one.
//
//	−Σ_i Σ_x P(x of category i among n)·(x÷n)·log2(x÷n), x hypergeometric
//
// It is the plug-in at n ≥ N.
//
// Source: rarefaction, Hurlbert, Ecology 52:577 (1971), of entropy in place of
// richness.
func Rarefied(counts []int, n int) float64 {
	total := 0
	for _, c := range counts {
		total += max(c, 0)
	}
	n = min(n, total)
	// Equal counts share their sum.
	multiples := make(map[int]int)
	for _, c := range counts {
		if c > 0 {
			multiples[c]++
		}
	}
	h := 0.0
	for c := 1; c <= total; c++ {
		if multiples[c] == 0 {
			continue
		}
		for x := max(1, n-(total-c)); x <= min(c, n); x++ {
			p := hypergeometric(x, n, float64(c), float64(total-c))
			h -= float64(multiples[c]) * p * plog(float64(x)/float64(n))
		}
	}
	return h
}

package analyzer

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
	"github.com/lambdac/lambdac/trace"
)

// Entropy is the semantic entropy of prompts and answers: how much they differ
// in what they say, as clusters of cosine distance 0.30.
type Entropy struct {
	// Verdict is found where the entropy of answers differs between the lowest
	// and the highest load, for the same prompts.
	Verdict Verdict `json:"verdict"`
	// Method is how texts were compared; "lexical" says nothing of meaning.
	Method *string `json:"method"`
	// Prompts is the entropy of what was asked; nil where nothing is known of it.
	Prompts *EntropyBits `json:"prompts"`
	// Answers are by load, ascending.
	Answers []LoadEntropy `json:"answers"`
	// Change is that of the answers to the prompts that were answered at both the
	// lowest and the highest load, once at each; p by swapping the answers of
	// each prompt at random. N is the number of prompts.
	Change  Effect   `json:"change"`
	PValue  *float64 `json:"p_value"`
	N       int      `json:"n"`
	Reason  string   `json:"reason,omitempty"`
	Missing string   `json:"missing,omitempty"`
}

// LoadEntropy is the entropy of the answers at one load.
type LoadEntropy struct {
	OfferedPerS float64 `json:"offered_per_s"`
	EntropyBits
	// Rarefied is the expected plug-in entropy of as many answers as the load with
	// the fewest has: only these compare between loads.
	Rarefied *float64 `json:"rarefied"`
}

// EntropyBits is an entropy in bits with its 95 % jackknife interval.
type EntropyBits struct {
	// Verdict is found where texts and coverage suffice to publish the point.
	Verdict Verdict  `json:"verdict"`
	Point   *float64 `json:"point"`
	Low     *float64 `json:"low"`
	High    *float64 `json:"high"`
	// Estimator is chao_shen up to 50 texts, miller_madow above.
	Estimator string `json:"estimator"`
	// N texts in Clusters; Coverage is the estimated share of all texts that are
	// in clusters seen.
	N        int      `json:"n"`
	Clusters int      `json:"clusters"`
	Coverage *float64 `json:"coverage"`
	Missing  string   `json:"missing,omitempty"`
}

const (
	// entropyN texts and entropyCoverage are the least for an entropy.
	entropyN        = 50
	entropyCoverage = 0.8
	// maxPairs bounds the work of the comparison.
	maxPairs = 2000
)

// entropyOf takes the clusters of the features; answers to a probe that are
// numbered by their letters are no clusters of meaning. It is nil where there are
// no features at all.
func entropyOf(loads []*load, seen *aside, seed uint64) *Entropy {
	if len(seen.rows) == 0 {
		return nil
	}
	out := &Entropy{Verdict: Insufficient, Answers: []LoadEntropy{}, Change: Effect{Unit: "bits"}}
	prompts := make(map[int32]int)
	answers := make([]map[int32]int, len(loads))
	for i := range answers {
		answers[i] = make(map[int32]int)
	}
	at := placeOfRuns(loads)
	method := ""
	for _, f := range seen.rows {
		load, judged := at[f.run]
		if !judged {
			continue
		}
		if f.method == trace.ClusterExact {
			continue
		}
		method = max(method, f.method)
		if f.in != nil {
			prompts[*f.in]++
		}
		if f.out != nil {
			answers[load][*f.out]++
		}
	}
	if method != "" {
		out.Method = &method
	}
	if len(prompts) > 0 {
		out.Prompts = new(entropyBits(prompts))
	}
	out.addAnswers(loads, answers)
	out.compare(loads, seen, seed)
	return out
}

// placeOfRuns is the number of the load of each judged run.
func placeOfRuns(loads []*load) map[*run]int {
	at := make(map[*run]int)
	for i, l := range loads {
		for _, r := range l.judged {
			at[r] = i
		}
	}
	return at
}

func (e *Entropy) addAnswers(loads []*load, answers []map[int32]int) {
	fewest := 0
	for i, counts := range answers {
		if len(counts) == 0 {
			continue
		}
		l := LoadEntropy{OfferedPerS: loads[i].perS, EntropyBits: entropyBits(counts)}
		if fewest == 0 || l.N < fewest {
			fewest = l.N
		}
		e.Answers = append(e.Answers, l)
	}
	k := 0
	for _, counts := range answers {
		if len(counts) > 0 {
			e.Answers[k].Rarefied = finite(stats.Rarefied(ofClusters(counts), min(fewest, 1000)))
			k++
		}
	}
}

// ofClusters are the sizes of clusters, in an order that is always the same.
func ofClusters(counts map[int32]int) []int { return slices.Sorted(maps.Values(counts)) }

// entropyBits estimates the entropy of clusters.
func entropyBits(counts map[int32]int) EntropyBits {
	e := stats.EntropyOf(ofClusters(counts))
	i := e.Interval(confidence)
	out := EntropyBits{Verdict: Found, Point: finite(e.MillerMadow), Estimator: "miller_madow", N: e.N, Clusters: e.K, Coverage: finite(e.Coverage)}
	if e.N <= entropyN {
		out.Point, out.Estimator = finite(e.ChaoShen), "chao_shen"
	}
	out.Low, out.High = finite(min(i.Low, *out.Point)), finite(max(i.High, *out.Point))
	switch {
	case e.N < entropyN:
		out.Verdict, out.Missing = Insufficient, fmt.Sprintf("%d texts, there are %d", entropyN, e.N)
	case e.Coverage < entropyCoverage:
		out.Verdict = Insufficient
		out.Missing = fmt.Sprintf("more texts: those seen are of clusters that hold %.0f %% of all, 80 %% are asked for", 100*e.Coverage)
	}
	return out
}

// pairedClusters are the clusters of the answers to one prompt at two loads.
type pairedClusters struct {
	prompt uint64
	of     [2]*int32
	at     [2]int64
}

// compare tests whether answers differ more, or less, at the highest load.
func (e *Entropy) compare(loads []*load, seen *aside, seed uint64) {
	if len(e.Answers) == 0 {
		e.Missing = "clusters of the answers by meaning (out_cluster) in the features"
		return
	}
	if len(e.Answers) < 2 {
		e.Missing = "answers at two loads at least"
		return
	}
	pairs := pairAnswers(loads, seen, e.Answers[0].OfferedPerS, e.Answers[len(e.Answers)-1].OfferedPerS)
	pairs = pairs[:min(len(pairs), maxPairs)] // in the order of a hash: a sample at random
	if e.N = len(pairs); e.N < entropyN {
		e.Missing = fmt.Sprintf("%d prompts answered at both the lowest and the highest load, there are %d", entropyN, e.N)
		return
	}
	d, spread, p := swapTest(pairs, seed)
	e.Change.Point, e.Change.Low, e.Change.High, e.PValue = finite(d), finite(d+spread.Low), finite(d+spread.High), &p
	e.Reason = "clusters were cut at cosine distance 0.30; what 0.20 and 0.40 would give is not in the features"
	if e.Verdict = NotFound; p < alpha {
		e.Verdict = Found
	}
}

// pairAnswers takes the first answer to each prompt at both loads.
func pairAnswers(loads []*load, seen *aside, low, high float64) []pairedClusters {
	at := placeOfRuns(loads)
	byPrompt := make(map[uint64]*pairedClusters)
	for _, f := range seen.rows {
		load, judged := at[f.run]
		if !judged || f.out == nil || f.method == trace.ClusterExact {
			continue
		}
		side := 0
		switch {
		case sameLoad(loads[load].perS, high):
			side = 1
		case !sameLoad(loads[load].perS, low):
			continue
		}
		p := byPrompt[f.prompt]
		if p == nil {
			p = &pairedClusters{prompt: f.prompt}
			byPrompt[f.prompt] = p
		}
		if p.of[side] == nil || f.startUnixNs < p.at[side] {
			p.of[side], p.at[side] = f.out, f.startUnixNs
		}
	}
	var out []pairedClusters
	for _, p := range byPrompt {
		if p.of[0] != nil && p.of[1] != nil {
			out = append(out, *p)
		}
	}
	slices.SortFunc(out, func(a, b pairedClusters) int { return cmp.Compare(a.prompt, b.prompt) })
	return out
}

// swapTest is the difference of the plug-in entropies of both sides, which have
// one answer to each prompt and so the same size; the interval about it is the
// range of what swapping gives, since without a difference both sides are alike.
func swapTest(pairs []pairedClusters, seed uint64) (difference float64, spread stats.Interval, p float64) {
	rng := rand.New(rand.NewPCG(seed, 31))
	sides := [2]map[int32]int{make(map[int32]int), make(map[int32]int)}
	for _, pair := range pairs {
		sides[0][*pair.of[0]]++
		sides[1][*pair.of[1]]++
	}
	entropy := func() float64 {
		return stats.EntropyOf(ofClusters(sides[1])).PlugIn - stats.EntropyOf(ofClusters(sides[0])).PlugIn
	}
	difference = entropy()
	swapped := make([]bool, len(pairs))
	null := make([]float64, 0, permutations)
	hits := 0
	for range permutations {
		for i, pair := range pairs {
			if rng.Uint32()&1 == 0 {
				continue
			}
			a, b := *pair.of[0], *pair.of[1]
			if swapped[i] {
				a, b = b, a
			}
			swapped[i] = !swapped[i]
			move(sides[0], sides[1], a)
			move(sides[1], sides[0], b)
		}
		d := entropy()
		null = append(null, d)
		if max(d, -d) >= max(difference, -difference)-1e-9 {
			hits++
		}
	}
	slices.Sort(null)
	spread.Low, _ = stats.Quantile(null, (1-confidence)/2)
	spread.High, _ = stats.Quantile(null, (1+confidence)/2)
	return difference, spread, float64(hits+1) / float64(permutations+1)
}

// move takes one of a cluster from one side to the other.
func move(from, to map[int32]int, cluster int32) {
	if from[cluster]--; from[cluster] == 0 {
		delete(from, cluster)
	}
	to[cluster]++
}

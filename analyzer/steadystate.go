package analyzer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// SteadyState is whether repeated answers to one prompt stay alike.
type SteadyState struct {
	// Verdict is found where it is confirmed at each load that has enough answers,
	// not_found where it is not at one of them.
	Verdict Verdict `json:"verdict"`
	// Method is how answers are compared: "token_bins", the cosine of the counts
	// of 256 keyed bins of tokens, which knows words and no meaning.
	Method string       `json:"method"`
	Loads  []LoadSteady `json:"loads"`
	// Missing says what an insufficient verdict lacks.
	Missing string `json:"missing,omitempty"`
}

// LoadSteady is the steady state at one load.
type LoadSteady struct {
	OfferedPerS float64 `json:"offered_per_s"`
	// Verdict is found where steady state is confirmed: 36 answers in a row with
	// a mean pairwise cosine that is at least 0.85 with 95 % confidence, and at
	// least 0.85 in each third of them. It is not_found where even the most alike
	// 36 are below 0.85 with 95 % confidence.
	Verdict Verdict `json:"verdict"`
	// Indicated: by the published rule, three windows of 12 in a row at 0.85.
	Indicated bool `json:"indicated"`
	// Similarity is the mean pairwise cosine over the best 36 answers in a row,
	// Low its one-sided 95 % bound.
	Similarity *float64 `json:"similarity"`
	Low        *float64 `json:"low"`
	// Prompt is the probe, Answers those taken, 5 s apart at least.
	Prompt  string `json:"prompt"`
	Answers int    `json:"answers"`
	Missing string `json:"missing,omitempty"`
}

const (
	steadyAt      = 0.85
	steadyWindow  = 12
	steadyWindows = 3
	steadySpacing = 5 * 1e9
)

// repeat is one answer to a prompt that is asked again and again.
type repeat struct {
	at     int64
	vector []float64
	greedy bool
	seed   *int64
}

// steadyStateOf takes the probes whose answers have token bins. It is nil where
// there are no features at all.
func steadyStateOf(loads []*load, seen *aside) *SteadyState {
	if len(seen.rows) == 0 {
		return nil
	}
	out := &SteadyState{Verdict: Insufficient, Method: "token_bins", Loads: []LoadSteady{}}
	series := make(map[*run]map[string][]repeat)
	for _, f := range seen.rows {
		if f.run == nil || f.vector == nil {
			continue
		}
		if series[f.run] == nil {
			series[f.run] = make(map[string][]repeat)
		}
		series[f.run][f.probe] = append(series[f.run][f.probe], repeat{
			at: f.startUnixNs, vector: f.vector, seed: f.seed, greedy: f.temperature != nil && *f.temperature == 0,
		})
	}
	for _, l := range loads {
		if at, ok := loadSteady(l, series); ok {
			out.Loads = append(out.Loads, at)
		}
	}
	out.sum()
	return out
}

// sum gives the verdict on all loads.
func (s *SteadyState) sum() {
	var missing []string
	found, not := 0, 0
	for _, l := range s.Loads {
		switch l.Verdict {
		case Found:
			found++
		case NotFound:
			not++
		default:
			missing = append(missing, fmt.Sprintf("%.4g/s: %s", l.OfferedPerS, l.Missing))
		}
	}
	switch {
	case not > 0:
		s.Verdict = NotFound
	case found > 0:
		s.Verdict = Found
	case len(s.Loads) == 0:
		s.Missing = "token bins (out_token_bins) of the answers to a probe: ask one prompt every 5 s with features of answers"
	default:
		s.Missing = strings.Join(missing, "; ")
	}
}

// loadSteady judges the longest series of one prompt in one run of the load.
func loadSteady(l *load, series map[*run]map[string][]repeat) (LoadSteady, bool) {
	out := LoadSteady{OfferedPerS: l.perS, Verdict: Insufficient}
	var best []repeat
	for _, r := range l.judged {
		for prompt, repeats := range series[r] {
			if apart := spaced(repeats); len(apart) > len(best) || len(apart) == len(best) && prompt < out.Prompt {
				best, out.Prompt = apart, prompt
			}
		}
	}
	out.Answers = len(best)
	if len(best) == 0 {
		return out, false
	}
	if out.Missing = nothingVaries(best); out.Missing != "" {
		return out, true
	}
	vectors := make([][]float64, len(best))
	for i, r := range best {
		vectors[i] = r.vector
	}
	out.watch(vectors)
	return out, true
}

// spaced are the answers that are 5 s apart at least, in order of time.
func spaced(repeats []repeat) []repeat {
	sorted := slices.SortedStableFunc(slices.Values(repeats), func(a, b repeat) int { return cmp.Compare(a.at, b.at) })
	var out []repeat
	for _, r := range sorted {
		if n := len(out); n == 0 || r.at-out[n-1].at >= 0.98*steadySpacing {
			out = append(out, r)
		}
	}
	return out
}

// nothingVaries says why answers are alike whatever the service does.
func nothingVaries(repeats []repeat) string {
	seeds, greedy := make(map[int64]bool), 0
	fixed := true
	for _, r := range repeats {
		if fixed = fixed && r.seed != nil; r.seed != nil {
			seeds[*r.seed] = true
		}
		if r.greedy {
			greedy++
		}
	}
	switch {
	case greedy > 0:
		return "answers that vary: the prompt was asked at temperature 0; ask it at the temperature that the service uses"
	case fixed && len(seeds) == 1:
		return "answers that vary: all were asked with one seed; give each repeat its own"
	}
	return ""
}

// watch looks at each 36 answers in a row, as one would while they come in.
func (l *LoadSteady) watch(vectors [][]float64) {
	const all = steadyWindow * steadyWindows
	if len(vectors) < all {
		l.Missing = fmt.Sprintf("%d answers to one prompt, 5 s apart, there are %d: hold %d s longer", all, len(vectors), 5*(all-len(vectors)))
		return
	}
	for from := 0; from+all <= len(vectors); from++ {
		pooled, ok := stats.PairwiseCosine(vectors[from:from+all], confidence)
		if !ok {
			continue
		}
		apart := true
		for w := range steadyWindows {
			s, ok := stats.PairwiseCosine(vectors[from+w*steadyWindow:from+(w+1)*steadyWindow], confidence)
			apart = apart && ok && s.Mean >= steadyAt
		}
		l.Indicated = l.Indicated || apart
		if l.Low == nil || pooled.Low > *l.Low {
			l.Similarity, l.Low = &pooled.Mean, &pooled.Low
		}
		if apart && pooled.Low >= steadyAt {
			l.Verdict = Found
		}
	}
	switch {
	case l.Verdict == Found || l.Low == nil:
	case 2**l.Similarity-*l.Low < steadyAt:
		l.Verdict = NotFound // the upper end of the best 36 is below
	default:
		l.Missing = "answers that are more alike, or more of them: neither steady nor the contrary is proven"
	}
}

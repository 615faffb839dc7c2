package textstats

import (
	"hash/fnv"
	"math"
	"strings"
)

// MethodLexical names texts compared by their letters: hashed character 3- to
// 5-grams, which say nothing of meaning.
const MethodLexical = "lexical"

const (
	// dimensions of a lexical vector.
	dimensions = 256
	// apart is the cosine distance from which on two clusters are not one.
	apart = 0.30
)

// Vector is a direction: its length is 1, or 0 for an empty text.
type Vector []float32

// Lexical is the vector of the counts of a text's character 3- to 5-grams, in
// lower case, hashed into 256 places.
func Lexical(text string) Vector {
	v := make(Vector, dimensions)
	runes := []rune(strings.ToLower(text))
	h := fnv.New32a()
	for i := range runes {
		for n := 3; n <= 5 && i+n <= len(runes); n++ {
			h.Reset()
			_, _ = h.Write([]byte(string(runes[i : i+n])))
			v[h.Sum32()%dimensions]++
		}
	}
	norm := math.Sqrt(dot(v, v))
	for i := range v {
		v[i] = float32(float64(v[i]) / max(norm, 1))
	}
	return v
}

func dot(a, b Vector) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

// group is a cluster on its way: the sum of its members' vectors.
type group struct {
	sum     Vector
	members []int
}

// distance is the mean cosine distance between the members of two groups.
func (g *group) distance(o *group) float64 {
	return 1 - dot(g.sum, o.sum)/float64(len(g.members)*len(o.members))
}

// Clusters groups vectors by average linkage, cut at a mean cosine distance of
// 0.30, and numbers the clusters from 0 by their first member. It takes n² steps
// of the vectors' length: nearest neighbours are followed until two are each
// other's (Murtagh, Computer Journal 26:354, 1983).
func Clusters(vectors []Vector) []int32 {
	open := make([]*group, len(vectors))
	for i, v := range vectors {
		open[i] = &group{sum: append(Vector(nil), v...), members: []int{i}}
	}
	var done, chain []*group
	for len(open) > 0 {
		if len(chain) == 0 {
			chain = append(chain, open[0])
		}
		tip := chain[len(chain)-1]
		next, d := nearest(tip, open, chain)
		switch {
		case next == nil || d >= apart: // whatever is merged elsewhere comes no nearer
			done, open, chain = append(done, tip), without(open, tip), chain[:len(chain)-1]
		case len(chain) > 1 && next == chain[len(chain)-2]:
			for i, x := range next.sum {
				tip.sum[i] += x
			}
			tip.members = append(tip.members, next.members...)
			open, chain = without(open, next), chain[:len(chain)-2]
		default:
			chain = append(chain, next)
		}
	}
	return numbered(done, len(vectors))
}

// nearest is the group nearest to the tip of a chain, the one before it where two
// are as near.
func nearest(tip *group, open, chain []*group) (best *group, least float64) {
	if len(chain) > 1 {
		best = chain[len(chain)-2]
		least = tip.distance(best)
	}
	for _, g := range open {
		if g == tip {
			continue
		}
		if d := tip.distance(g); best == nil || d < least {
			best, least = g, d
		}
	}
	return best, least
}

func without(list []*group, g *group) []*group {
	for i, x := range list {
		if x == g {
			list[i] = list[len(list)-1]
			return list[:len(list)-1]
		}
	}
	return list
}

func numbered(groups []*group, n int) []int32 {
	of := make([]*group, n)
	for _, g := range groups {
		for _, m := range g.members {
			of[m] = g
		}
	}
	numbers := make(map[*group]int32)
	out := make([]int32, n)
	for i, g := range of {
		if _, ok := numbers[g]; !ok {
			numbers[g] = int32(len(numbers))
		}
		out[i] = numbers[g]
	}
	return out
}

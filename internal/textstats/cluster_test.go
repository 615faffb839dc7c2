package textstats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func at(degrees float64) Vector {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	return Vector{float32(cos), float32(sin)}
}

// Of R 4.2.2, cutree(hclust(as.dist(1 - cos), "average"), h = 0.3): directions in
// the plane, in degrees.
func TestClusters(t *testing.T) {
	for _, tc := range []struct {
		degrees []float64
		want    []int32
	}{
		{nil, []int32{}},
		{[]float64{10}, []int32{0}},
		{[]float64{0, 45}, []int32{0, 0}},        // 1 - cos 45° = 0.293
		{[]float64{0, 46}, []int32{0, 1}},        // 0.305
		{[]float64{0, 30, 60}, []int32{0, 0, 1}}, // {0,30} or {30,60} at 0.134, then 0.317
		{[]float64{0, 20, 40, 60}, []int32{0, 0, 0, 0}},
		{[]float64{90, 0, 91, 1, 180}, []int32{0, 1, 0, 1, 2}},
	} {
		var vectors []Vector
		for _, d := range tc.degrees {
			vectors = append(vectors, at(d))
		}
		if diff := cmp.Diff(tc.want, Clusters(vectors)); diff != "" {
			t.Errorf("%v:\n%s", tc.degrees, diff)
		}
	}
}

// TestClustersAgainstDefinition: merging the nearest pair again and again, over all
// pairs of members, gives the same clusters.
func TestClustersAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		vectors := make([]Vector, 40)
		for i := range vectors {
			vectors[i] = at(360 * rng.Float64())
		}
		groups := make([][]int, len(vectors))
		for i := range groups {
			groups[i] = []int{i}
		}
		for {
			best, a, b := apart, -1, -1
			for i := range groups {
				for j := range i {
					sum := 0.0
					for _, m := range groups[i] {
						for _, n := range groups[j] {
							sum += 1 - dot(vectors[m], vectors[n])
						}
					}
					if d := sum / float64(len(groups[i])*len(groups[j])); d < best {
						best, a, b = d, i, j
					}
				}
			}
			if a < 0 {
				break
			}
			groups[b] = append(groups[b], groups[a]...)
			groups = append(groups[:a], groups[a+1:]...)
		}
		got := Clusters(vectors)
		for _, g := range groups {
			for _, m := range g {
				if got[m] != got[g[0]] {
					t.Fatalf("%v are one cluster, got %v", g, got)
				}
			}
		}
		if n := len(groups); int(maxOf(got)) != n-1 {
			t.Fatalf("%d clusters, want %d", maxOf(got)+1, n)
		}
	}
}

func maxOf(list []int32) (m int32) {
	for _, x := range list {
		m = max(m, x)
	}
	return m
}

func TestLexical(t *testing.T) {
	a := Lexical("The queue is full, try again in a minute.")
	for _, tc := range []struct {
		text string
		near bool
	}{
		{"the queue is full, try again in a minute", true},
		{"Bananas grow where frost is rare and rain is plenty.", false},
		{"", false},
	} {
		if d := 1 - dot(a, Lexical(tc.text)); (d < apart) != tc.near {
			t.Errorf("%q: distance %.2f", tc.text, d)
		}
	}
}

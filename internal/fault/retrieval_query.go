package fault

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net/http"
)

var irrelevant = kind{
	layer: Retrieval, name: irrelevantName,
	about: "the store is asked something else, and returns real documents that have nothing to do with the question",
	make: func(*Spec) action {
		return changeQuery(func(c *call, r *rule, query *node) bool {
			some := false
			for _, n := range r.queryVector.find(query) {
				some = changeVector(n, func(v []float64) { elsewhere(c.random(), v) }) || some
			}
			for _, n := range r.queryText.find(query) {
				if _, ok := n.text(); ok {
					n.setText("an unrelated question")
					some = true
				}
			}
			return some
		})
	},
}

var threshold = kind{
	layer: Retrieval, name: thresholdName,
	about: "the request's similarity threshold is lower, so that poor hits come too",
	params: []param{
		{name: "by", unit: unitShare, def: "50%", about: "how much of it is taken off"},
	},
	make: func(s *Spec) action {
		by := s.number("by")
		return changeQuery(func(_ *call, r *rule, query *node) bool {
			some := false
			for _, n := range r.threshold.find(query) {
				v, ok := n.number()
				if !ok {
					continue
				}
				less := math.Abs(v) * by
				if r.Distance {
					less = -less
				}
				n.setNumber(v - less)
				some = some || less != 0
			}
			return some
		})
	},
}

var embeddingDrift = kind{
	layer: Retrieval, name: "embedding-drift",
	about: "vectors are moved in a direction of chance: those of embedding answers and those that a store is asked for",
	params: []param{
		{name: "l2", unit: unitShare, def: "15%", about: "by how much of their length"},
	},
	make: func(s *Spec) action {
		l2 := s.number("l2")
		move := func(rng *rand.Rand) func([]float64) { return func(v []float64) { drift(rng, v, l2) } }
		vectors := func(rng *rand.Rand, nodes []*node) (some bool) {
			for _, n := range nodes {
				some = changeVector(n, move(rng)) || some
			}
			return some
		}
		ask := changeQuery(func(c *call, r *rule, query *node) bool { return vectors(c.random(), r.queryVector.find(query)) })
		return func(c *call, next sender) (*http.Response, error) {
			return ask(c, func() (*http.Response, error) {
				return c.changeAnswer(next, func(r *rule, answer *node) bool { return vectors(c.random(), r.vectors.find(answer)) })
			})
		}
	},
}

// changeVector changes a vector in place, if the node is one: a list of
// numbers, or the Base64 of little-endian float32.
func changeVector(n *node, change func([]float64)) bool {
	if text, ok := n.text(); ok {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(raw) < 8 || len(raw)%4 != 0 {
			return false
		}
		v := make([]float64, len(raw)/4)
		for i := range v {
			v[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
		}
		change(v)
		for i := range v {
			if math.Abs(v[i]) <= math.MaxFloat32 {
				binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(float32(v[i])))
			}
		}
		n.setText(base64.StdEncoding.EncodeToString(raw))
		return true
	}
	v := make([]float64, len(n.items))
	for i, item := range n.items {
		x, ok := item.number()
		if !ok {
			return false
		}
		v[i] = x
	}
	if len(v) < 2 {
		return false
	}
	change(v)
	for i, item := range n.items {
		item.setNumber(v[i])
	}
	return true
}

// drift adds a vector of an even direction and of a share of v's length.
func drift(rng *rand.Rand, v []float64, share float64) {
	d := make([]float64, len(v))
	for i := range d {
		d[i] = rng.NormFloat64()
	}
	scale := share * length(v) / max(length(d), math.SmallestNonzeroFloat64)
	for i := range v {
		v[i] += d[i] * scale
	}
}

// elsewhere turns a vector to a direction at right angles to its own.
func elsewhere(rng *rand.Rand, v []float64) {
	d, dot := make([]float64, len(v)), 0.0
	for i := range d {
		d[i] = rng.NormFloat64()
		dot += d[i] * v[i]
	}
	long := length(v)
	for i := range d {
		d[i] -= v[i] * dot / max(long*long, math.SmallestNonzeroFloat64)
	}
	scale := long / max(length(d), math.SmallestNonzeroFloat64)
	for i := range v {
		v[i] = d[i] * scale
	}
}

func length(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}

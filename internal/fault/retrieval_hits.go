package fault

import (
	"net/http"
	"slices"
)

var empty = kind{
	layer: Retrieval, name: "empty",
	about:  "the store finds nothing",
	leaves: func(*Spec) string { return "it takes all hits away" },
	hidden: func(_, other *kind) bool {
		return slices.Contains([]string{irrelevantName, thresholdName, rerankName, metadataName}, other.name)
	},
	make: func(*Spec) action {
		return changeHits(func(_ *call, answer *node, l *list) bool {
			some := l.len() > 0
			for _, a := range l.arrays {
				a.items = nil
			}
			for _, total := range l.rule.total.find(answer) {
				total.setNumber(0)
			}
			return some
		})
	},
}

const (
	irrelevantName = "irrelevant"
	thresholdName  = "threshold"
	rerankName     = "rerank"
	metadataName   = "metadata"
)

var rerank = kind{
	layer: Retrieval, name: rerankName,
	about: "the hits come in a disturbed order; the scores stay in theirs, so that nothing looks wrong",
	make:  func(*Spec) action { return changeHits(disturb) },
}

var metadata = kind{
	layer: Retrieval, name: metadataName,
	about: "each hit has the metadata of another; where there is but one, of a placeholder",
	make:  func(*Spec) action { return changeHits(mislabel) },
}

// changeHits changes each list of hits of an answer; change reports whether it
// did.
func changeHits(change func(c *call, answer *node, l *list) bool) action {
	return func(c *call, next sender) (*http.Response, error) {
		return c.changeAnswer(next, func(r *rule, answer *node) bool {
			changed := false
			for _, l := range r.lists(answer) {
				changed = change(c, answer, &l) || changed
			}
			return changed
		})
	}
}

// disturb puts the hits into another order.
func disturb(c *call, answer *node, l *list) bool {
	n := l.len()
	if n < 2 {
		return false
	}
	order := c.random().Perm(n)
	if slices.IsSorted(order) {
		order[0], order[1] = order[1], order[0]
	}
	scores := snapshot(l.places(answer, l.rule.score))
	for _, a := range l.arrays {
		before := slices.Clone(a.items)
		for i, from := range order {
			a.items[i] = before[from]
		}
	}
	for i, n := range l.places(answer, l.rule.score) {
		*n = scores[i]
	}
	return true
}

func snapshot(nodes []*node) []node {
	all := make([]node, len(nodes))
	for i, n := range nodes {
		all[i] = *n
	}
	return all
}

// mislabel gives each hit the metadata of the next, but the document that may
// stand in it.
func mislabel(_ *call, answer *node, l *list) bool {
	labels := l.places(answer, l.rule.metadata)
	documents := l.places(answer, l.rule.document)
	if len(labels) == 0 {
		return false
	}
	texts, before := snapshot(documents), snapshot(labels)
	for i, label := range labels {
		*label = before[(i+1)%len(before)]
	}
	if len(labels) == 1 {
		labels[0].leaves(func(n *node) {
			if n.kind == '"' {
				n.setText("injected fault")
			}
		})
	}
	for i, n := range l.places(answer, l.rule.document) {
		if i < len(texts) {
			*n = texts[i]
		}
	}
	return true
}

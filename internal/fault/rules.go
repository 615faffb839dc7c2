package fault

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"strings"
)

// Rule says where the requests and answers of a store hold what, so that
// faults of retrieval can change them. Places are paths such as
// $.result[*].payload. Empty = the store has no such thing.
type Rule struct {
	// Name stands for the rule in counts and messages.
	Name string `json:"name"`
	// Path is the whole path of its requests without the query; a * stands for
	// one segment or a part of it. Method is POST where it is left out.
	Path   string `json:"path"`
	Method string `json:"method,omitempty"`

	// Hits is where the answer has lists of hits, best first. Each of Columns is
	// instead where it has a list with one entry for each hit, in the same order.
	Hits    string   `json:"hits,omitempty"`
	Columns []string `json:"columns,omitempty"`
	// Score, Document and Metadata are places within a hit; with Columns, they
	// are those of the columns that hold them.
	Score    string `json:"score,omitempty"`
	Document string `json:"document,omitempty"`
	Metadata string `json:"metadata,omitempty"`
	// Total is where the answer says how many hits there are.
	Total string `json:"total,omitempty"`

	// QueryVector, QueryText and Threshold are places in the request.
	QueryVector string `json:"query_vector,omitempty"`
	QueryText   string `json:"query_text,omitempty"`
	Threshold   string `json:"threshold,omitempty"`
	// Distance: a smaller score is a better one.
	Distance bool `json:"distance,omitempty"`

	// Vectors is where the answer has vectors, as numbers or as the Base64 of
	// little-endian float32: of embedding services.
	Vectors string `json:"vectors,omitempty"`
}

// BuiltinRules are the rules of well-known stores and of embedding services, by
// their published APIs: no such store was run.
func BuiltinRules() []Rule {
	qdrant := func(end, hits, vector, threshold string) Rule {
		return Rule{
			Name: "qdrant", Path: "/collections/*/points/" + end, Hits: hits,
			Score: "score", Document: "payload.text", Metadata: "payload", QueryVector: vector, Threshold: threshold,
		}
	}
	chroma := func(path string) Rule {
		return Rule{
			Name: "chroma", Path: path,
			Columns: []string{"$.ids[*]", "$.distances[*]", "$.documents[*]", "$.metadatas[*]", "$.embeddings[*]", "$.uris[*]"},
			Score:   "$.distances[*]", Document: "$.documents[*]", Metadata: "$.metadatas[*]",
			QueryVector: "$.query_embeddings[*]", Distance: true,
		}
	}
	openSearch := Rule{
		Name: "opensearch", Path: "/*/_search", Hits: "$.hits.hits", Total: "$.hits.total.value",
		Score: "_score", Document: "_source.text", Metadata: "_source",
		QueryVector: "$.query.knn.*.vector", QueryText: "$.query.match.*.query", Threshold: "$.min_score",
	}
	short, multi := openSearch, openSearch
	short.QueryVector, short.QueryText = "", "$.query.match.*"
	multi.QueryVector, multi.QueryText = "", "$.query.multi_match.query"
	return []Rule{
		qdrant("search", "$.result", "$.vector", "$.score_threshold"),
		qdrant("query", "$.result.points", "$.query", "$.score_threshold"),
		qdrant("query", "$.result.points", "$.query.nearest", "$.score_threshold"), // as its Python client asks
		qdrant("search/batch", "$.result[*]", "$.searches[*].vector", "$.searches[*].score_threshold"),
		qdrant("query/batch", "$.result[*].points", "$.searches[*].query", "$.searches[*].score_threshold"),
		qdrant("query/batch", "$.result[*].points", "$.searches[*].query.nearest", "$.searches[*].score_threshold"),
		chroma("/api/v1/collections/*/query"),
		chroma("/api/v2/tenants/*/databases/*/collections/*/query"),
		openSearch, short, multi,
		{Name: "openai-embeddings", Path: "/v1/embeddings", Vectors: "$.data[*].embedding"},
		{Name: "ollama-embeddings", Path: "/api/embed", Vectors: "$.embeddings[*]"},
		{Name: "tei-embeddings", Path: "/embed", Vectors: "$[*]"},
	}
}

// ruleBook holds rules with their paths parsed.
type ruleBook struct{ rules []rule }

type rule struct {
	Rule
	hits, score, document, metadata, total jsonPath
	columns                                []jsonPath
	queryVector, queryText, threshold      jsonPath
	vectors                                jsonPath
}

// newRuleBook parses rules; an [*Error] names the rule and the field.
func newRuleBook(given []Rule) (*ruleBook, error) {
	book := &ruleBook{rules: make([]rule, len(given))}
	for i := range given {
		if err := book.rules[i].parse(given[i]); err != nil {
			err.Field = fmt.Sprintf("rules[%d].%s", i, err.Field)
			return nil, err
		}
	}
	return book, nil
}

// CheckRules returns an [*Error] whose Field is the place of what is wrong.
func CheckRules(given []Rule) error {
	_, err := newRuleBook(given)
	return err
}

func (r *rule) parse(given Rule) *Error {
	r.Rule = given
	r.Method = strings.ToUpper(cmp.Or(r.Method, http.MethodPost))
	if _, err := path.Match(r.Path, ""); err != nil || !strings.HasPrefix(r.Path, "/") {
		return &Error{Field: "path", Message: fmt.Sprintf("%s is no pattern of a path", quoteAny(r.Path)), Hint: "write it as /collections/*/points/search"}
	}
	for _, place := range []struct {
		field, text string
		into        *jsonPath
	}{
		{"hits", r.Hits, &r.hits},
		{"score", r.Score, &r.score},
		{"document", r.Document, &r.document},
		{"metadata", r.Metadata, &r.metadata},
		{"total", r.Total, &r.total},
		{"query_vector", r.QueryVector, &r.queryVector},
		{"query_text", r.QueryText, &r.queryText},
		{"threshold", r.Threshold, &r.threshold},
		{"vectors", r.Vectors, &r.vectors},
	} {
		var err error
		if *place.into, err = parsePath(place.text); err != nil {
			return &Error{Field: place.field, Message: err.Error(), Hint: "see lambdac fault-proxy --help"}
		}
	}
	for i, text := range r.Columns {
		column, err := parsePath(text)
		if err != nil || column == nil {
			return &Error{Field: fmt.Sprintf("columns[%d]", i), Message: fmt.Sprintf("%s is no path", quoteAny(text)), Hint: "write it as $.ids[*]"}
		}
		r.columns = append(r.columns, column)
	}
	return r.checkPlaces()
}

func (r *rule) checkPlaces() *Error {
	switch {
	case r.hits != nil && r.columns != nil:
		return &Error{Field: "columns", Message: "hits and columns are both given", Hint: "a store's answer has one or the other: leave one out"}
	case r.hits == nil && r.columns == nil && r.vectors == nil && r.queryVector == nil && r.queryText == nil && r.threshold == nil:
		return &Error{Field: "path", Message: "the rule names no place", Hint: "give it hits, columns, vectors, query_vector, query_text or threshold"}
	}
	return nil
}

// of returns the rules of a request.
func (b *ruleBook) of(req *http.Request) (found []*rule) {
	for i := range b.rules {
		r := &b.rules[i]
		if ok, err := path.Match(r.Path, strings.TrimSuffix(req.URL.Path, "/")); ok && err == nil && r.Method == req.Method {
			found = append(found, r)
		}
	}
	return found
}

// list is the hits of one query: of each, where it stands, as parallel arrays
// or as one array of objects.
type list struct {
	arrays []*node
	rule   *rule
}

// lists returns the lists of hits of an answer.
func (r *rule) lists(answer *node) (all []list) {
	for _, n := range r.hits.find(answer) {
		if n.kind == '[' {
			all = append(all, list{[]*node{n}, r})
		}
	}
	for _, column := range r.columns {
		for i, n := range column.find(answer) {
			if n.kind != '[' {
				continue // a column that was not asked for is null
			}
			for len(all) <= i {
				all = append(all, list{nil, r})
			}
			all[i].arrays = append(all[i].arrays, n)
		}
	}
	return all
}

// len is the number of hits, those that every column has.
func (l *list) len() int {
	if len(l.arrays) == 0 {
		return 0
	}
	n := len(l.arrays[0].items)
	for _, a := range l.arrays[1:] {
		n = min(n, len(a.items))
	}
	return n
}

// places are the nodes at one of the rule's places, of each hit in order; nil
// where some hit has none.
func (l *list) places(answer *node, p jsonPath) []*node {
	if p == nil {
		return nil
	}
	if l.rule.columns != nil {
		for _, n := range p.find(answer) {
			for _, a := range l.arrays {
				if a == n {
					return a.items[:l.len()]
				}
			}
		}
		return nil
	}
	var found []*node
	for _, hit := range l.arrays[0].items {
		at := p.find(hit)
		if len(at) != 1 {
			return nil
		}
		found = append(found, at[0])
	}
	return found
}

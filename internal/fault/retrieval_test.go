package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// storeAnswers are what three stores answer, by path.
func storeAnswers() map[string]string {
	return map[string]string{
		"/collections/docs/points/search": `{"result":[
			{"id":1,"version":3,"score":0.9,"payload":{"text":"one","source":"a"}},
			{"id":2,"version":3,"score":0.8,"payload":{"text":"two","source":"b"}},
			{"id":3,"version":3,"score":0.7,"payload":{"text":"three","source":"c"}}],"status":"ok","time":0.001}`,
		"/api/v2/tenants/t/databases/d/collections/c/query": `{"ids":[["1","2","3"]],"distances":[[0.1,0.2,0.3]],"documents":[["one","two","three"]],
			"metadatas":[[{"source":"a"},{"source":"b"},{"source":"c"}]],"embeddings":null,"include":["documents"]}`,
		"/docs/_search": `{"took":1,"hits":{"total":{"value":3,"relation":"eq"},"max_score":0.9,"hits":[
			{"_id":"1","_score":0.9,"_source":{"text":"one","source":"a"}},
			{"_id":"2","_score":0.8,"_source":{"text":"two","source":"b"}},
			{"_id":"3","_score":0.7,"_source":{"text":"three","source":"c"}}]}}`,
	}
}

// hit is one hit as a client reads it.
type hit struct {
	id       string
	score    float64
	document string
	source   string
}

// readHits reads the answer of any of the three stores.
func readHits(t *testing.T, path, body string) (hits []hit) {
	t.Helper()
	var doc struct {
		Result []struct {
			ID      int
			Score   float64
			Payload struct{ Text, Source string }
		}
		IDs       [][]string
		Distances [][]float64
		Documents [][]string
		Metadatas [][]struct{ Source string }
		Hits      struct {
			Total struct{ Value int }
			Hits  []struct {
				ID     string                        `json:"_id"`
				Score  float64                       `json:"_score"`
				Source struct{ Text, Source string } `json:"_source"`
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatalf("%s: %v in %s", path, err, body)
	}
	for _, r := range doc.Result {
		hits = append(hits, hit{fmt.Sprint(r.ID), r.Score, r.Payload.Text, r.Payload.Source})
	}
	for i := range doc.IDs {
		for j, id := range doc.IDs[i] {
			hits = append(hits, hit{id, doc.Distances[i][j], doc.Documents[i][j], doc.Metadatas[i][j].Source})
		}
	}
	for _, r := range doc.Hits.Hits {
		hits = append(hits, hit{r.ID, r.Score, r.Source.Text, r.Source.Source})
	}
	if doc.Hits.Total.Value != len(doc.Hits.Hits) {
		t.Errorf("%s: total %d of %d hits", path, doc.Hits.Total.Value, len(doc.Hits.Hits))
	}
	return hits
}

func pluck[T any](hits []hit, of func(hit) T) (all []T) {
	for _, h := range hits {
		all = append(all, of(h))
	}
	return all
}

// storeWire asks a store, with a query of its own each time.
func storeWire() wire {
	const path = "/collections/docs/points/search"
	whole := storeAnswers()[path]
	query := func(i int) string { return fmt.Sprintf(`{"vector":[1,%d],"limit":3,"score_threshold":0.5}`, i+2) }
	// One side is changed as a whole, the other not at all.
	seen := func(answer, asked bool) func(*sight) string {
		return func(s *sight) string {
			if s.err == nil && s.status == 200 && len(s.service) == 1 && (s.body != whole) == answer && strings.Contains(s.service[0], `"score_threshold":0.5}`) == !asked {
				return ""
			}
			return fmt.Sprintf("%v, status %d, the store was asked %q and answered %q", s.err, s.status, s.service, s.body)
		}
	}
	return wire{
		name: "store", path: path, body: query, rules: BuiltinRules(),
		answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, whole) },
		cases: []wireCase{
			{"empty", 0, seen(true, false)},
			{"rerank", 0, seen(true, false)},
			{"metadata", 0, seen(true, false)},
			{"threshold", 0, seen(false, true)},
			{"irrelevant", 0, seen(false, false)},
			{"embedding-drift", 0, seen(false, false)},
		},
	}
}

// TestHits: what each fault makes of the hits of each store.
func TestHits(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, storeAnswers()[r.URL.Path])
	}))
	defer service.Close()
	for path := range storeAnswers() {
		for flag, check := range map[string]func(before, after []hit) bool{
			"empty": func(_, after []hit) bool { return len(after) == 0 },
			"rerank": func(before, after []hit) bool {
				ids := pluck(after, func(h hit) string { return h.id })
				whole := slices.Equal(slices.Sorted(slices.Values(ids)), []string{"1", "2", "3"}) && !slices.IsSorted(ids)
				together := true // a document stays with its id
				for _, h := range after {
					together = together && h.document == []string{"one", "two", "three"}[h.id[0]-'1'] && h.source == string('a'+rune(h.id[0]-'1'))
				}
				score := func(h hit) float64 { return h.score }
				return whole && together && slices.Equal(pluck(before, score), pluck(after, score))
			},
			"metadata": func(before, after []hit) bool {
				text := func(h hit) string { return h.id + h.document }
				sources := pluck(after, func(h hit) string { return h.source })
				return slices.Equal(pluck(before, text), pluck(after, text)) && slices.Equal(sources, []string{"b", "c", "a"})
			},
		} {
			p, url := serveProxy(t, service.URL, 1, BuiltinRules(), "retrieval."+flag)
			s := ask(http.DefaultClient, url+path, "1", `{"vector":[1,2],"limit":3}`)
			before, after := readHits(t, path, storeAnswers()[path]), readHits(t, path, s.body)
			if s.err != nil || !check(before, after) || p.Report().Faults[0].Acted != 1 {
				t.Errorf("%s of %s: %v, hits %+v, acted %d", flag, path, s.err, after, p.Report().Faults[0].Acted)
			}
		}
	}
}

// queryStore keeps what it was asked.
func queryStore(t *testing.T) (asked *string, url string) {
	t.Helper()
	asked = new("")
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = string(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"result":[],"ids":[[]],"hits":{"hits":[]}}`)
	}))
	t.Cleanup(service.Close)
	return asked, service.URL
}

// TestQuery: what each fault makes of what a store is asked.
func TestQuery(t *testing.T) {
	asked, service := queryStore(t)
	for _, tt := range []struct{ flag, path, query, want string }{
		{"threshold", "/collections/docs/points/search", `{"vector":[1,2],"score_threshold":0.8}`, `{"vector":[1,2],"score_threshold":0.4}`},
		{"threshold,by=100%", "/docs/_search", `{"query":{},"min_score":2}`, `{"query":{},"min_score":0}`},
		{"irrelevant", "/docs/_search", `{"query":{"match":{"text":{"query":"who?"}}}}`, `{"query":{"match":{"text":{"query":"an unrelated question"}}}}`},
		{"irrelevant", "/docs/_search", `{"query":{"match":{"text":"who?"}}}`, `{"query":{"match":{"text":"an unrelated question"}}}`},
		{"threshold", "/collections/docs/points/search", `{"vector":[1,2]}`, `{"vector":[1,2]}`},
		{"irrelevant", "/elsewhere", `{"vector": [1, 2]}`, `{"vector": [1, 2]}`},
		{"irrelevant", "/collections/docs/points/search", `no json`, `no json`},
	} {
		p, url := serveProxy(t, service, 1, BuiltinRules(), tt.flag)
		ask(http.DefaultClient, url+tt.path, "1", tt.query)
		if acted := p.Report().Faults[0].Acted == 1; *asked != tt.want || acted != (tt.query != tt.want) {
			t.Errorf("%s of %s: asked %s, want %s; acted %v", tt.flag, tt.query, *asked, tt.want, acted)
		}
	}
}

// TestNearest: a query vector is found within Qdrant's forms of a query too.
func TestNearest(t *testing.T) {
	asked, store := queryStore(t)
	for path, query := range map[string]string{
		"query":       `{"query":{"nearest":[1,2]},"limit":3}`,
		"query/batch": `{"searches":[{"query":{"nearest":[1,2]}},{"query":{"nearest":[3,4]}}]}`,
	} {
		p, url := serveProxy(t, store, 1, BuiltinRules(), "irrelevant")
		ask(http.DefaultClient, url+"/collections/docs/points/"+path, "1", query)
		shape := func(s string) int { return strings.Count(s, `"nearest":[`) }
		if *asked == query || shape(*asked) != shape(query) || strings.Contains(*asked, "[1,2]") || strings.Contains(*asked, "[3,4]") || p.Report().Faults[0].Acted != 1 {
			t.Errorf("%s: asked %s", path, *asked)
		}
	}
}

// TestDrift: vectors move by 15 % of their length, wherever they stand, and an
// unrelated one is at right angles to the client's and as long.
func TestDrift(t *testing.T) {
	asked, store := queryStore(t)
	v := make([]float64, 64)
	for i := range v {
		v[i] = math.Sin(float64(i))
	}
	text, _ := json.Marshal(v)
	var query struct{ Vector []float64 }
	for flag, check := range map[string]func(moved, cosine, long float64) bool{
		"embedding-drift":        func(moved, _, _ float64) bool { return math.Abs(moved-0.15) < 1e-6 },
		"embedding-drift,l2=40%": func(moved, _, _ float64) bool { return math.Abs(moved-0.4) < 1e-6 },
		"irrelevant":             func(_, cosine, long float64) bool { return math.Abs(cosine) < 1e-5 && math.Abs(long-1) < 1e-5 },
	} {
		var first string
		for range 2 { // alike by the same seed
			_, url := serveProxy(t, store, 1, BuiltinRules(), flag)
			ask(http.DefaultClient, url+"/collections/docs/points/search", "1", `{"vector":`+string(text)+`}`)
			if first != "" && first != *asked {
				t.Errorf("%s: one seed asked %s and %s", flag, first, *asked)
			}
			first = *asked
		}
		if err := json.Unmarshal([]byte(first), &query); err != nil {
			t.Fatal(err)
		}
		if moved, cosine, long := compare(v, query.Vector); !check(moved, cosine, long) {
			t.Errorf("%s: moved by %v, cosine %v, length %v", flag, moved, cosine, long)
		}
	}
}

// compare says how far b is from a, by a's length; their cosine; and b's length
// by a's.
func compare(a, b []float64) (moved, cosine, long float64) {
	d, dot := make([]float64, len(a)), 0.0
	for i := range a {
		d[i] = b[i] - a[i]
		dot += a[i] * b[i]
	}
	return length(d) / length(a), dot / length(a) / length(b), length(b) / length(a)
}

// TestEmbeddings: the vectors of an embedding service's answer move, as numbers
// and as Base64, and nothing else does.
func TestEmbeddings(t *testing.T) {
	for name, vector := range map[string]string{
		"numbers": `[1,2,3,4]`,
		"base64":  `"AACAPwAAAEAAAEBAAACAQA=="`, // 1, 2, 3, 4 as float32
	} {
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"object":"list","data":[{"object":"embedding","index":0,"embedding":`+vector+`}],"model":"m","usage":{"prompt_tokens":3}}`)
		}))
		_, url := serveProxy(t, service.URL, 1, BuiltinRules(), "embedding-drift")
		s := ask(http.DefaultClient, url+"/v1/embeddings", "1", `{"input":"x"}`)
		service.Close()
		root, err := parseJSON([]byte(s.body))
		if err != nil {
			t.Fatal(err)
		}
		at := jsonPath{{name: "data", index: -1}, {index: 0}, {name: "embedding", index: -1}}.find(root)
		var got []float64
		if len(at) != 1 || !changeVector(at[0], func(v []float64) { got = slices.Clone(v) }) {
			t.Fatalf("%s: answer %s", name, s.body)
		}
		if moved, _, _ := compare([]float64{1, 2, 3, 4}, got); math.Abs(moved-0.15) > 1e-6 {
			t.Errorf("%s: moved by %v", name, moved)
		}
		if !strings.Contains(s.body, `"usage":{"prompt_tokens":3}`) {
			t.Errorf("%s: answer %s", name, s.body)
		}
	}
}

// TestOddAnswers: what is no answer of a store passes as it is.
func TestOddAnswers(t *testing.T) {
	for _, answer := range []string{
		`{"result":null}`, `{"result":[]}`, `{"result":[1,2]}`, `{"result":{"points":3}}`, `[]`, `"x"`, `<html>`, ``, `{"result":[{"payload":{}},{}]}`,
	} {
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
		for _, flag := range []string{"empty", "rerank", "metadata", "embedding-drift"} {
			_, url := serveProxy(t, service.URL, 1, BuiltinRules(), flag)
			s := ask(http.DefaultClient, url+"/collections/docs/points/search", "1", `{}`)
			if s.err != nil || s.status != 200 || flag == "metadata" && s.body != answer {
				t.Errorf("%s of %s: %d, %v, %s", flag, answer, s.status, s.err, s.body)
			}
		}
		service.Close()
	}
}

func TestBadRules(t *testing.T) {
	for _, tt := range []struct {
		rule  Rule
		field string
	}{
		{Rule{Path: "search", Hits: "$.result"}, "rules[0].path"},
		{Rule{Path: "/[", Hits: "$.result"}, "rules[0].path"},
		{Rule{Path: "/search"}, "rules[0].path"},
		{Rule{Path: "/search", Hits: "$.result["}, "rules[0].hits"},
		{Rule{Path: "/search", Hits: "$..x"}, "rules[0].hits"},
		{Rule{Path: "/search", Hits: "$.a", Columns: []string{"$.b"}}, "rules[0].columns"},
		{Rule{Path: "/search", Columns: []string{"$.a", ""}}, "rules[0].columns[1]"},
		{Rule{Path: "/search", QueryVector: "$.v[x]"}, "rules[0].query_vector"},
	} {
		var told *Error
		if err := CheckRules([]Rule{tt.rule}); !errors.As(err, &told) || told.Field != tt.field || told.Hint == "" {
			t.Errorf("%+v: %v, want an error of %s with a hint", tt.rule, err, tt.field)
		}
	}
	if err := CheckRules(BuiltinRules()); err != nil {
		t.Error(err)
	}
}

func TestPaths(t *testing.T) {
	root, err := parseJSON([]byte(`{"a":[{"b":1,"c d":2},{"b":3}],"e":{"x":4,"y":5},"":6}`))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"$.a[*].b": "1 3", "a[1].b": "3", "$.e.*": "4 5", `$.a[0]['c d']`: "2", "$.a[7].b": "", "$.nothing.b": "", "$['e'].x": "4", "$": root.String(),
	} {
		p, err := parsePath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		var got []string
		for _, n := range p.find(root) {
			got = append(got, n.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
	}
}

func (n *node) String() string { return string(n.append(nil)) }

// FuzzRules: whatever a store is asked and answers, a fault passes it on or
// makes JSON of it.
func FuzzRules(f *testing.F) {
	for path, answer := range storeAnswers() {
		f.Add(path, answer, `{"vector":[1,2],"score_threshold":0.5}`, "$.result[*].payload")
	}
	f.Add("/x", `{"result":[[1],[2]]}`, `{"query_embeddings":[[1,2]]}`, "$[*]")
	f.Add("/x", `[[0.5,"AACAPwAAAEA="],{"a":{"b":[1,2]}}]`, `[`, "$[0][1]")
	f.Add("/v1/embeddings", `{"data":[{"embedding":[1e308,-1e308]},{"embedding":"/////w=="}]}`, `{}`, "$.data")
	f.Fuzz(func(t *testing.T, path, answer, query, place string) {
		rules := append(BuiltinRules(), Rule{Path: "/*", Hits: place, Score: place, Metadata: place, Document: place, Total: place}, Rule{
			Path: "/*", QueryVector: place, QueryText: place, Threshold: place, Vectors: place,
		})
		if CheckRules(rules) != nil {
			return
		}
		for _, flag := range []string{"empty", "rerank", "metadata", "irrelevant", "threshold", "embedding-drift"} {
			in, err := New(t.Context(), Config{Faults: parseAll(t, flag), Rules: rules})
			if err != nil {
				t.Fatal(err)
			}
			in.base = answering(answer)
			req, err := http.NewRequest(http.MethodPost, "http://store/x", strings.NewReader(query))
			if err != nil {
				return
			}
			req.URL.Path = path
			x := &Exchange{ID: "1"}
			resp, err := in.Do(req, x)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(resp.Body)
			if string(got) != answer && !json.Valid(got) {
				t.Fatalf("%s made %q of %q", flag, got, answer)
			}
			if len(x.Faults()) == 0 && string(got) != answer {
				t.Fatalf("%s changed %q and did not say so", flag, answer)
			}
		}
	})
}

// answering is a service with one answer.
type answering string

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

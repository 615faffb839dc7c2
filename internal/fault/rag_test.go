package fault

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/sim"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/internal/twin"
)

// document is what the pipeline answers from.
type document struct {
	ID       int    `json:"id"`
	Question string `json:"question"`
	Text     string `json:"text"`
	Source   string `json:"source"`
}

func documents() (all []document) {
	for i, topic := range []string{
		"the gravity of the moon", "the boiling point of water", "the height of the eiffel tower", "the author of hamlet",
		"the capital of norway", "the speed of light", "the number of bones in a hand", "the colour of copper sulphate",
		"the length of the danube", "the inventor of the telephone", "the freezing point of mercury", "the largest desert",
	} {
		all = append(all, document{
			ID: i, Question: "what is " + topic, Text: fmt.Sprintf("fact %d is about %s", i, topic), Source: fmt.Sprintf("book %d", i),
		})
	}
	return all
}

// vectorStore is a small store that speaks Qdrant's search.
type vectorStore struct {
	docs    []document
	vectors [][]float64
}

type storePoint struct {
	ID      int      `json:"id"`
	Version int      `json:"version"`
	Score   float64  `json:"score"`
	Payload document `json:"payload"`
}

func (s *vectorStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Vector    []float64 `json:"vector"`
		Limit     int       `json:"limit"`
		Threshold *float64  `json:"score_threshold"`
	}
	if r.URL.Path != "/collections/facts/points/search" || json.NewDecoder(r.Body).Decode(&q) != nil {
		http.NotFound(w, r)
		return
	}
	var points []storePoint
	for i, v := range s.vectors {
		if score := cosine(q.Vector, v); q.Threshold == nil || score >= *q.Threshold {
			points = append(points, storePoint{ID: s.docs[i].ID, Score: score, Payload: s.docs[i]})
		}
	}
	slices.SortFunc(points, func(a, b storePoint) int { return cmp.Compare(b.Score, a.Score) })
	points = points[:min(len(points), q.Limit)]
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"result": points, "status": "ok", "time": 0.0})
}

func cosine(a, b []float64) float64 {
	dot := 0.0
	for i := range min(len(a), len(b)) {
		dot += a[i] * b[i]
	}
	return dot / length(a) / length(b)
}

// pipeline answers questions: by the store, else by the words that question and
// documents have in common, and says which.
type pipeline struct {
	embeddings, store string // base URLs
	docs              []document
	// least is the similarity from which a hit is believed.
	least   float64
	timeout time.Duration
}

// reply is what became of one question.
type reply struct {
	fallback string // why; "" = it did not fall back
	took     time.Duration
	doc      int
	source   string
	hits     int
}

func (p *pipeline) answer(ctx context.Context, number, question string) (r reply) {
	start := time.Now()
	defer func() { r.took = time.Since(start) }()
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	hits, err := p.retrieve(ctx, number, question)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		r.fallback = "timeout"
	case err != nil:
		r.fallback = "error"
	case len(hits) == 0:
		r.fallback = "nothing found"
	case hits[0].Score < p.least:
		r.fallback = "unlike"
	default:
		r.doc, r.source, r.hits = hits[0].ID, hits[0].Payload.Source, len(hits)
		return r
	}
	d := p.byWords(question)
	r.doc, r.source = d.ID, d.Source
	return r
}

func (p *pipeline) retrieve(ctx context.Context, number, question string) ([]storePoint, error) {
	vector, err := embed(ctx, p.embeddings, number, question)
	if err != nil {
		return nil, err
	}
	var found struct{ Result []storePoint }
	err = post(ctx, p.store+"/collections/facts/points/search", number, map[string]any{"vector": vector, "limit": 3, "score_threshold": 0.1}, &found)
	return found.Result, err
}

// byWords is the document that has most of the question's words.
func (p *pipeline) byWords(question string) document {
	words := strings.Fields(question)
	return slices.MaxFunc(p.docs, func(a, b document) int { return cmp.Compare(common(a.Text, words), common(b.Text, words)) })
}

func common(text string, words []string) (n int) {
	for w := range strings.FieldsSeq(text) {
		if slices.Contains(words, w) {
			n++
		}
	}
	return n
}

func embed(ctx context.Context, base, number, text string) ([]float64, error) {
	var got struct {
		Data []struct{ Embedding []float64 }
	}
	if err := post(ctx, base+"/v1/embeddings", number, map[string]any{"model": "m", "input": text}, &got); err != nil {
		return nil, err
	}
	if len(got.Data) != 1 || len(got.Data[0].Embedding) == 0 || math.IsNaN(length(got.Data[0].Embedding)) {
		return nil, errors.New("no vector")
	}
	return got.Data[0].Embedding, nil
}

func post(ctx context.Context, url, number string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.GetBody = nil
	req.Header.Set("X-Request-Id", number)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// ragCase is a fault between the pipeline and what it retrieves from, and what
// becomes of the exchanges that it falls on.
type ragCase struct {
	fault string
	// at the embeddings instead of the store
	embeddings bool
	fallback   string // "" = it is not noticed
	// right: the document, source: where it is said to come from.
	right, source bool
	// waits: the pipeline's timeout is what tells it.
	waits bool
}

// TestRAG: a pipeline with embeddings, a vector store and a fallback to words,
// our proxy in between: of each question, whether it fell back, why, in what
// time, and whether it answered right.
func TestRAG(t *testing.T) {
	testenv.Long(t)
	params := twin.DemoParams(1)
	params.ErrorRate = 0
	server, err := sim.New(sim.Config{Params: params, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	service := httptest.NewServer(server)
	t.Cleanup(service.Close)
	// The simulator's vectors are equal for equal texts and as good as at right
	// angles else, in 8 dimensions.
	rag(t, service.URL, 0.97, 3*time.Second)
}

// TestRAGReal is TestRAG with a real model's embeddings.
func TestRAGReal(t *testing.T) {
	testenv.Long(t)
	rag(t, testenv.Embeddings(t), 0.97, 10*time.Second)
}

// rag runs the cases; patience is how long the pipeline waits where that
// decides, so long that without a fault it need not.
func rag(t *testing.T, embeddings string, least float64, patience time.Duration) {
	store := &vectorStore{docs: documents()}
	for _, d := range store.docs {
		v, err := embed(t.Context(), embeddings, "", d.Question)
		if err != nil {
			t.Fatal(err)
		}
		store.vectors = append(store.vectors, v)
	}
	backend := httptest.NewServer(store)
	t.Cleanup(backend.Close)
	for _, tt := range []ragCase{
		{fault: "empty", fallback: "nothing found", right: true, source: true},
		{fault: "irrelevant", fallback: "nothing found", right: true, source: true},
		{fault: "rerank"},
		{fault: "metadata", right: true},
		{fault: "threshold,by=100%", right: true, source: true},
		{fault: "blackhole", fallback: "timeout", right: true, source: true, waits: true},
		{fault: "reset", fallback: "error", right: true, source: true},
		{fault: "http-5xx,status=503", fallback: "error", right: true, source: true},
		{fault: "bad-json", fallback: "error", right: true, source: true},
		{fault: "network.reset-peer", fallback: "error", right: true, source: true},
		{fault: "embedding-drift", embeddings: true, right: true, source: true},
		{fault: "embedding-drift,l2=100%", embeddings: true, fallback: "nothing found", right: true, source: true},
		{fault: "blackhole", embeddings: true, fallback: "timeout", right: true, source: true, waits: true},
	} {
		name := tt.fault
		if tt.embeddings {
			name += " of the embeddings"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pipeline{embeddings: embeddings, store: backend.URL, docs: store.docs, least: least, timeout: 2 * time.Minute}
			if tt.waits {
				p.timeout, p.docs = patience, p.docs[:6]
			}
			target := &p.store
			if tt.embeddings {
				target = &p.embeddings
			}
			proxy, url := serveProxy(t, *target, 5, BuiltinRules(), tt.fault+",share=50%")
			*target = url
			tt.run(t, &p, proxy)
		})
	}
}

func (tt *ragCase) run(t *testing.T, p *pipeline, proxy *Proxy) {
	var fell, wrong, astray, quick int
	var slowest, fallbacks time.Duration
	before := proxy.Report().Faults[0].Acted
	for i, d := range p.docs {
		r := p.answer(t.Context(), fmt.Sprint(i), d.Question)
		now := proxy.Report().Faults[0].Acted
		hit := now > before
		before = now
		slowest = max(slowest, r.took)
		if !hit {
			quick++
			if r.fallback != "" || r.doc != d.ID || r.source != d.Source {
				t.Errorf("question %d, which no fault fell on: %+v", i, r)
			}
			continue
		}
		if r.fallback != "" {
			fell++
			fallbacks += r.took
		}
		if r.doc != d.ID {
			wrong++
		}
		if r.source != d.Source {
			astray++
		}
		// The fault is noticed, or not, each time in the same way: "unlike" and
		// "nothing found" are one threshold seen by the pipeline or by the store.
		if noticed := r.fallback; noticed != tt.fallback && !(tt.fallback == "nothing found" && noticed == "unlike") {
			t.Errorf("question %d fell back by %q, want %q", i, noticed, tt.fallback)
		}
		if (r.doc == d.ID) != tt.right && tt.fault != "rerank" || (r.source == d.Source) != tt.source && tt.fault != "rerank" {
			t.Errorf("question %d: %+v", i, r)
		}
		if tt.waits && r.took < p.timeout {
			t.Errorf("question %d took %v, its timeout is %v", i, r.took, p.timeout)
		}
	}
	n := len(p.docs) - quick
	if n < 2 || quick < 2 {
		t.Errorf("%d of %d questions hit: want some, not all", n, len(p.docs))
	}
	if tt.fault == "rerank" && wrong == 0 {
		t.Error("every answer from a disturbed order was right")
	}
	t.Logf("%d of %d hit: %d fell back, in %v on average; %d wrong answers, %d wrong sources; slowest %v",
		n, len(p.docs), fell, (fallbacks / time.Duration(max(fell, 1))).Round(ms/10), wrong, astray, slowest.Round(ms))
}

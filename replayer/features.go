package replayer

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/internal/textstats"
	"github.com/lambdac/lambdac/trace"
)

const (
	// maxClustered answers of a level are put into clusters, maxVectors of the
	// run: comparing n answers takes n² steps and a kilobyte each.
	maxClustered = 128
	maxVectors   = 2048
	// maxWaiting answers wait for the tokenizer.
	maxWaiting = 256
	// steadyEvery is how often the one prompt of the steady state is asked.
	steadyEvery = 5 * time.Second
	// steadyTokens is the most that an answer to it may take.
	steadyTokens = 128
)

// features takes numbers from the answers to a share of the requests: tokens in
// keyed bins, repetition, and clusters of answers that are alike. The same
// recorded requests are taken at each level. Texts are looked at by one goroutine
// beside the sending, and dropped.
type features struct {
	share float64
	seed  uint64
	jobs  chan answerText
	ended chan struct{}

	mu      sync.Mutex
	settled sync.Cond // waiting == 0
	waiting int
	late    int64 // answers that the tokenizer was behind for
	// rows of the level, and those of the run that are still to be clustered.
	rows    []*trace.Features
	vectors []clustered
	ofLevel int
}

// answerText is one answer to be counted.
type answerText struct {
	row   *trace.Features
	due   int64
	texts [][]byte
}

// clustered is a row whose cluster is known at the end of the run.
type clustered struct {
	row    *trace.Features
	due    int64
	vector textstats.Vector
}

// newFeatures draws the run's key of the bins; nil where no features are taken.
func newFeatures(share float64, seed uint64) *features {
	if share == 0 {
		return nil
	}
	f := &features{share: share, seed: seed, jobs: make(chan answerText, maxWaiting), ended: make(chan struct{})}
	f.settled.L = &f.mu
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	mac := hmac.New(sha256.New, key)
	counter := textstats.NewCounter(func(id int) uint8 {
		mac.Reset()
		_, _ = mac.Write(binary.LittleEndian.AppendUint32(nil, uint32(id)))
		return mac.Sum(nil)[0]
	})
	go func() {
		defer close(f.ended)
		for a := range f.jobs {
			f.count(counter, a)
		}
	}()
	return f
}

// close ends the goroutine.
func (f *features) close() {
	if f != nil {
		close(f.jobs)
		<-f.ended
	}
}

// sampled reports whether a request's answer is looked at: by the recorded id, so
// that each level has answers to the same prompts.
func (f *features) sampled(it *item) bool {
	return f != nil && !it.warm && it.src.APIKind != trace.KindOpenAIEmbeddings &&
		unitFloat(mix(f.seed, hashString(it.src.RequestID), saltFeatures)) < f.share
}

// steady reports whether a request gives way to the prompt of the steady state,
// last asked at so much of its level.
func (f *features) steady(it *item, last *time.Duration) bool {
	if f == nil || it.warm || !conversational(it.src.APIKind) || plannedCancel(it.src) != nil || it.at < *last+steadyEvery {
		return false
	}
	*last = it.at
	return true
}

// steadyQuestion is asked again and again, at the temperature of the recorded
// request that it stands for.
var steadyQuestion = question{id: trace.ProbeSteady, prompt: "In about fifty words, explain to a new colleague what a load balancer does and why one is used."}

// again is the question of the steady state as a request of the kind of a record.
func (p *prompter) again(r *trace.Record) (prompt, error) {
	return p.put(r, steadyQuestion.prompt, steadyTokens, r.Temperature)
}

// take hands an exchange's answer over. Rows of questions with known answers are
// the record's already.
func (f *features) take(x *exchange) {
	asked := x.it.probe != nil
	if f == nil || !x.it.looked || asked && x.it.probe.id != trace.ProbeSteady {
		return
	}
	row := &trace.Features{RequestID: x.rec.RequestID, Level: x.rec.Level}
	if asked {
		row.ProbeID = new(trace.ProbeSteady)
	}
	a := answerText{row: row, due: x.rec.StartUnixNs}
	for _, t := range x.texts {
		if t.Kind == trace.ChunkText && len(t.Text) > 0 {
			a.texts = append(a.texts, slices.Clone(t.Text))
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows = append(f.rows, row)
	switch {
	case x.rec.Outcome != trace.OutcomeOK:
		row.Reason = new(trace.FeatureFailed)
		return
	case len(a.texts) == 0:
		row.Reason = new(trace.FeatureOpaque)
		return
	}
	select {
	case f.jobs <- a:
		f.waiting++
	default:
		f.late++
		row.Reason = new(trace.FeatureSampled)
	}
}

// count fills a row. It alone writes to it until waiting is lowered.
func (f *features) count(counter *textstats.Counter, a answerText) {
	stats, err := counter.Count(a.texts)
	var vector textstats.Vector
	if err == nil {
		stats.Fill(a.row)
		if a.row.ProbeID == nil && len(a.texts) == 1 {
			vector = textstats.Lexical(string(a.texts[0]))
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		a.row.Reason = new(trace.FeatureSampled)
	}
	if vector != nil && f.ofLevel < maxClustered && len(f.vectors) < maxVectors {
		f.ofLevel++
		f.vectors = append(f.vectors, clustered{a.row, a.due, vector})
	}
	if f.waiting--; f.waiting == 0 {
		f.settled.Broadcast()
	}
}

// flush writes the level's rows, once all of its answers have been counted, but
// for those that wait for their clusters.
func (f *features) flush(write func(*trace.Features) error) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.waiting > 0 {
		f.settled.Wait()
	}
	kept := make(map[*trace.Features]bool, len(f.vectors))
	for _, v := range f.vectors {
		kept[v.row] = true
	}
	rows := f.rows
	f.rows, f.ofLevel = nil, 0
	for _, row := range rows {
		if kept[row] {
			continue
		}
		if err := write(row); err != nil {
			return fmt.Errorf("%w: write features: %w", ErrOutput, err)
		}
	}
	return nil
}

// finish numbers the clusters by first appearance and writes what waited for them.
func (f *features) finish(write func(*trace.Features) error) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.SortStableFunc(f.vectors, func(a, b clustered) int { return cmp.Compare(a.due, b.due) })
	vectors := make([]textstats.Vector, len(f.vectors))
	for i, v := range f.vectors {
		vectors[i] = v.vector
	}
	for i, cluster := range textstats.Clusters(vectors) {
		row := f.vectors[i].row
		row.OutCluster, row.ClusterMethod = &cluster, new(textstats.MethodLexical)
		if row.Reason != nil && *row.Reason == trace.FeatureNoEmbedding {
			row.Reason = nil
		}
		if err := write(row); err != nil {
			return fmt.Errorf("%w: write features: %w", ErrOutput, err)
		}
	}
	f.vectors = nil
	return nil
}

// warnings tell what was not counted.
func (f *features) warnings() []string {
	if f == nil || f.late == 0 {
		return nil
	}
	return []string{fmt.Sprintf("features: %d answers were not counted: the tokenizer was behind", f.late)}
}

// knob says what is taken and asked.
func (f *features) knob() string {
	return fmt.Sprintf("features=%.3g of the answers, clusters %s; one prompt each %v of each level for the steady state", f.share, textstats.MethodLexical, steadyEvery)
}

// checkFeatures returns an ErrInput where the share makes no sense.
func (c *Config) checkFeatures() error {
	if !(c.Features >= 0 && c.Features <= 1) {
		return inputError("give --features a share such as 1/16 or 5%", "share %v of answers to take features of: out of range", c.Features)
	}
	return nil
}

// put is one message as a request of the kind of a record.
func (p *prompter) put(r *trace.Record, text string, tokens int32, temperature *float64) (prompt, error) {
	out := prompt{
		model: p.sentModel(r), intended: int64(len(text)/defaultBytesPerToken + 1), asIs: true,
		maxTokens: new(tokens),
		messages:  []trace.Message{{Role: trace.RoleUser, Bytes: int32(len(text))}}, count: 1,
	}
	out.words = out.intended
	out.repeated, out.followed = p.sent.take([]segment{{seed: mix(saltProbe, hashString(text)), words: out.words, returns: true}})
	var err error
	out.path, out.body, err = llmwire.Build(llmwire.Spec{
		Kind: r.APIKind, Model: out.model, Messages: []llmwire.Message{{Role: trace.RoleUser, Text: text}},
		Stream: r.Stream, IncludeUsage: r.Stream, MaxTokens: out.maxTokens, Temperature: temperature,
	})
	return out, err
}

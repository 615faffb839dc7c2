package sanitizer

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lambdac/lambdac/internal/leaktest"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

// The corpus plants secrets of every kind in every surrounding, place and
// encoding, cut at every kind of position where an answer is streamed. Its whole
// has about a million exchanges; the sample has each pair of two of these at
// least once.

// surroundings are what stands around a secret in a text.
var surroundings = []string{
	"%s", "my key is %s, thanks", "(%s)", "[%s]", "<%s>", "{%s}", "\"%s\"", "'%s'", "`%s`", "```\n%s\n```",
	"%s.", "%s!", "%s?", "%s; next", "a=%s&b=1", "export KEY=%s", "- %s\n- other", "\n%s\n", "\t%s\t", "# %s",
	"| %s | x |", "key:%s", "key: %s", "密钥是 %s。", "→%s←", "«%s»", "🔑 %s 🔑", "%s # gitleaks:allow", "<b>%s</b>", "%s\\n", "https://h.example/?q=%s",
}

// encodings are the forms in which a text with a secret is written into a
// place.
var encodings = []struct {
	name   string
	encode func(text string) string
}{
	{"plain", func(text string) string { return text }},
	{"JSON", func(text string) string {
		quoted, err := json.Marshal(map[string]any{"note": text, "n": 1})
		if err != nil {
			panic(err)
		}
		return string(quoted)
	}},
	{"base64 in JSON", func(text string) string {
		return `{"data":"` + base64.StdEncoding.EncodeToString([]byte(text)) + `"}`
	}},
}

// splits cut a text of an answer into pieces. from and to are where the secret
// is.
var splits = []func(text string, from, to int) []int32{
	func(string, int, int) []int32 { return nil },
	func(text string, _, _ int) []int32 {
		pieces := make([]int32, len(text))
		for i := range pieces {
			pieces[i] = 1
		}
		return pieces
	},
	func(text string, from, to int) []int32 { return cutAt(text, (from+to)/2) },
	func(text string, from, _ int) []int32 { return cutAt(text, from+1) },
	func(text string, _, to int) []int32 { return cutAt(text, to-1) },
	func(text string, from, to int) []int32 { return cutAt(text, from, to) },
	func(text string, from, to int) []int32 { return cutAt(text, from+3, from+4, (from+to)/2, to-2) },
}

// cutAt are the lengths of the pieces between cuts.
func cutAt(text string, cuts ...int) (pieces []int32) {
	last := 0
	for _, at := range append(cuts, len(text)) {
		at = min(max(at, last), len(text))
		pieces = append(pieces, int32(at-last))
		last = at
	}
	return pieces
}

// inStream puts a text into a streamed answer.
func inStream(name string, kind trace.ChunkKind) place {
	return place{"stream " + name, func(x *trace.Exchange, v string) {
		text := v
		if kind == trace.ChunkToolArgs {
			quoted, err := json.Marshal(v)
			if err != nil {
				panic(err)
			}
			text = `{"k":` + string(quoted) + `}`
		}
		x.Answer = []trace.AnswerText{{Kind: kind, Text: []byte(text)}}
	}}
}

func corpusPlaces() []place {
	return append(plantedPlaces(), inStream("text", trace.ChunkText), inStream("reasoning", trace.ChunkReasoning),
		inStream("refusal", trace.ChunkRefusal), inStream("tool arguments", trace.ChunkToolArgs))
}

// planting is one exchange of the corpus, by numbers.
type planting struct{ kind, surrounding, place, encoding, split int }

// pairwise yields plantings in which each two of kind, surrounding, place,
// encoding and split meet.
func pairwise(kinds, places int, yield func(planting)) {
	for p := range places {
		for k := range kinds {
			yield(planting{k, (p + k) % len(surroundings), p, (p + 2*k + k/3) % len(encodings), (3*p + k + k/7) % len(splits)})
		}
	}
}

// whole yields all plantings: splits only where something can be split.
func whole(kinds int, places []place, yield func(planting)) {
	for p := range places {
		for k := range kinds {
			for s := range surroundings {
				for e := range encodings {
					for cut := range splits {
						if cut == 0 || strings.HasPrefix(places[p].name, "stream ") {
							yield(planting{k, s, p, e, cut})
						}
					}
				}
			}
		}
	}
}

func TestSampleIsPairwise(t *testing.T) {
	kinds, places := len(plantedKinds()), len(corpusPlaces())
	sizes := []int{kinds, len(surroundings), places, len(encodings), len(splits)}
	if kinds < 40 || len(surroundings) < 25 || places < 100 {
		t.Errorf("%d kinds, %d surroundings, %d places", kinds, len(surroundings), places)
	}
	seen := make(map[[4]int]bool)
	pairwise(kinds, places, func(p planting) {
		at := []int{p.kind, p.surrounding, p.place, p.encoding, p.split}
		for i := range at {
			for j := range i {
				seen[[4]int{i, at[i], j, at[j]}] = true
			}
		}
	})
	want := 0
	for i := range sizes {
		for j := range i {
			want += sizes[i] * sizes[j]
		}
	}
	if len(seen) != want {
		t.Errorf("%d of %d pairs", len(seen), want)
	}
}

// What goes past the sanitizer is noticed, in each encoding.
func TestCorpusNoticesASurvivor(t *testing.T) {
	c := newCorpus(4)
	for k, kind := range c.kinds {
		for e := range encodings {
			_, secret := c.plant(planting{k, e, 0, e, 0})
			leak := chat(1, 0, "").Record
			leak.Bodies = []trace.Body{{Body: []byte(encodings[e].encode("my key is " + secret + ", thanks"))}}
			if survivors([]byte(dump(t, leak)), kind.name, secret) == nil {
				t.Errorf("%s as %s is not noticed", kind.name, encodings[e].name)
			}
		}
	}
}

// corpus makes exchanges and knows what was planted in them.
type corpus struct {
	r      *rand.Rand
	kinds  []kind
	places []place
	n      uint64
}

func newCorpus(seed uint64) *corpus {
	return &corpus{r: rand.New(rand.NewPCG(seed, 7)), kinds: plantedKinds(), places: corpusPlaces()}
}

// plant makes one exchange with a secret in it.
func (c *corpus) plant(p planting) (x *trace.Exchange, secret string) {
	c.n++
	secret = c.kinds[p.kind].make(c.r)
	text := encodings[p.encoding].encode(strings.ReplaceAll(surroundings[p.surrounding], "%s", secret))
	x = chat(c.n, int64(c.n)*1e6, messages("hello"))
	c.places[p.place].put(x, text)
	if len(x.Answer) == 1 && x.Answer[0].PieceBytes == nil && strings.HasPrefix(c.places[p.place].name, "stream ") {
		answer := string(x.Answer[0].Text)
		from, to := where(answer, secret)
		x.Answer[0].PieceBytes = splits[p.split](answer, from, to)
	}
	return x, secret
}

// where is the place of a secret in a text, or of the encoded text that has it.
func where(text, secret string) (from, to int) {
	if at := strings.Index(text, secret); at >= 0 {
		return at, at + len(secret)
	}
	return len(text) / 4, len(text) * 3 / 4
}

func (c *corpus) name(p planting) string {
	return fmt.Sprintf("%s in %q in %s as %s, cut %d", c.kinds[p.kind].name, surroundings[p.surrounding], c.places[p.place].name, encodings[p.encoding].name, p.split)
}

// promised reports whether a mode promises that a secret is gone.
func (c *corpus) promised(mode trace.Mode, p planting) bool {
	return mode != trace.ModeRedact || !c.kinds[p.kind].blind
}

// secretsOf are the parts of a secret that must not be left: where it is a name
// and a value, the value.
func secretsOf(kind, value string) []string {
	switch kind {
	case "Bearer ", "basic":
		_, value, _ = strings.Cut(value, " ")
	case "azure", "password":
		_, value, _ = strings.Cut(value, "=")
	case "url credentials":
		_, value, _ = strings.Cut(strings.TrimPrefix(value, "postgres://"), ":")
		value, _, _ = strings.Cut(value, "@")
	case "pem":
		_, value, _ = strings.Cut(value, "\n")
	case "home path":
		value = strings.Split(value, "/")[2]
	}
	return []string{value}
}

// survivors are the spellings of a secret that are in text.
func survivors(text []byte, kind, secret string) (found []string) {
	for _, part := range secretsOf(kind, secret) {
		for _, form := range spellings(part) {
			if bytes.Contains(text, form) {
				found = append(found, string(form))
			}
		}
	}
	return found
}

// run sanitizes plantings and fails for each secret that is left. It stops
// after ten.
func (c *corpus) run(t *testing.T, mode trace.Mode, yield func(func(planting))) (n int) {
	t.Helper()
	out := &memory{}
	s := start(t, Config{Key: testKey, Mode: mode, FeatureShare: 1e-9}, out)
	s.targets.seen = everyTarget()
	failed := 0
	yield(func(p planting) {
		if failed >= 10 {
			return
		}
		x, secret := c.plant(p)
		if err := s.Take(x); err != nil {
			t.Fatal(err)
		}
		n++
		if len(out.records) != 1 {
			t.Fatalf("%s: %s: %d records", mode, c.name(p), len(out.records))
		}
		rec := out.records[0]
		out.records = out.records[:0]
		if left := survivors([]byte(dump(t, rec)), c.kinds[p.kind].name, secret); left != nil && c.promised(mode, p) {
			failed++
			t.Errorf("%s: %s: %q is left", mode, c.name(p), left)
		}
		for _, b := range rec.Bodies {
			if b.Kind == trace.ChunkNotSet && !json.Valid(b.Body) || !utf8.Valid(b.Body) {
				t.Errorf("%s: %s: a %s that cannot be read", mode, c.name(p), b.Side)
			}
		}
	})
	return n
}

var corpusModes = []trace.Mode{trace.ModeShape, trace.ModeFiller, trace.ModeRedact}

// TestCorpus: no secret of the sample is left in any mode.
func TestCorpus(t *testing.T) {
	testenv.Long(t)
	for _, mode := range corpusModes {
		c := newCorpus(1)
		c.run(t, mode, func(yield func(planting)) { pairwise(len(c.kinds), len(c.places), yield) })
	}
}

// TestCorpusCalibrated is TestCorpus for all plantings.
func TestCorpusCalibrated(t *testing.T) {
	testenv.Calibration(t)
	for _, mode := range corpusModes {
		t.Run(string(mode), func(t *testing.T) {
			c := newCorpus(2)
			t.Logf("%d exchanges", c.run(t, mode, func(yield func(planting)) { whole(len(c.kinds), c.places, yield) }))
		})
	}
}

// TestCorpusOnDisk writes a part of the sample and searches every file, after
// decoding, for every secret in it; then again what comes of it in the stricter
// modes.
func TestCorpusOnDisk(t *testing.T) {
	testenv.Long(t)
	for _, mode := range corpusModes {
		c := newCorpus(3)
		cfg := Config{Key: testKey, Mode: mode, FeatureShare: 1e-9}
		dir := filepath.Join(t.TempDir(), "trace")
		w := create(t, dir, cfg)
		s := start(t, cfg, w)
		s.targets.seen = everyTarget()
		var needles [][]byte
		var of []string
		n := 0
		pairwise(len(c.kinds), len(c.places), func(p planting) {
			if n++; n%3 != 0 {
				return
			}
			x, secret := c.plant(p)
			if err := s.Take(x); err != nil {
				t.Fatal(err)
			}
			for _, part := range secretsOf(c.kinds[p.kind].name, secret) {
				for _, form := range spellings(part) {
					if c.promised(mode, p) {
						needles, of = append(needles, form), append(of, c.name(p))
					}
				}
			}
		})
		if err := s.Window(&trace.CaptureWindow{Source: "pcap", WindowNs: 1e9, ExchangesSeen: int64(c.n)}); err != nil {
			t.Fatal(err)
		}
		closeAll(t, s, w)
		hits, err := leaktest.Find(dir, needles)
		if err != nil {
			t.Fatal(err)
		}
		for _, hit := range hits[:min(10, len(hits))] {
			t.Errorf("%s: %s: %s", mode, of[hit.Needle], hit)
		}
	}
}

package sanitizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/trace"
)

// The word lists of which texts are made.
var (
	english = strings.Fields(`the service answered slowly because another tenant had sent many long prompts and nobody noticed
		until customers complained; their reports named Katherine, Hamburg and invoice 48213 while engineers compared
		latency, throughput, queueing delay and prefill work across several machines before deploying a different scheduler`)
	codes = []string{
		"func (s *Server) Serve(ctx context.Context) error {\n", "\treturn fmt.Errorf(\"read %q: %w\", name, err)\n", "}\n\n",
		"if request.headers['X-Tenant'] != expected:\n", "    raise PermissionError(user_name)\n", "SELECT id, email FROM accounts WHERE created_at > '2024-01-01';\n",
		"const limit = 4096 // bytes\n", "std::vector<std::string> names{\"alpha\", \"beta\"};\n", "export default async function handler(req, res) {\n",
		"{\"name\": \"value\", \"list\": [1, 22, 333, 4444]}\n", "docker run --rm -it -p 8080:80 nginx:latest\n", "x = [i**2 for i in range(10)]\n",
	}
)

// sample is a text of one kind, 5 to 80 parts long.
func sample(r *rand.Rand, kind string) string {
	var b strings.Builder
	for range 5 + r.IntN(76) {
		switch kind {
		case "english":
			b.WriteString(english[r.IntN(len(english))] + []string{" ", " ", " ", ", ", ".\n"}[r.IntN(5)])
		case "chinese": // the common part of the block, with its punctuation
			b.WriteRune(rune(0x4e00 + r.IntN(0x5200)))
			if r.IntN(12) == 0 {
				b.WriteString([]string{"，", "。", "、", "：", "\n"}[r.IntN(5)])
			}
		case "code":
			b.WriteString(codes[r.IntN(len(codes))])
		default:
			b.WriteString([]string{english[r.IntN(len(english))], " ", string(rune(0x4e00 + r.IntN(0x5200))), codes[r.IntN(len(codes))], "😀", "12345", "\t", "é", "Ω", "'s"}[r.IntN(10)])
		}
	}
	return b.String()
}

var sampleKinds = []string{"english", "chinese", "code", "mixed"}

// pair of texts that share a prefix.
type samplePair struct{ kind, one, two string }

// samplePairs are 10,000 texts, each two with a beginning in common.
func samplePairs() (pairs []samplePair) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 5000 {
		kind := sampleKinds[i%len(sampleKinds)]
		shared := sample(r, kind)
		pairs = append(pairs, samplePair{kind, shared + sample(r, kind), shared + sample(r, kind)})
	}
	return pairs
}

// TestFillerKeepsTheLoad is the proof of the filler: of 10,000 texts under both
// vocabularies the counts are exact, pairs have as many blocks of 16 tokens in
// common as before, and no word of four letters or more is left.
func TestFillerKeepsTheLoad(t *testing.T) {
	pairs := samplePairs()
	for _, name := range []string{tokens.CL100K, tokens.O200K} {
		f := fillerOf(t, testKey, name)
		voc := f.voc
		var before, after, blocks int
		for i, p := range pairs {
			one, two := fillChat(t, f, p.one), fillChat(t, f, p.two)
			for text, filled := range map[string]string{p.one: one, p.two: two} {
				if want, got := voc.Count([]byte(text)), voc.Count([]byte(filled)); want != got {
					t.Fatalf("%s, %s text %d: %d tokens became %d", name, p.kind, i, want, got)
				}
				if w := longWord.FindString(filled); w != "" {
					t.Fatalf("%s, %s text %d: %q in the filler", name, p.kind, i, w)
				}
			}
			b, n := commonBlocks(voc, p.one, p.two)
			a, _ := commonBlocks(voc, one, two)
			before, after, blocks = before+b, after+a, blocks+n
			if a != b {
				t.Fatalf("%s, %s pair %d: %d common blocks became %d", name, p.kind, i, b, a)
			}
		}
		if before == 0 || before != after {
			t.Errorf("%s: %d of %d blocks in common, after %d", name, before, blocks, after)
		}
		t.Logf("%s: 10,000 counts exact, %d of %d blocks in common before and after", name, before, blocks)
	}
}

func fillerOf(t *testing.T, key []byte, vocabulary string) *filler {
	t.Helper()
	keys, err := newKeyring(key)
	if err != nil {
		t.Fatal(err)
	}
	f := newFiller(keys)
	if f.voc, err = tokens.Load(vocabulary); err != nil {
		t.Fatal(err)
	}
	return f
}

// fillChat is the filler of a text as the only message of a chat.
func fillChat(t *testing.T, f *filler, text string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"messages": []map[string]string{{"role": "user", "content": text}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.begin(trace.KindOpenAIChat, body, new([hashSize]byte)); err != nil {
		t.Fatal(err)
	}
	return textIn(t, f, text)
}

// commonBlocks is the number of leading blocks of 16 tokens that two texts
// share, and of all in the first.
func commonBlocks(voc *tokens.Vocabulary, one, two string) (common, all int) {
	a, b := tokenIDs(voc, one), tokenIDs(voc, two)
	all = len(a) / blockTokens
	for n := blockTokens; n <= min(len(a), len(b)) && slices.Equal(a[:n], b[:n]); n += blockTokens {
		common++
	}
	return common, all
}

func tokenIDs(voc *tokens.Vocabulary, text string) (ids []int) {
	voc.Visit([]byte(text), func(id, _ int) { ids = append(ids, id) })
	return ids
}

// longWord is what filler never has: so no word of four letters or more of any
// text is in it.
var longWord = regexp.MustCompile(`\pL{4}`)

// trace.md §8 case 23: two requests share 340 tokens.
func TestFillerSharesWholeBlocks(t *testing.T) {
	f := fillerOf(t, testKey, tokens.CL100K)
	shared := strings.TrimSuffix(strings.Repeat("alpha beta ", 170), " ")
	if n := f.voc.Count([]byte(shared)); n != 340 {
		t.Fatalf("%d tokens, want 340", n)
	}
	one, two := strings.Fields(fillChat(t, f, shared+" gamma ray burst")), strings.Fields(fillChat(t, f, shared+" delta airline desk"))
	same := 0
	for same < len(one) && one[same] == two[same] {
		same++
	}
	if same < 21*blockTokens || same > 21*blockTokens+2 {
		t.Errorf("%d words are equal, want the 336 of 21 blocks", same)
	}
}

// Equal values are equal inside a trace and differ across traces.
func TestFillerIsKeyed(t *testing.T) {
	here, there := fillerOf(t, testKey, tokens.O200K), fillerOf(t, bytes.Repeat([]byte{9}, 32), tokens.O200K)
	text := "Katherine lives in Hamburg, her invoice is 48213"
	a, b := textIn(t, here, text), textIn(t, here, text)
	if a != b || a == textIn(t, there, text) {
		t.Errorf("%q, then %q", a, b)
	}
	name := here.name(nil, []byte("customer_ssn"))
	if !bytes.Equal(name, here.name(nil, []byte("customer_ssn"))) || !regexp.MustCompile(`^[a-z_]{5,64}$`).Match(name) {
		t.Errorf("name %q", name)
	}
	n := here.number(nil, nil, []byte("-4111111111.50e+10"))
	if !regexp.MustCompile(`^-[1-9][0-9]{9}\.[0-9]{2}e\+10$`).Match(n) {
		t.Errorf("number %s", n)
	}
}

// The pieces of a streamed answer keep their tokens.
func TestFillerCutsAnswers(t *testing.T) {
	f := fillerOf(t, testKey, tokens.O200K)
	text := "The answer is forty-two, says Katherine of Hamburg."
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		pieces, ids := cutRandomly(r, len(text)), 0
		out, cuts := f.answer([]byte(text), pieces)
		if len(cuts) != len(pieces) || sum(cuts) != len(out) {
			t.Fatalf("%v of %d bytes became %v of %d", pieces, len(text), cuts, len(out))
		}
		at, from := 0, 0
		for i := range pieces {
			at += int(pieces[i])
			want := 0
			size := 0
			f.voc.Visit([]byte(text), func(_, n int) {
				if size += n; size <= at {
					want++
				}
			})
			got := len(strings.Fields(string(out[from : from+int(cuts[i])])))
			if ids+got != want {
				t.Fatalf("piece %d of %v: %d tokens end there, %d words", i, pieces, want, ids+got)
			}
			ids, from = want, from+int(cuts[i])
		}
	}
}

// cutRandomly cuts n bytes into pieces, empty ones among them.
func cutRandomly(r *rand.Rand, n int) (pieces []int32) {
	for n > 0 {
		size := min(n, r.IntN(9))
		pieces = append(pieces, int32(size))
		n -= size
	}
	return pieces
}

func sum(list []int32) (n int) {
	for _, v := range list {
		n += int(v)
	}
	return n
}

func BenchmarkFiller(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	keys, err := newKeyring(testKey)
	if err != nil {
		b.Fatal(err)
	}
	f := newFiller(keys)
	if f.voc, err = tokens.Load(tokens.O200K); err != nil {
		b.Fatal(err)
	}
	for _, kind := range sampleKinds {
		var text strings.Builder
		for text.Len() < 16<<10 {
			text.WriteString(sample(r, kind))
		}
		body := fmt.Appendf(nil, `{"messages":[{"role":"user","content":%s}]}`, mustJSON(text.String()))
		b.Run(kind, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			var out []byte
			for b.Loop() {
				if _, err := f.begin(trace.KindOpenAIChat, body, new([hashSize]byte)); err != nil {
					b.Fatal(err)
				}
				out, _ = f.text(out[:0], nil, []byte(text.String()))
			}
		})
	}
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

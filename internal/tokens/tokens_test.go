package tokens

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

var encodings = []string{"cl100k_base", "o200k_base"}

const prose = "The quick brown fox jumps over the lazy dog, and (so they say) it isn't 12345 years old.\n\n\tfunc main() { return x->y; }\r\n  Grüße aus Köln — 你好，世界! "

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		cl, o      int
	}{
		{"empty", "", 0, 0},
		// github.com/openai/tiktoken, README: "tiktoken is great!" has 6 tokens.
		{"tiktoken's example", "tiktoken is great!", 6, 6},
		// cases.md 11
		{"special token as text", "<|endoftext|>", 7, 7},
		{"a word", " hello", 1, 1},
	} {
		for enc, want := range map[string]int{"cl100k_base": tt.cl, "o200k_base": tt.o} {
			if got, err := countTokens(enc, []byte(tt.text)); err != nil || got != want {
				t.Errorf("%s under %s: %d, %v, want %d", tt.name, enc, got, err, want)
			}
		}
	}
}

func TestCountUnknownVocabulary(t *testing.T) {
	if _, err := countTokens("gpt9_base", []byte("x")); err == nil || !strings.Contains(err.Error(), "cl100k_base") {
		t.Errorf("error %v does not say what to use", err)
	}
}

func TestEncodeOddText(t *testing.T) {
	for _, text := range []string{
		"explain <|endoftext|> and <|im_start|>", "\xff\xfe\x80", strings.Repeat("\xff", 2100), strings.Repeat("\x80", 2100),
		"\x00", strings.Repeat(" ", 2100), strings.Repeat("\n", 2100), "e\u0301" + strings.Repeat("\u0301", 1100), "👩‍👩‍👧",
	} {
		if n, cut, err := Encode("o200k_base", []byte(text), func(int) {}); err != nil || n == 0 || cut {
			t.Errorf("%.20q: %d, %v, %v", text, n, cut, err)
		}
	}
}

// oracle is another implementation of the vocabularies, by regular expressions.
func oracle(tb testing.TB, name string) *tiktoken.Tiktoken {
	tb.Helper()
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	v, err := tiktoken.GetEncoding(name)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// scripts are runs from which texts are put together.
var scripts = []string{
	"The quick brown fox", " jumps", "isn't", "I'LL", "we'VE", "'s", "'", "don'tcha", "HTTPServer", "camelCase", "ǅungla", "ʰa", "ªb", "Aʰ",
	"你好，世界", "漢字文", "こんにちは", "안녕하세요", "Привет мир", "العربية", "हिन्दी", "ไทย", "e\u0301", "\u0301", "A\u0301\u0301b", "\u0301A",
	"12345", " 7", "٣٤٥٦", "½", "Ⅷ", " ", "  ", "   ", "\t", "\n", "\r\n", " \n ", "\n\n  \n", "\u00a0", "\u3000", "\u2028", "\u0085", "\u200b",
	"!", "...", "->", "//", "/\n/", "{}\n", " (", ")/", "::", "#include <x>", "👩‍👩‍👧", "🏳️‍🌈", "\ufffd", "<|endoftext|>", "ſ", "'ſ", "K",
	"func main() {\n\treturn x->y;\n}", "https://example.org/a/b?c=d&e=%20f", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
}

// Texts of every script have the tokens that the other implementation gives
// them, one for one.
func TestVisitAgreesWithTiktoken(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, enc := range encodings {
		v, err := Load(enc)
		if err != nil {
			t.Fatal(err)
		}
		other := oracle(t, enc)
		for range 5000 {
			var text []byte
			for range 1 + r.IntN(12) {
				text = append(text, scripts[r.IntN(len(scripts))]...)
			}
			var got []int
			size := 0
			v.Visit(text, func(id, n int) { got, size = append(got, id), size+n })
			if diff := cmp.Diff(other.EncodeOrdinary(string(text)), got); diff != "" || size != len(text) {
				t.Fatalf("%s of %q (-tiktoken +ours), %d of %d bytes:\n%s", enc, text, size, len(text), diff)
			}
		}
	}
}

// A long piece has the same tokens however small the windows are in which it is
// merged; those too small to hold a token double.
func TestMergeLong(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, enc := range encodings {
		v, err := Load(enc)
		if err != nil {
			t.Fatal(err)
		}
		other := oracle(t, enc)
		for _, alphabet := range []string{"a", "ab", "abcdefghijklmnopqrstuvwxyz", "的一是不了人我在有他这", "=-", "=", "aA", "ส", "\u0301e"} {
			runes := []rune(alphabet)
			for _, most := range []int{100, 100, 100, 100, 1000, 1000, 3000} {
				text := make([]rune, most/2+r.IntN(most/2))
				for i := range text {
					text[i] = runes[r.IntN(len(runes))]
				}
				want := other.EncodeOrdinary(string(text))
				for _, size := range []int{window, 2 * maxToken, maxToken + 8, 16} {
					var got []int
					m := merger{t: v.tokens}
					for rest := []byte(string(text)); len(rest) > 0; {
						n := v.split(rest)
						m.merge(rest[:n], size, func(id, _ int) { got = append(got, id) })
						rest = rest[n:]
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("%s of %q in windows of %d (-tiktoken +ours):\n%s", enc, string(text), size, diff)
					}
				}
			}
		}
	}
}

// A list of tokens that is none is refused.
func TestVocabularyIsChecked(t *testing.T) {
	for name, list := range map[string]string{
		"nothing": "", "no rank": "YQ==\n", "no base64": "%% 0\n", "another order": "YQ== 1\n", "an empty token": " 0\n",
		"bytes missing": "YQ== 0\nYg== 1\n", "a huge token": strings.Repeat("YWFh", 43) + " 0\n",
	} {
		if _, err := newTable([]byte(list)); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

func TestForModel(t *testing.T) {
	for model, want := range map[string]string{
		"gpt-4": CL100K, "gpt-4-0613": CL100K, "gpt-4o-mini": O200K, "gpt-4.1": O200K, "gpt-3.5-turbo": CL100K,
		"openai/gpt-4": CL100K, "text-embedding-3-small": CL100K, "o3": O200K, "Qwen/Qwen3-8B": O200K, "": O200K,
	} {
		if got := ForModel(model); got != want {
			t.Errorf("ForModel(%q) = %s, want %s", model, got, want)
		}
	}
}

func TestEncodeCut(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		cut        bool
	}{
		{"64 kB", strings.Repeat("word ", maxText/5), false},
		{"more", strings.Repeat("word ", maxText/4), true},
		{"30,000 Han characters", strings.Repeat("漢字文", 10_000), true},
		{"100,000 letters", strings.Repeat("abcdefghij", 10_000), true},
	} {
		var got int
		n, cut, err := Encode("o200k_base", []byte(tt.text), func(int) { got++ })
		if err != nil || cut != tt.cut || n != got || n == 0 {
			t.Errorf("%s: n %d (visited %d), cut %v, %v; want cut %v", tt.name, n, got, cut, err, tt.cut)
		}
	}
}

func TestEncodeConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if n, err := countTokens(encodings[i%2], []byte("a b c")); err != nil || n != 3 {
				t.Error(n, err)
			}
		})
	}
	wg.Wait()
}

func FuzzEncode(f *testing.F) {
	f.Add([]byte(prose))
	f.Add([]byte("<|endoftext|>\xff\u2028" + strings.Repeat("漢", 700)))
	f.Add([]byte(strings.Repeat(" \n", 1100)))
	f.Fuzz(func(t *testing.T, text []byte) {
		visited := 0
		n, cut, err := Encode("cl100k_base", text, func(int) { visited++ })
		if err != nil || n != visited || (n == 0) != (len(text) == 0) || cut != (len(text) > maxText) {
			t.Errorf("n %d, visited %d, cut %v, %v of %d bytes", n, visited, cut, err, len(text))
		}
		if n > len(text) {
			t.Errorf("%d tokens of %d bytes", n, len(text))
		}
	})
}

// The time per byte must be the same in each row of a text.
func BenchmarkCount(b *testing.B) {
	for _, tt := range []struct{ name, unit string }{
		{"prose", prose},
		{"letters", "abcdefghij"}, // 100,000 without a blank: cut at 64 kB
		{"han", "漢字文"},
		{"blanks", " "},
	} {
		for _, size := range []int{4 << 10, 16 << 10, 64 << 10} {
			text := []byte(strings.Repeat(tt.unit, size/len(tt.unit)))
			b.Run(fmt.Sprintf("%s/%dk", tt.name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				if _, err := countTokens("o200k_base", []byte("x")); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if _, err := countTokens("o200k_base", text); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := load(O200K, splitO200K); err != nil {
			b.Fatal(err)
		}
	}
}

func countTokens(enc string, text []byte) (int, error) {
	n, _, err := Encode(enc, text, func(int) {})
	return n, err
}

package tokens

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// Pieces that end before a blank give the tokens of the whole.
func TestEncodePieces(t *testing.T) {
	text := strings.Repeat(prose, 60)
	for _, enc := range encodings {
		v, err := vocabulary(enc)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		n, cut, err := Encode(enc, []byte(text), func(id int) { got = append(got, id) })
		if err != nil || cut || n != len(got) {
			t.Fatal(n, cut, err)
		}
		if diff := cmp.Diff(v.EncodeOrdinary(text), got); diff != "" {
			t.Errorf("%s (-whole +pieces):\n%s", enc, diff)
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

func TestPieceEnd(t *testing.T) {
	letters := strings.Repeat("x", 3000)
	for _, tt := range []struct {
		name, text string
		want       int
	}{
		{"short", "a b", 3},
		{"before the last blank", letters[:2000] + " " + letters[:40] + " " + letters, 2041},
		{"not inside a run of blanks", letters[:2000] + "   " + letters, 2000},
		{"not after a line end", letters[:100] + " " + letters[:1000] + "\n " + letters, 100},
		{"no blank", letters, maxPiece},
		{"rune border", "x" + strings.Repeat("漢", 1000), maxPiece - 1},
		{"no UTF-8", strings.Repeat("\x80", 3000), maxPiece},
	} {
		if got := pieceEnd([]byte(tt.text)); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
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
		// A byte that is no UTF-8 becomes three.
		if n > 3*len(text) {
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
		if _, err := load("o200k_base"); err != nil {
			b.Fatal(err)
		}
	}
}

func countTokens(enc string, text []byte) (int, error) {
	n, _, err := Encode(enc, text, func(int) {})
	return n, err
}

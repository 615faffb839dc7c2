package tokens

import (
	"slices"
	"strings"
	"testing"

	loader "github.com/pkoukk/tiktoken-go-loader"
)

func TestWordsAreOneToken(t *testing.T) {
	if len(Words()) < 512 || !slices.IsSorted(Words()) {
		t.Errorf("%d words, sorted %v", len(Words()), slices.IsSorted(Words()))
	}
	for _, name := range []string{"cl100k_base", "o200k_base", "p50k_base", "r50k_base"} {
		ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range Words() {
			if _, ok := ranks[w]; !ok || w[0] != ' ' {
				t.Errorf("%q is no token of %s with a leading blank", w, name)
			}
		}
	}
}

// A text of words has as many tokens as words, in any order.
func TestWordsAdd(t *testing.T) {
	for _, enc := range encodings {
		for _, order := range []struct {
			name string
			step int
		}{{"in order", 1}, {"shuffled", 997}} {
			var text strings.Builder
			for i := range Words() {
				text.WriteString(Words()[i*order.step%len(Words())])
			}
			n, cut, err := Encode(enc, []byte(text.String()), func(int) {})
			if err != nil || cut || n != len(Words()) {
				t.Errorf("%s under %s: %d tokens of %d words (cut %v, %v)", order.name, enc, n, len(Words()), cut, err)
			}
		}
	}
}

// Short words are one token however they are joined.
func TestShortWordsAdd(t *testing.T) {
	if len(Short()) < 400 || !slices.IsSorted(Short()) {
		t.Errorf("%d words, sorted %v", len(Short()), slices.IsSorted(Short()))
	}
	for _, w := range Short() {
		if len(w) < 2 || len(w) > 3 {
			t.Errorf("%q is not short", w)
		}
	}
	for _, enc := range encodings {
		v, err := Load(enc)
		if err != nil {
			t.Fatal(err)
		}
		for _, joint := range []string{" ", "_"} {
			for first := range Short() {
				words := slices.Concat(Short()[first:], Short()[:first])[:40]
				if n := v.Count([]byte(strings.Join(words, joint))); n != len(words) {
					t.Errorf("%s: %d tokens of %d words joined by %q", enc, n, len(words), joint)
				}
			}
		}
	}
}

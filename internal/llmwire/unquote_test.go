package llmwire

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A string has the value that the library gives it, whatever is in it.
func TestUnquote(t *testing.T) {
	parts := []string{
		"plain text ", "Grüße", "你好", "😀", `\n`, `\t`, `\"`, `\\`, `\/`, `\b\f\r`, `\u0041`, `\u00e9`, `\u003c\u003E`, `\uABcd`, `\u0000`, `\uffff`, `\ud83d\ude00`, `\ud83d`, `\ude00\ud83d`,
		"\xff", "\xe4\xbd", "\u2028", strings.Repeat("x", 100),
	}
	r := rand.New(rand.NewPCG(1, 2))
	var scratch []byte
	for range 20_000 {
		raw := []byte{'"'}
		for range r.IntN(8) {
			raw = append(raw, parts[r.IntN(len(parts))]...)
		}
		raw = append(raw, '"')
		want, _ := jsontext.AppendUnquote(nil, raw) // the error tells of invalid UTF-8 only
		if got := Unquote(&scratch, raw); string(got) != string(want) {
			t.Fatalf("%q is %q, want %q", raw, got, want)
		}
	}
}

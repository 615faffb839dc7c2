package sanitizer

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// FuzzModes: in both modes that keep texts, a key among anything does not
// survive, neither in a body nor over the pieces of an answer; JSON stays JSON
// of its shape; the pieces add up, and filler has the tokens of the text.
func FuzzModes(f *testing.F) {
	for _, body := range []string{
		`{"messages":[{"role":"user","content":%}]}`, `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":%}}]}]}`,
		`{"tools":[{"function":{"parameters":{"default":%,"enum":[%,1]}}}]}`, `[%]`, `{"a":{"b":%}}`, `{"prompt":[%,%]}`, `%`,
	} {
		f.Add(body, "a {\"b\": [1, \"c\\u0041\"]} é你 <|endoftext|>", []byte{0, 3, 255, 1})
		f.Add(body, `{"key":"`, []byte{1, 1, 1})
	}
	modes := make(map[trace.Mode]*Sanitizer)
	for _, mode := range []trace.Mode{trace.ModeFiller, trace.ModeRedact} {
		modes[mode] = start(f, Config{Key: testKey, Mode: mode, FeatureShare: 1e-9}, &memory{})
	}
	f.Fuzz(func(t *testing.T, body, text string, sizes []byte) {
		text = strings.ToValidUTF8(text, "?") + " " + secretKey + " " + strings.ToValidUTF8(text, "?")
		body = strings.ReplaceAll(body, "%", string(mustJSON(text)))
		for mode, s := range modes {
			s.tally.list = nil
			s.setVocabulary(&trace.Record{}, "")
			out, err := s.rewrite(nil, []byte(body), "application/json", s.bodies.mode)
			if err == nil && json.Valid([]byte(body)) {
				if bytes.Contains(out, []byte(secretKey)) {
					t.Fatalf("%s: the key survives in %s", mode, out)
				}
				if shapeOf(t, string(out)) != shapeOf(t, body) {
					t.Fatalf("%s: of %s came %s", mode, body, out)
				}
			}
			var pieces []int32
			left := len(text)
			for _, size := range sizes {
				pieces = append(pieces, int32(min(int(size), left)))
				left -= int(pieces[len(pieces)-1])
			}
			pieces = append(pieces, int32(left))
			kept, cuts := s.bodies.mode.answer([]byte(text), pieces)
			if len(cuts) != len(pieces) || sum(cuts) != len(kept) || bytes.Contains(kept, []byte(secretKey)) {
				t.Fatalf("%s: pieces %v became %v of %q", mode, pieces, cuts, kept)
			}
			if fill := s.bodies.filler; fill != nil && fill.voc.Count(kept) != fill.voc.Count([]byte(text)) {
				t.Fatalf("%q has %d tokens, its filler %d", text, fill.voc.Count([]byte(text)), fill.voc.Count(kept))
			}
		}
	})
}

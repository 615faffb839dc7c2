package detect

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ending is a literal and the byte after it.
type ending struct{ Literal, End int }

func endings(a *automaton, text []byte) (found []ending) {
	state := uint32(0)
	for i, c := range text {
		state = a.next[state+uint32(a.class[c])]
		if state >= a.accept {
			for _, id := range a.found(state) {
				found = append(found, ending{int(id), i + 1})
			}
		}
	}
	return found
}

// TestAutomaton compares with a search for each literal at each place.
func TestAutomaton(t *testing.T) {
	literals := []string{"a", "ab", "bab", "bc", "bca", "c", "caa", "Key_", "@"}
	a := newAutomaton(literals)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		text := make([]byte, rng.IntN(60))
		for i := range text {
			text[i] = "abcABCkey_@ x"[rng.IntN(13)]
		}
		want := map[ending]bool{}
		for id, l := range literals {
			for end := len(l); end <= len(text); end++ {
				if strings.EqualFold(string(text[end-len(l):end]), l) {
					want[ending{id, end}] = true
				}
			}
		}
		got := map[ending]bool{}
		for _, e := range endings(a, text) {
			got[e] = true
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("in %q: %s", text, d)
		}
	}
}

func TestAutomatonEveryByte(t *testing.T) {
	a := newAutomaton([]string{"sk-"})
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	if got := endings(a, bytes.Repeat(every, 3)); got != nil {
		t.Errorf("found %v in all bytes in order", got)
	}
	if got, want := endings(a, []byte("xSK-")), []ending{{0, 4}}; !cmp.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

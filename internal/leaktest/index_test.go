package leaktest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// The index finds what a plain search finds.
func TestIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab"[r.IntN(2)]
		}
		return b
	}
	for range 200 {
		data := random(200)
		var needles [][]byte
		for range 40 {
			needles = append(needles, random(1+r.IntN(20)))
		}
		got, want := make(map[int]bool), make(map[int]bool)
		newIndex(needles).find(data, func(i int) { got[i] = true })
		for i, n := range needles {
			if bytes.Contains(data, n) {
				want[i] = true
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("found %v, want %v", got, want)
		}
	}
}

package sanitizer

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// ids runs texts with alternating roles through one chain.
func ids(c *chainer, h0 *[32]byte, texts ...string) []int64 {
	c.start(h0)
	for i, text := range texts {
		c.add(trace.Role(int(trace.RoleUser)+i%2), []byte(text))
	}
	return c.finish()
}

func newTestChain(t *testing.T) (*chainer, *[32]byte) {
	t.Helper()
	keys, err := newKeyring(testKey)
	if err != nil {
		t.Fatal(err)
	}
	h0 := *keys.sum("chain", "model", "")
	return newChainer(), &h0
}

func TestBlockIDs(t *testing.T) {
	c, h0 := newTestChain(t)
	long := strings.Repeat("0123456789abcdef", 12) // 3 blocks
	for _, tc := range []struct {
		name  string
		texts []string
		want  []int64
	}{
		{"three whole blocks", []string{long}, []int64{0, 1, 2}},
		{"the same again", []string{long}, []int64{0, 1, 2}},
		{"a short tail has an id of its own", []string{long + "x"}, []int64{0, 1, 2, 3}},
		{"another tail", []string{long + "y"}, []int64{0, 1, 2, 4}},
		{"equal up to the difference, others after", []string{long[:64] + "z" + long[65:]}, []int64{0, 5, 6}},
		{"equal text at another place differs", []string{long[64:128] + long[64:128]}, []int64{0, 1}},
		{"a border inside a block", []string{long[:100], long[100:]}, []int64{0, 7, 8}},
		{"a border between blocks", []string{long[:128], long[128:]}, []int64{0, 1, 9}},
		{"nothing", nil, []int64{}},
		{"an empty text", []string{""}, []int64{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ids(c, h0, tc.texts...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Equal text under another model, salt or role has other ids.
func TestChainsAreApart(t *testing.T) {
	out := &memory{}
	s := start(t, Config{Key: testKey}, out)
	text := strings.Repeat("same text ", 30)
	bodies := []struct{ model, body string }{
		{"m", messages(text)},
		{"m", messages(text)},
		{"other", messages(text)},
		{"m", strings.Replace(messages(text), `"user"`, `"system"`, 1)},
		{"m", strings.Replace(messages(text), `{"messages"`, `{"cache_salt":"s","messages"`, 1)},
	}
	for i, b := range bodies {
		x := chat(uint64(i), int64(i)*1e9, b.body)
		x.Said.RequestModel = b.model
		if err := s.Take(x); err != nil {
			t.Fatal(err)
		}
	}
	first := func(i int) int64 { return out.records[i].PrefixBlockIDs[0] }
	if first(1) != 0 || first(2) == 0 || first(3) == 0 || first(4) == 0 || first(3) == first(4) {
		t.Errorf("first ids %d %d %d %d %d; want the second equal to the first, and no other", first(0), first(1), first(2), first(3), first(4))
	}
}

func TestRecentForgetsTheOldest(t *testing.T) {
	r := newRecent[int, string](4)
	for i := range 3 {
		r.put(i, fmt.Sprint(i))
	}
	if _, ok := r.get(0); !ok {
		t.Error("0 was forgotten within half the limit")
	}
	for i := 10; i < 14; i++ {
		r.put(i, "new")
	}
	if _, ok := r.get(1); ok {
		t.Error("1 is still there after as many newer entries as the limit")
	}
	if len(r.young)+len(r.old) > 4 {
		t.Errorf("%d entries, want at most 4", len(r.young)+len(r.old))
	}
	if want := int64(7 - len(r.young) - len(r.old)); r.forgotten != want {
		t.Errorf("%d forgotten, want %d", r.forgotten, want)
	}
}

// Hashes keep their numbers for as long as the table remembers them.
func TestNumberingForgetsTheOldest(t *testing.T) {
	n := newNumbering(256)
	hash := func(i int) *[32]byte { h := sha256.Sum256(fmt.Append(nil, i)); return &h }
	for i := range 100 {
		if got := n.id(hash(i)); got != int64(i) {
			t.Fatalf("hash %d is number %d", i, got)
		}
	}
	n.id(hash(0))
	for i := 100; i < 200; i++ { // the first 128 grow old
		n.id(hash(i))
	}
	if got := n.id(hash(5)); got != 5 { // and becomes young again
		t.Errorf("hash 5 is number %d", got)
	}
	for i := 200; i < 300; i++ {
		n.id(hash(i))
	}
	if n.id(hash(5)) != 5 || n.id(hash(299)) != 299 {
		t.Error("a hash in use was forgotten")
	}
	if got := n.id(hash(1)); got != 300 {
		t.Errorf("hash 1 is number %d, want a new one", got)
	}
	if n.forgotten != 127 { // of the first 128, all but hash 5
		t.Errorf("%d forgotten, want 127", n.forgotten)
	}
	if zero := n.id(new([32]byte)); n.id(new([32]byte)) != zero {
		t.Error("the hash 0 has two numbers")
	}
	if used := n.young.used + n.old.used; used > 256 || len(n.young.places) > 512 {
		t.Errorf("%d of %d places used", used, len(n.young.places))
	}
}

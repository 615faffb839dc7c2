// Package tokens counts tokens with the vocabularies of tiktoken, embedded in
// the binary: nothing is ever fetched. A vocabulary takes 0.3 to 0.6 s to load
// and is loaded on first use, so no caller may sit on a path that sends or
// captures on time.
//
// Splitting and merging are its own and take time in proportion to the text,
// whatever the text is; regular expressions and plain merging are quadratic in
// a run of letters without a split point.
package tokens

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	loader "github.com/pkoukk/tiktoken-go-loader"
)

// The vocabularies that texts can be counted with.
const (
	CL100K = "cl100k_base"
	O200K  = "o200k_base"
)

// maxText bounds what [Encode] reads of one text, bytes.
const maxText = 64 << 10

// Vocabulary turns texts into tokens. It is safe for concurrent use.
type Vocabulary struct {
	ranks map[string]int
	// twos are the ranks of the tokens of two bytes, where merging begins.
	twos [1 << 16]int32
	// maybe has a bit for the hash of each token: most pairs are none, which
	// costs less to see here.
	maybe [1 << maybeBits / 64]uint64
	split func(text []byte) int
}

// Load returns the vocabulary of a name; it is loaded once.
func Load(name string) (*Vocabulary, error) {
	get, ok := vocabularies[name]
	if !ok {
		return nil, fmt.Errorf("find vocabulary %q: use %s or %s", name, CL100K, O200K)
	}
	return get()
}

// ForModel names the vocabulary that fits a model best: exact for OpenAI's, an
// estimate for all others.
func ForModel(model string) string {
	model = model[strings.LastIndexByte(model, '/')+1:]
	for _, prefix := range [...]string{"gpt-4o", "gpt-4.1", "gpt-4.5"} {
		if strings.HasPrefix(model, prefix) {
			return O200K
		}
	}
	for _, prefix := range [...]string{"gpt-4", "gpt-3.5", "gpt-35", "text-embedding-"} {
		if strings.HasPrefix(model, prefix) {
			return CL100K
		}
	}
	return O200K
}

// Visit calls visit with the id and the length in bytes of each token of text,
// in order; the lengths add up to the text. The spelling of a special token is
// ordinary text, a byte that is no UTF-8 is a token of its own.
func (v *Vocabulary) Visit(text []byte, visit func(id, size int)) {
	for len(text) > 0 {
		n := v.split(text)
		if id, ok := v.ranks[string(text[:n])]; ok {
			visit(id, n)
		} else {
			v.merge(text[:n], visit)
		}
		text = text[n:]
	}
}

// Count is the number of tokens of text.
func (v *Vocabulary) Count(text []byte) (n int) {
	v.Visit(text, func(int, int) { n++ })
	return n
}

// Encode calls visit with each token id of text, in order, and returns their
// number. cut tells that the text was longer than 64 kB and only its beginning
// was read.
func Encode(name string, text []byte, visit func(id int)) (n int, cut bool, err error) {
	v, err := Load(name)
	if err != nil {
		return 0, false, err
	}
	if len(text) > maxText {
		text, cut = text[:border(text, maxText)], true
	}
	v.Visit(text, func(id, _ int) {
		visit(id)
		n++
	})
	return n, cut, nil
}

// border returns the last rune border at or before n, n < len(text). In bytes
// that are not UTF-8 it is n.
func border(text []byte, n int) int {
	for i := n; i > n-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return n
}

// vocabularies are those that are embedded, each loaded once.
var vocabularies = map[string]func() (*Vocabulary, error){
	CL100K: sync.OnceValues(func() (*Vocabulary, error) { return load(CL100K, splitCL100K) }),
	O200K:  sync.OnceValues(func() (*Vocabulary, error) { return load(O200K, splitO200K) }),
}

func load(name string, split func([]byte) int) (*Vocabulary, error) {
	ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
	if err != nil {
		return nil, fmt.Errorf("load vocabulary %q: %w", name, err)
	}
	v := &Vocabulary{ranks: ranks, split: split}
	for i := range v.twos {
		v.twos[i] = noTwo
		if r, ok := ranks[string([]byte{byte(i >> 8), byte(i)})]; ok {
			v.twos[i] = int32(r)
		}
	}
	for token := range ranks {
		h := hash(token)
		v.maybe[h/64] |= 1 << (h % 64)
	}
	return v, nil
}

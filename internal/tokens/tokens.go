// Package tokens counts tokens with the vocabularies of tiktoken, embedded in
// the binary: nothing is ever fetched. A vocabulary takes some 40 ms to load
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

	"github.com/pkoukk/tiktoken-go-loader/assets"
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
	tokens  *table
	split   func(text []byte) int
	mergers sync.Pool
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
	m, _ := v.mergers.Get().(*merger)
	if m == nil {
		m = &merger{t: v.tokens}
	}
	defer v.mergers.Put(m)
	for len(text) > 0 {
		n := v.split(text)
		if id := v.tokens.find(text[:n]); id != none {
			visit(int(id), n)
		} else {
			m.merge(text[:n], window, visit)
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
	list, err := assets.Assets.ReadFile(name + ".tiktoken")
	if err != nil {
		return nil, fmt.Errorf("load vocabulary %q: %w", name, err)
	}
	classify()
	t, err := newTable(list)
	if err != nil {
		return nil, fmt.Errorf("load vocabulary %q: %w", name, err)
	}
	return &Vocabulary{tokens: t, split: split}, nil
}

// Package tokens counts tokens with the vocabularies of tiktoken, embedded in
// the binary: nothing is ever fetched. A vocabulary takes 0.3 to 0.6 s to load
// and is loaded on first use, so no caller may sit on a path that sends or
// captures on time.
package tokens

import (
	"fmt"
	"sync"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// maxText bounds what is tokenized of one text, bytes.
const maxText = 64 << 10

// Encode calls visit with each token id of text, in order, and returns their
// number. The spelling of a special token is ordinary text. cut tells that the
// text was longer than 64 kB and only its beginning was read.
//
// Texts are tokenized in pieces of at most 2 kB, so that time is linear in
// their length; a piece ends at a blank where there is one. Where a piece had
// to end inside a word the count may be off by a token.
func Encode(enc string, text []byte, visit func(id int)) (n int, cut bool, err error) {
	v, err := vocabulary(enc)
	if err != nil {
		return 0, false, err
	}
	if len(text) > maxText {
		text, cut = text[:border(text, maxText)], true
	}
	for len(text) > 0 {
		end := pieceEnd(text)
		for _, id := range v.EncodeOrdinary(string(text[:end])) {
			visit(id)
			n++
		}
		text = text[end:]
	}
	return n, cut, nil
}

// vocabularies are the encodings that are embedded, each loaded once.
var vocabularies = map[string]func() (*tiktoken.Tiktoken, error){
	tiktoken.MODEL_CL100K_BASE: sync.OnceValues(func() (*tiktoken.Tiktoken, error) { return load(tiktoken.MODEL_CL100K_BASE) }),
	tiktoken.MODEL_O200K_BASE:  sync.OnceValues(func() (*tiktoken.Tiktoken, error) { return load(tiktoken.MODEL_O200K_BASE) }),
}

func vocabulary(enc string) (*tiktoken.Tiktoken, error) {
	get, ok := vocabularies[enc]
	if !ok {
		return nil, fmt.Errorf("find vocabulary %q: use cl100k_base or o200k_base", enc)
	}
	return get()
}

// setLoader replaces the library's loader, which goes to the network, before
// anything is loaded.
var setLoader = sync.OnceFunc(func() { tiktoken.SetBpeLoader(loader.NewOfflineLoader()) })

func load(enc string) (*tiktoken.Tiktoken, error) {
	setLoader()
	t, err := tiktoken.GetEncoding(enc)
	if err != nil {
		return nil, fmt.Errorf("load vocabulary %q: %w", enc, err)
	}
	return t, nil
}

package recorder

import (
	"errors"
	"fmt"
	"io"
)

// hidden is all that a secret ever prints.
const hidden = "[secret]"

// errSecret is what every encoder gets from a secret.
var errSecret = errors.New("a secret cannot be encoded")

// secret is key material. It lives in memory only and prints as "[secret]"
// under every verb. The bytes are behind a pointer, so that a value that holds
// a secret in an unexported field, where fmt calls no method, prints an
// address.
type secret struct{ key *secretBytes }

type secretBytes struct {
	n int
	b [48]byte
}

// newSecret copies b, which has at most 48 bytes: TLS has no longer secrets.
func newSecret(b []byte) secret {
	key := &secretBytes{n: min(len(b), 48)}
	copy(key.b[:], b)
	return secret{key}
}

// len is the length in bytes; 0 of the zero secret.
func (s secret) len() int {
	if s.key == nil {
		return 0
	}
	return s.key.n
}

// reveal returns the bytes, to be used by a key derivation alone.
func (s secret) reveal() []byte { return s.key.b[:s.key.n] }

// Format implements [fmt.Formatter].
func (s secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalText implements [encoding.TextMarshaler], which encoders of JSON and
// logs ask for.
func (s secret) MarshalText() ([]byte, error) { return nil, errSecret }

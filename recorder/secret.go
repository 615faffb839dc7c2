package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// hidden is all that a secret ever prints.
const hidden = "[secret]"

// errSecret is what every encoder gets from a secret.
var errSecret = errors.New("a secret cannot be encoded")

// secret is key material. It lives in memory only and prints as "[secret]"
// under every verb. The bytes are behind a function: of a secret in an
// unexported field fmt calls no method, and follows a pointer where the verb
// does not fit it.
type secret struct{ bytes func() []byte }

// newSecret copies b.
func newSecret(b []byte) secret {
	key := bytes.Clone(b)
	return secret{func() []byte { return key }}
}

// len is the length in bytes; 0 of the zero secret.
func (s secret) len() int {
	if s.bytes == nil {
		return 0
	}
	return len(s.bytes())
}

// reveal returns the bytes, to be used by a key derivation alone.
func (s secret) reveal() []byte { return s.bytes() }

// Format implements [fmt.Formatter].
func (s secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalText implements [encoding.TextMarshaler], which encoders of JSON and
// logs ask for.
func (s secret) MarshalText() ([]byte, error) { return nil, errSecret }

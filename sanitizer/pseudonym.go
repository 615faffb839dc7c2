package sanitizer

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
)

// keyring makes the keyed values of one trace: HMAC-SHA256 under one key, told
// apart by kind, so that a request id and a tenant id of one value differ.
type keyring struct {
	key []byte
	mac hash.Hash
	in  []byte
	out [sha256.Size]byte
}

// drawKey reads a key. [rand.Read] would end the process where there is none,
// and so leave what is open as it is.
func drawKey(random io.Reader) ([]byte, error) {
	if random == nil {
		random = rand.Reader
	}
	key := make([]byte, sha256.Size)
	if _, err := io.ReadFull(random, key); err != nil {
		return nil, fmt.Errorf("read random key: %w", err)
	}
	return key, nil
}

var errNoKey = errors.New("a keyring without a key")

// newKeyring copies the key.
func newKeyring(key []byte) (*keyring, error) {
	if len(key) == 0 {
		return nil, errNoKey
	}
	own := make([]byte, max(len(key), sha256.Size))
	copy(own, key)
	return &keyring{key: own, mac: hmac.New(sha256.New, own)}, nil
}

// derive is a keyring of its own for another goroutine.
func (k *keyring) derive(kind string) *keyring {
	sum := k.sum(kind)
	own := append([]byte(nil), sum[:]...)
	return &keyring{key: own, mac: hmac.New(sha256.New, own)}
}

// wipe overwrites the key; the keyring is of no use after it.
func (k *keyring) wipe() {
	clear(k.key)
	k.mac = nil
}

// sum is the keyed hash of the parts, each with its length before it.
func (k *keyring) sum(kind string, parts ...string) *[sha256.Size]byte {
	k.in = append(k.in[:0], kind...)
	for _, p := range parts {
		k.in = binary.BigEndian.AppendUint64(k.in, uint64(len(p)))
		k.in = append(k.in, p...)
	}
	k.mac.Reset()
	k.mac.Write(k.in)
	clear(k.in) // parts may be credentials
	k.mac.Sum(k.out[:0])
	return &k.out
}

// digest is the keyed hash of one text of any length. It keeps no copy of it.
func (k *keyring) digest(kind string, text []byte) (sum [sha256.Size]byte) {
	k.in = append(append(k.in[:0], kind...), 0xff) // kinds are ASCII: no sum begins so
	k.mac.Reset()
	k.mac.Write(k.in)
	k.mac.Write(text)
	k.mac.Sum(sum[:0])
	return sum
}

// nameBits is the length of a pseudonym before it is spelled: 80 bits, so that
// among a million values the chance of one collision is 4e-13.
const nameBits = 80

// alphabet is the lower-case one of RFC 4648 base32, without padding.
var alphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// name is the pseudonym of a value, 16 letters and digits.
func (k *keyring) name(kind string, parts ...string) string {
	return alphabet.EncodeToString(k.sum(kind, parts...)[:nameBits/8])
}

// share reports whether the keyed draw of a value in [0, 1) is below p.
func (k *keyring) share(kind, value string, p float64) bool {
	draw := binary.BigEndian.Uint64(k.sum(kind, value)[:8])
	return float64(draw>>11)/(1<<53) < p
}

package trace

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"
)

// targetIterations makes guessing a host name from its hash cost about
// 50 ms a guess and core, while a replay tests a handful of names.
const targetIterations = 200_000

// TargetHash is a host or address and port that was captured, as a salted
// slow hash: enough to refuse a replay against it, too little to name it.
type TargetHash struct {
	Salt string `json:"salt"`
	Hash string `json:"hash"`
}

// HashTarget hashes a host name or IP address and a port. Names are compared
// without case and trailing dot.
func HashTarget(host string, port int) (TargetHash, error) {
	salt := make([]byte, 16)
	if _, err := rand.Read(salt); err != nil {
		return TargetHash{}, fmt.Errorf("read salt: %w", err)
	}
	sum, err := hashTarget(host, port, salt)
	if err != nil {
		return TargetHash{}, err
	}
	return TargetHash{Salt: hex.EncodeToString(salt), Hash: hex.EncodeToString(sum)}, nil
}

// Is reports whether the hash is of this host and port.
func (t TargetHash) Is(host string, port int) (bool, error) {
	salt, err := hex.DecodeString(t.Salt)
	if err != nil {
		return false, fmt.Errorf("decode salt: %w", err)
	}
	want, err := hex.DecodeString(t.Hash)
	if err != nil {
		return false, fmt.Errorf("decode hash: %w", err)
	}
	got, err := hashTarget(host, port, salt)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

func hashTarget(host string, port int, salt []byte) ([]byte, error) {
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	sum, err := pbkdf2.Key(sha256.New, fmt.Sprintf("%s\x00%d", name, port), salt, targetIterations, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("hash target: %w", err)
	}
	return sum, nil
}

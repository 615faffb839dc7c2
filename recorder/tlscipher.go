package recorder

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"golang.org/x/crypto/chacha20poly1305"
)

// tlsSuite is a cipher suite that can be read.
type tlsSuite struct {
	id      uint16
	v13     bool
	keyLen  int
	hash    func() hash.Hash
	hashLen int
	aead    func(key []byte) (cipher.AEAD, error)
	// fixedIV is the length of the derived part of a nonce; the rest of the 12
	// bytes is sent with each record (AES-GCM in TLS 1.2: RFC 5288, section 3).
	fixedIV int
}

// Suites that crypto/tls has no names for: RFC 5288 and RFC 7905.
const (
	dheRSAWithAES128GCM = 0x009e
	dheRSAWithAES256GCM = 0x009f
	dheRSAWithChaCha20  = 0xccaa
)

// findSuite returns a suite of the version; false where it is none that can
// be read: those with CBC and RC4, and the rare ones.
func findSuite(id uint16, v13 bool) (tlsSuite, bool) {
	aes128 := tlsSuite{id, v13, 16, sha256.New, 32, newGCM, 4}
	aes256 := tlsSuite{id, v13, 32, sha512.New384, 48, newGCM, 4}
	chacha := tlsSuite{id, v13, 32, sha256.New, 32, chacha20poly1305.New, 12}
	switch id {
	case tls.TLS_AES_128_GCM_SHA256:
		aes128.fixedIV = 12
		return aes128, v13
	case tls.TLS_AES_256_GCM_SHA384:
		aes256.fixedIV = 12
		return aes256, v13
	case tls.TLS_CHACHA20_POLY1305_SHA256:
		return chacha, v13
	case tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_RSA_WITH_AES_128_GCM_SHA256, dheRSAWithAES128GCM:
		return aes128, !v13
	case tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_RSA_WITH_AES_256_GCM_SHA384, dheRSAWithAES256GCM:
		return aes256, !v13
	case tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
		dheRSAWithChaCha20:
		return chacha, !v13
	}
	return tlsSuite{}, false
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	return cipher.NewGCM(block)
}

// tlsCipher opens the records of one direction.
type tlsCipher struct {
	aead    cipher.AEAD
	iv      [12]byte
	fixedIV int
	v13     bool
	seq     uint64
	nonce   [12]byte
	aad     [13]byte
}

// errRecord: a record's authentication failed.
var errRecord = errors.New("record authentication failed")

// overhead is what a record adds to its content on the wire.
func (c *tlsCipher) overhead() int {
	n := tlsHeader + 12 - c.fixedIV + 16
	if c.v13 {
		n++ // the content type
	}
	return n
}

// open decrypts one whole record, its header included, into dst's space, and
// returns its content and true type.
func (c *tlsCipher) open(dst, record []byte) (content []byte, kind byte, err error) {
	body := record[tlsHeader:]
	explicit := 12 - c.fixedIV
	if len(body) < explicit+16 {
		return nil, 0, errRecord
	}
	c.nonce = c.iv
	if explicit > 0 {
		copy(c.nonce[c.fixedIV:], body[:explicit])
	} else {
		seq := binary.BigEndian.Uint64(c.iv[4:]) ^ c.seq
		binary.BigEndian.PutUint64(c.nonce[4:], seq)
	}
	body = body[explicit:]
	content, err = c.aead.Open(dst[:0], c.nonce[:], body, c.additional(record[:tlsHeader], len(body)-16))
	if err != nil {
		return nil, 0, errRecord
	}
	c.seq++
	if !c.v13 {
		return content, record[0], nil
	}
	return innerType(content)
}

// additional is the authenticated data: RFC 8446, section 5.2; RFC 5246,
// section 6.2.3.3.
func (c *tlsCipher) additional(head []byte, n int) []byte {
	if c.v13 {
		copy(c.aad[:], head)
		return c.aad[:tlsHeader]
	}
	binary.BigEndian.PutUint64(c.aad[:], c.seq)
	copy(c.aad[8:], head[:3])
	binary.BigEndian.PutUint16(c.aad[11:], uint16(n))
	return c.aad[:]
}

// innerType takes the padding off: RFC 8446, section 5.4.
func innerType(content []byte) ([]byte, byte, error) {
	for i := len(content) - 1; i >= 0; i-- {
		if content[i] != 0 {
			return content[:i], content[i], nil
		}
	}
	return nil, 0, errRecord
}

// trafficCipher makes the cipher of a TLS 1.3 traffic secret: RFC 8446,
// section 7.3.
func (s *tlsSuite) trafficCipher(key secret) (*tlsCipher, error) {
	write, err := s.expandLabel(key, "key", s.keyLen)
	if err != nil {
		return nil, err
	}
	iv, err := s.expandLabel(key, "iv", 12)
	if err != nil {
		return nil, err
	}
	return s.newCipher(write.reveal(), iv.reveal())
}

// updated is the secret behind a KeyUpdate: RFC 8446, section 7.2.
func (s *tlsSuite) updated(key secret) (secret, error) {
	return s.expandLabel(key, "traffic upd", s.hashLen)
}

func (s *tlsSuite) expandLabel(key secret, label string, n int) (secret, error) {
	const prefix = "tls13 "
	info := make([]byte, 0, 32)
	info = binary.BigEndian.AppendUint16(info, uint16(n))
	info = append(info, byte(len(prefix)+len(label)))
	info = append(info, prefix+label+"\x00"...)
	out, err := hkdf.Expand(s.hash, key.reveal(), string(info), n)
	if err != nil {
		return secret{}, fmt.Errorf("derive key: %w", err)
	}
	return newSecret(out), nil
}

// masterCiphers makes the ciphers of a TLS 1.2 connection, by direction: RFC
// 5246, section 6.3, without MAC keys, since only AEAD suites are read.
func (s *tlsSuite) masterCiphers(master secret, client clientRandom, server [32]byte) ([2]*tlsCipher, error) {
	var out [2]*tlsCipher
	seed := append([]byte("key expansion"), server[:]...)
	block := s.prf(master, append(seed, client[:]...), 2*s.keyLen+2*s.fixedIV)
	keys, ivs := block[:2*s.keyLen], block[2*s.keyLen:]
	for d := range out {
		var err error
		out[d], err = s.newCipher(keys[d*s.keyLen:][:s.keyLen], ivs[d*s.fixedIV:][:s.fixedIV])
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// prf is P_hash of RFC 5246, section 5.
func (s *tlsSuite) prf(key secret, seed []byte, n int) []byte {
	mac := hmac.New(s.hash, key.reveal())
	sum := func(parts ...[]byte) []byte {
		mac.Reset()
		for _, p := range parts {
			mac.Write(p)
		}
		return mac.Sum(nil)
	}
	var out []byte
	for a := sum(seed); len(out) < n; a = sum(a) {
		out = append(out, sum(a, seed)...)
	}
	return out[:n]
}

func (s *tlsSuite) newCipher(key, iv []byte) (*tlsCipher, error) {
	aead, err := s.aead(key)
	if err != nil {
		return nil, err
	}
	c := &tlsCipher{aead: aead, fixedIV: s.fixedIV, v13: s.v13}
	copy(c.iv[:], iv)
	return c, nil
}

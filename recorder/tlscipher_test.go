package recorder

import (
	"bytes"
	"crypto/tls"
	"encoding/hex"
	"strings"
	"testing"
)

func fromHex(tb testing.TB, text string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// TestTrafficKeys: RFC 8448, section 3: keys of the server's and the client's
// handshake traffic secrets.
func TestTrafficKeys(t *testing.T) {
	suite, _ := findSuite(tls.TLS_AES_128_GCM_SHA256, true)
	rows := []struct{ secret, key, iv string }{
		{
			"b3 ed db 12 6e 06 7f 35 a7 80 b3 ab f4 5e 2d 8f 3b 1a 95 07 38 f5 2e 96 00 74 6a 0e 27 a5 5a 21",
			"db fa a6 93 d1 76 2c 5b 66 6a f5 d9 50 25 8d 01", "5b d3 c7 1b 83 6e 0b 76 bb 73 26 5f",
		},
		{
			"b6 7b 7d 69 0c c1 6c 4e 75 e5 42 13 cb 2d 37 b4 e9 c9 12 bc de d9 10 5d 42 be fd 59 d3 91 ad 38",
			"3f ce 51 60 09 c2 17 27 d0 f2 e4 e8 6e e4 03 bc", "5d 31 3e b2 67 12 76 ee 13 00 0b 30",
		},
	}
	for _, row := range rows {
		from := newSecret(fromHex(t, row.secret))
		key, err := suite.expandLabel(from, "key", 16)
		if err != nil || !bytes.Equal(key.reveal(), fromHex(t, row.key)) {
			t.Errorf("key: %v", err)
		}
		c, err := suite.trafficCipher(from)
		if err != nil || !bytes.Equal(c.iv[:], fromHex(t, row.iv)) {
			t.Errorf("iv: %v", err)
		}
	}
}

func TestSuites(t *testing.T) {
	rows := []struct {
		id      uint16
		v13, ok bool
	}{
		{tls.TLS_AES_128_GCM_SHA256, true, true},
		{tls.TLS_AES_256_GCM_SHA384, true, true},
		{tls.TLS_CHACHA20_POLY1305_SHA256, true, true},
		{tls.TLS_AES_128_GCM_SHA256, false, false},
		{0x1304, true, false}, // AES-128-CCM
		{tls.TLS_RSA_WITH_AES_128_GCM_SHA256, false, true},
		{tls.TLS_RSA_WITH_AES_128_GCM_SHA256, true, false},
		{dheRSAWithChaCha20, false, true},
		{tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, false, false},
	}
	for _, row := range rows {
		if _, ok := findSuite(row.id, row.v13); ok != row.ok {
			t.Errorf("suite %s, TLS 1.3 %v: got %v", tls.CipherSuiteName(row.id), row.v13, ok)
		}
	}
}

// sealer writes TLS 1.3 records as a peer would.
type sealer struct{ c *tlsCipher }

func newSealer(tb testing.TB, suite tlsSuite, key secret) sealer {
	tb.Helper()
	c, err := suite.trafficCipher(key)
	if err != nil {
		tb.Fatal(err)
	}
	return sealer{c}
}

// seal makes one record with n bytes of padding.
func (s sealer) seal(kind byte, content []byte, n int) []byte {
	inner := append(append(bytes.Clone(content), kind), make([]byte, n)...)
	size := len(inner) + 16
	record := []byte{recordData, 3, 3, byte(size >> 8), byte(size)}
	nonce := s.c.iv
	for i := range 8 {
		nonce[11-i] ^= byte(s.c.seq >> (8 * i))
	}
	s.c.seq++
	return s.c.aead.Seal(record, nonce[:], inner, record)
}

// TestOpen: padding, empty content, records that are none.
func TestOpen(t *testing.T) {
	key := newSecret(make([]byte, 32))
	for _, id := range []uint16{tls.TLS_AES_128_GCM_SHA256, tls.TLS_CHACHA20_POLY1305_SHA256} {
		suite, _ := findSuite(id, true)
		w := newSealer(t, suite, key)
		r, err := suite.trafficCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range []struct {
			content string
			padding int
		}{{"abc", 0}, {"abc\x00", 300}, {"", 7}, {strings.Repeat("x", 1<<14), 0}} {
			got, kind, err := r.open(nil, w.seal(recordData, []byte(row.content), row.padding))
			if err != nil || kind != recordData || string(got) != row.content {
				t.Errorf("%d bytes, padding %d: got %d, kind %d, %v", len(row.content), row.padding, len(got), kind, err)
			}
		}
		if _, _, err := r.open(nil, w.seal(0, nil, 3)); err == nil {
			t.Error("a record of padding alone was opened")
		}
		for n := range 21 {
			if _, _, err := r.open(nil, append([]byte{recordData, 3, 3, 0, byte(n)}, make([]byte, n)...)); err == nil {
				t.Errorf("%d zero bytes were opened", n)
			}
		}
	}
}

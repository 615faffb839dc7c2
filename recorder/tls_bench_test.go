package recorder

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"
)

// BenchmarkTLS decrypts one connection of TLS 1.3: whole records of 16 KiB in
// packets, and those of a stream of small events, one a packet.
func BenchmarkTLS(b *testing.B) {
	for _, row := range []struct {
		name         string
		suite        uint16
		size, packet int
	}{
		{"AES-128/16KiB", tls.TLS_AES_128_GCM_SHA256, 1 << 14, 1448},
		{"AES-256/16KiB", tls.TLS_AES_256_GCM_SHA384, 1 << 14, 1448},
		{"ChaCha20/16KiB", tls.TLS_CHACHA20_POLY1305_SHA256, 1 << 14, 1448},
		{"AES-128/200B", tls.TLS_AES_128_GCM_SHA256, 200, 1448},
	} {
		b.Run(row.name, func(b *testing.B) {
			suite, _ := findSuite(row.suite, true)
			key := newSecret(make([]byte, suite.hashLen))
			w := newSealer(b, suite, key)
			content := []byte(strings.Repeat("x", row.size))
			var pieces [][]byte
			total := 0
			for total < 4<<20 {
				record := w.seal(recordData, content, 0)
				total += len(record)
				for len(record) > 0 {
					n := min(len(record), row.packet)
					pieces = append(pieces, record[:n])
					record = record[n:]
				}
			}
			b.SetBytes(int64(total))
			b.ReportAllocs()
			for b.Loop() {
				r := newRecording("bench", &collector{}, Config{})
				c := openConn(r, &ConnInfo{SawSYN: true})
				t := newTLSConn(c)
				t.suite = &suite
				s := &t.dirs[ToServer]
				s.phase = tlsData
				if err := t.use(s, key); err != nil {
					b.Fatal(err)
				}
				c.turnBlind("bench") // what is in it is not read
				for _, p := range pieces {
					t.feed(ToServer, p)
				}
				if s.stopped || s.cipher.seq == 0 {
					b.Fatal("not decrypted")
				}
			}
		})
	}
}

// BenchmarkTLSCapture reads a capture of TLS from file to exchanges.
func BenchmarkTLSCapture(b *testing.B) {
	const path = "testdata/captures/h1-http1-tls13.pcap"
	keys := keyLogOf(b, path)
	b.ReportAllocs()
	for b.Loop() {
		src, err := OpenFiles([]string{path})
		if err != nil {
			b.Fatal(err)
		}
		var c collector
		if _, err := Run(context.Background(), src, &c, Config{KeyLog: keys}); err != nil {
			b.Fatal(err)
		}
		if len(c.list) != 9 {
			b.Fatalf("%d exchanges", len(c.list))
		}
	}
}

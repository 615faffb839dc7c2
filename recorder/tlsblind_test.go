package recorder

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// reSuite puts another cipher suite into the ServerHello.
func reSuite(t *testing.T, w *wire, id uint16) {
	t.Helper()
	for _, p := range w.pieces {
		if p.dir == ToClient {
			session := tlsHeader + 4 + 2 + 32 // record, message, version, random
			binary.BigEndian.PutUint16(p.data[session+1+int(p.data[session]):], id)
			return
		}
	}
	t.Fatal("no ServerHello")
}

// TestTLSUnsupported: what cannot be read though its secrets are there is
// counted as blind, all of it and once, with the reason; another connection in
// the same capture is read.
func TestTLSUnsupported(t *testing.T) {
	rows := []struct {
		name   string
		make   func(t *testing.T, client, server *tls.Config) *wire
		reason string
	}{
		{"CBC", func(t *testing.T, c, s *tls.Config) *wire {
			c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}
			s.CipherSuites = c.CipherSuites
			return converse(t, c, s, 1)
		}, "its cipher suite TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA cannot be read"},
		{"TLS 1.1", func(t *testing.T, c, s *tls.Config) *wire {
			c.MinVersion, c.MaxVersion, s.MinVersion = tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS10
			return converse(t, c, s, 1)
		}, tlsOld},
		// Neither is in crypto/tls: a pre-shared key without a certificate
		// (RFC 5487), and a short authentication tag (RFC 6655).
		{"PSK", func(t *testing.T, c, s *tls.Config) *wire {
			c.MaxVersion = tls.VersionTLS12
			w := converse(t, c, s, 1)
			reSuite(t, w, 0x00a8)
			return w
		}, "its cipher suite 0x00A8 cannot be read"},
		{"CCM_8 of TLS 1.3", func(t *testing.T, c, s *tls.Config) *wire {
			w := converse(t, c, s, 1)
			reSuite(t, w, 0x1305)
			return w
		}, "its cipher suite 0x1305 cannot be read"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			client, server, keys := configs(t)
			w := row.make(t, client, server)
			client, server, more := configs(t)
			good := converse(t, client, server, 1)
			var s script
			w.play(&s, 40000, 1448)
			good.play(&s, 40001, 1448)
			got, rep := s.run(t, Config{KeepText: true, KeyLog: keysOf(t, keys.String()+more.String())})
			checkStreamed(t, got.list, 1)
			check(t, "blind", got.totals.LostByReason["blind:tls"], w.bytes())
			check(t, "bytes seen", got.totals.BytesSeen, w.bytes()+good.bytes())
			want := "1 TLS connections were not read, or not to their end: " + row.reason
			if !strings.Contains(strings.Join(rep.Warnings, "\n"), want) {
				t.Errorf("warnings: %q, want %q", rep.Warnings, want)
			}
		})
	}
}

// TestKeyLogElsewhere: a key log of another connection, and one beside traffic
// that is not encrypted, leave alone what they are not for.
func TestKeyLogElsewhere(t *testing.T) {
	client, server, _ := configs(t)
	unknown := converse(t, client, server, 1)
	client, server, keys := configs(t)
	known := converse(t, client, server, 2)
	var s script
	unknown.play(&s, 40000, 1448)
	known.play(&s, 40001, 1448)
	s.connect(40002, 0).client(10*ms, get("/")).server(20*ms, ok("plain"))
	got, rep := s.run(t, Config{KeepText: true, KeyLog: keysOf(t, keys.String())})
	var lines []string
	for _, x := range got.list {
		lines = append(lines, fmt.Sprint(x.Client.Port(), " ", x.Record.TLS, " ", x.Record.Outcome))
	}
	check(t, "exchanges", strings.Join(lines, "; "), "40002 false ok; 40001 true ok; 40001 true ok")
	check(t, "blind", got.totals.LostByReason["blind:tls"], unknown.bytes())
	check(t, "warned of", strings.Contains(strings.Join(rep.Warnings, "\n"), "1 TLS connections were not read, or not to their end: "+tlsNoSecret), true)

	s = script{}
	s.connect(40002, 0).client(10*ms, get("/")).server(20*ms, ok("plain"))
	got, rep = s.run(t, Config{KeyLog: keysOf(t, keys.String())})
	check(t, "plain alone", strings.Join(summaries(got.list), "; "), "GET 200 ok 0 5")
	if diff := cmp.Diff([]string{`none of the secrets of 1 sessions in key log "keys.log" matched: no TLS connection was seen`}, rep.Warnings); diff != "" {
		t.Errorf("its warnings (-want +got):\n%s", diff)
	}
}

// TestTLSRecordCut: a connection, or the capture, ends inside a record: what
// was whole before is kept.
func TestTLSRecordCut(t *testing.T) {
	for _, row := range []struct {
		name string
		end  func(k *talk, at time.Duration)
		want string
	}{
		{"by the server", func(k *talk, at time.Duration) { k.fin(ToClient, at).fin(ToServer, at+ms) }, "server_abort/fin 200 1"},
		{"by a reset of the client", func(k *talk, at time.Duration) { k.rst(ToServer, at) }, "client_abort/recorded 200 1"},
		{"by the capture", func(*talk, time.Duration) {}, "cut_by_capture/recorder_stop 200 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			client, server, keys := configs(t)
			w := converse(t, client, server, 1)
			cut := answerPieces(w, firstRequest(w))[2]
			var s script
			k := s.connect(40000, 0)
			at := 10 * ms
			for _, p := range w.pieces[:cut] {
				k.send(p.dir, at, string(bytes.Clone(p.data)))
				at += ms
			}
			k.server(at, string(w.pieces[cut].data[:30]))
			row.end(k, at+ms)
			got, _ := s.run(t, Config{KeepText: true, KeyLog: keysOf(t, keys.String())})
			if len(got.list) != 1 {
				t.Fatalf("exchanges: %q", summaries(got.list))
			}
			x := got.list[0]
			check(t, "exchange", fmt.Sprintf("%s %s %s", outcomeOf(x.Record), deref(x.Record.StatusCode), deref(x.Record.EventCount)), row.want)
		})
	}
}

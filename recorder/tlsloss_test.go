package recorder

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// answerPieces are the places in w of the pieces that carry answers' content:
// those after the first request's.
func answerPieces(w *wire, first int) (list []int) {
	for i, p := range w.pieces[first:] {
		if p.dir == ToClient && p.data[0] == recordData {
			list = append(list, first+i)
		}
	}
	return list
}

// tlsScript records the wire with one piece changed.
func tlsScript(t *testing.T, w *wire, keys string, change func(k *talk, i int, at time.Duration) bool) (*collector, Report) {
	t.Helper()
	var s script
	k := s.connect(40000, 0)
	at := 10 * time.Millisecond
	for i, p := range w.pieces {
		if !change(k, i, at) {
			k.send(p.dir, at, string(p.data))
		}
		at += time.Millisecond
	}
	k.fin(ToServer, at).fin(ToClient, at+time.Millisecond)
	return s.run(t, Config{KeepText: true, KeyLog: keysOf(t, keys)})
}

// TestTLSLoss: what one lost packet, one damaged byte or one cut costs, in both
// versions. Two exchanges; the damage is in the first answer.
func TestTLSLoss(t *testing.T) {
	text := func(x *trace.Exchange) string {
		return fmt.Sprintf("%s %s events %s lost %d", x.Record.Outcome, deref(x.Record.OutcomeDetail), deref(x.Record.EventCount), x.Record.LostBytesResp)
	}
	whole := "ok NULL events 5 lost 0"
	rows := []struct {
		name   string
		change func(k *talk, data []byte, at time.Duration)
		want   []string
		reason string
	}{
		{
			"a record lost", func(k *talk, data []byte, _ time.Duration) { k.lose(ToClient, len(data)) },
			[]string{fmt.Sprintf("cut_by_capture gap events 4 lost %d", len(streamPieces[2])), whole},
			"",
		},
		{"the middle of a record lost", func(k *talk, data []byte, at time.Duration) {
			k.server(at, string(data[:20])).lose(ToClient, 30).server(at, string(data[50:]))
		}, []string{fmt.Sprintf("cut_by_capture gap events 4 lost %d", len(streamPieces[2])), whole}, ""},
		{"the end of a record lost", func(k *talk, data []byte, at time.Duration) {
			k.server(at, string(data[:20])).lose(ToClient, len(data)-20)
		}, []string{fmt.Sprintf("cut_by_capture gap events 4 lost %d", len(streamPieces[2])), whole}, ""},
		{"the head of a record lost", func(k *talk, data []byte, at time.Duration) {
			k.lose(ToClient, 3).server(at, string(data[3:]))
		}, []string{"cut_by_capture gap events 1 lost 0", "cut_by_capture gap events NULL lost 0"}, tlsHole},
		{"a byte changed", func(k *talk, data []byte, at time.Duration) {
			bad := bytes.Clone(data)
			bad[len(bad)/2] ^= 1
			k.server(at, string(bad))
		}, []string{"cut_by_capture NULL events 1 lost 0", "cut_by_capture NULL events NULL lost 0"}, tlsBadRecord},
		{"a length that cannot be", func(k *talk, data []byte, at time.Duration) {
			bad := bytes.Clone(data)
			bad[3] = 0xff
			k.server(at, string(bad))
		}, []string{"cut_by_capture NULL events 1 lost 0", "cut_by_capture NULL events NULL lost 0"}, tlsMalformed},
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		client, server, keys := configs(t)
		client.MaxVersion = version
		w := converse(t, client, server, 2)
		for _, row := range rows {
			t.Run(tls.VersionName(version)+" "+row.name, func(t *testing.T) {
				first := answerPieces(w, firstRequest(w))[2]
				got, rep := tlsScript(t, w, keys.String(), func(k *talk, i int, at time.Duration) bool {
					if i == first {
						row.change(k, w.pieces[i].data, at)
					}
					return i == first
				})
				var lines []string
				for _, x := range got.list {
					lines = append(lines, text(x))
				}
				check(t, "exchanges", strings.Join(lines, "\n"), strings.Join(row.want, "\n"))
				if !strings.Contains(strings.Join(rep.Warnings, "\n"), row.reason) {
					t.Errorf("warnings: %q, want %q", rep.Warnings, row.reason)
				}
				check(t, "bytes seen", got.totals.BytesSeen, w.bytes())
			})
		}
	}
}

func firstRequest(w *wire) int {
	for i, p := range w.pieces {
		if p.dir == ToServer && p.data[0] == recordData && len(p.data) > 150 {
			return i
		}
	}
	return 0
}

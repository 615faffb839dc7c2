package recorder

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/bpf"
)

// racingTLS is libraries in whose processes something happens while they are
// asked, or let go of.
type racingTLS struct {
	scriptedTLS
	asked, detaching func()
}

func (r *racingTLS) length(k streamKey) (bpf.Length, bool) {
	if r.asked != nil {
		r.asked()
	}
	return r.scriptedTLS.length(k)
}

func (r *racingTLS) detach() error {
	if r.detaching != nil {
		r.detaching()
	}
	return r.scriptedTLS.detach()
}

// TestTLSEndRaces is what happens while a stream, or the recording, comes to its
// end: nothing is lost by it, and nothing counts as the end of a stream whose
// last bytes were not seen.
func TestTLSEndRaces(t *testing.T) {
	const asked, answer, more = "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "data: x\n\n"
	const server = "10.0.0.2:999"
	key := streamKey{tgid: 7, generation: 1, ssl: 0xabc}
	piece := func(written bool, pos int, text string, at int64) bpf.Data {
		return bpf.Data{
			Source: bpf.SSL, Cookie: 5, TGID: 7, SSL: key.ssl, Generation: 1, ToClient: written,
			Pos: int64(pos), Bytes: []byte(text), Want: len(text), Time: at,
		}
	}
	begun := []bpf.Control{
		opened(5, 0, 10),
		{Kind: bpf.TLS, Cookie: 5, Time: 11},
		{Kind: bpf.Bind, Cookie: 5, TGID: 7, SSL: key.ssl, Generation: 1, Time: 20},
	}
	said := []bpf.Data{piece(false, 0, asked, 30), piece(true, 0, answer, 40)}
	heard := []told{
		{Client: server, Dir: ToServer, Data: asked, Want: len(asked), SYN: true},
		{Client: server, Dir: ToClient, Data: answer, Want: len(answer), SYN: true},
	}
	last := told{Client: server, Dir: ToClient, Pos: int64(len(answer)), Data: more, Want: len(more), SYN: true}
	closed := bpf.Control{Kind: bpf.Close, Cookie: 5, Time: 70}
	tests := []struct {
		name    string
		control []bpf.Control
		// asked and detaching is what comes then.
		asked     []bpf.Data
		detaching []bpf.Control
		length    int
		want      []told
		warns     bool
	}{
		{
			name:    "the table is ahead of the ring",
			control: []bpf.Control{closed}, asked: []bpf.Data{piece(true, len(answer), more, 60)}, length: len(answer) + len(more),
			want: []told{
				last,
				{Client: server, Dir: ToClient, Pos: int64(len(answer) + len(more)), SYN: true, End: "rst"},
				{Client: server, SYN: true, End: "gone"},
			},
		},
		{
			name:    "a call returns after its connection is gone",
			control: []bpf.Control{closed}, asked: []bpf.Data{piece(true, len(answer), more, 80)}, length: len(answer),
			want: []told{
				last,
				{Client: server, Dir: ToClient, Pos: int64(len(answer) + len(more)), SYN: true, End: "rst"},
				{Client: server, SYN: true, End: "gone"},
			},
		},
		{
			name:    "lost all the same",
			control: []bpf.Control{closed}, length: len(answer) + 9,
			want: []told{
				{Client: server, Dir: ToClient, Pos: int64(len(answer)), Want: 9, Cut: "ring_full", SYN: true},
				{Client: server, Dir: ToClient, Pos: int64(len(answer) + 9), SYN: true, End: "rst"},
				{Client: server, SYN: true, End: "gone"},
			},
		},
		{
			name: "an end when the probes are gone", length: len(answer),
			detaching: []bpf.Control{
				{Kind: bpf.FIN, Cookie: 5, ToClient: true, Time: 2000},
				{Kind: bpf.Close, Cookie: 5, Time: 2001},
			},
		},
		{
			name: "a handshake when the probes are gone", length: len(answer),
			detaching: []bpf.Control{
				opened(6, 0, 1500),
				{Kind: bpf.TLS, Cookie: 6, Time: 2000},
				{Kind: bpf.Close, Cookie: 6, Time: 2001, Pos: [2]int64{300, 40_000}},
			},
		},
		{
			name: "a handshake under way when the probes go", length: len(answer),
			control:   []bpf.Control{opened(6, 0, 990), {Kind: bpf.TLS, Cookie: 6, Time: 995}},
			detaching: []bpf.Control{{Kind: bpf.Close, Cookie: 6, Time: 2001, Pos: [2]int64{300, 4000}}},
		},
		{
			name: "one that was never read, to the end", length: len(answer),
			control:   []bpf.Control{opened(6, 0, 990), {Kind: bpf.TLS, Cookie: 6, Time: 995}},
			detaching: []bpf.Control{{Kind: bpf.Close, Cookie: 6, Time: 2001, Pos: [2]int64{300, 40_000}}},
			warns:     true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake := &fakeKernel{boot: 1000, wall: 1e18 + 1000, control: append(begun[:len(begun):len(begun)], tt.control...), data: said}
			tls := &racingTLS{scriptedTLS: scriptedTLS{lengths: map[streamKey][2]int64{key: {int64(len(asked)), int64(tt.length)}}}}
			tls.asked = func() { fake.data, tt.asked = append(fake.data, tt.asked...), nil }
			tls.detaching = func() { fake.control = append(fake.control, tt.detaching...) }
			s := newEBPFSource(fake, fake.clocks)
			s.sleep, s.tls, s.side = fake.pass, tls, ebpfSide{server: true}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append(heard[:2:2], tt.want...), tellAll(t, s)); diff != "" {
				t.Errorf("segments (-want +got):\n%s", diff)
			}
			if warned := strings.Contains(strings.Join(s.Stats().Warnings, "\n"), "not read"); warned != tt.warns {
				t.Errorf("warnings: %q", s.Stats().Warnings)
			}
		})
	}
}

// TestTLSLateData: what a call tells of a stream whose connection is gone is none
// of a new one without an address; it comes too late, and is counted as that.
func TestTLSLateData(t *testing.T) {
	piece := func(pos int64, text string, t time.Duration) bpf.Data {
		d := out(5, pos, text, t)
		d.Source, d.TGID, d.SSL, d.Generation = bpf.SSL, 7, 0xabc, 1
		return d
	}
	k := newFake()
	k.control = []bpf.Control{
		opened(5, 0, at(0)),
		{Kind: bpf.TLS, Cookie: 5, Time: at(0)},
		{Kind: bpf.Bind, Cookie: 5, TGID: 7, SSL: 0xabc, Generation: 1, Time: at(1 * ms)},
		{Kind: bpf.Close, Cookie: 5, Time: at(20 * ms)},
	}
	k.data = []bpf.Data{piece(0, "seen", 10*ms), piece(4, "late", 900*ms)}
	k.pass(50 * ms)
	src := newEBPFSource(k, k.clocks)
	src.sleep, src.side, src.tls = k.pass, ebpfSide{server: true}, &scriptedTLS{}
	log := newStreamLog()
	r := newReassembler(log)
	for {
		seg, err := src.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			r.add(&seg)
		}
		if k.boot > at(3*time.Second) {
			src.Close()
		}
	}
	r.flush()
	if len(log.conns) != 1 || r.stats.LateBytes != 4 {
		t.Errorf("%d streams, %d late bytes: %q", len(log.conns), r.stats.LateBytes, log.events)
	}
	if len(src.streams)+len(src.past) != 0 {
		t.Errorf("%d streams and %d past ones are kept", len(src.streams), len(src.past))
	}
}

package recorder

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lambdac/lambdac/bpf"
)

// countedKernel has counts as well.
type countedKernel struct {
	*fakeKernel
	counts bpf.Counts
}

func (k countedKernel) Counts() (bpf.Counts, error) { return k.counts, nil }

// scripted is what the kernel side says; its times are before now.
type scripted struct {
	control []bpf.Control
	data    []bpf.Data
	counts  bpf.Counts
}

// source is a source that has been closed, so that it ends with the script.
func (k scripted) source(t *testing.T, tls tlsSide, side ebpfSide) *ebpfSource {
	t.Helper()
	for i := range k.data {
		k.data[i].Want = len(k.data[i].Bytes)
	}
	fake := &fakeKernel{boot: 1000, wall: 1e18 + 1000, control: k.control, data: k.data}
	s := newEBPFSource(countedKernel{fake, k.counts}, fake.clocks)
	s.sleep = fake.pass
	s.tls, s.side = tls, side
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// scriptedTLS is what is known of libraries in a test.
type scriptedTLS struct {
	lengths map[streamKey][2]int64
	since   int64
	seen    []bpf.Kind
	closed  int
}

func (s *scriptedTLS) saw(c *bpf.Control) { s.seen = append(s.seen, c.Kind) }
func (s *scriptedTLS) length(k streamKey) (l bpf.Length, ok bool) {
	l.Pos, ok = s.lengths[k]
	return l, ok
}
func (s *scriptedTLS) covers(uint32) int64 { return s.since }
func (s *scriptedTLS) why(uint32) string   { return "rustls: no" }
func (s *scriptedTLS) warnings() []string  { return []string{"trouble"} }
func (s *scriptedTLS) detach() error       { s.closed++; return nil }
func (s *scriptedTLS) close() error        { s.closed++; return nil }

// told is a segment in a few words.
type told struct {
	Client string
	Dir    Dir
	Pos    int64
	Data   string
	Want   int
	Cut    string
	SYN    bool
	End    string
}

func tellAll(t *testing.T, s *ebpfSource) (list []told) {
	t.Helper()
	for {
		seg, err := s.Next()
		if err != nil {
			return list
		}
		x := told{Dir: seg.Dir, Pos: seg.Pos, Data: string(seg.Data), Want: seg.Want, Cut: seg.Cut, SYN: seg.Conn.SawSYN}
		if seg.Conn.Client.IsValid() {
			x.Client = seg.Conn.Client.String()
		}
		switch {
		case seg.Gone:
			x.End = "gone"
		case seg.FIN:
			x.End = "fin"
		case seg.RST:
			x.End = "rst"
		}
		list = append(list, x)
	}
}

func opened(cookie uint64, flags bpf.ConnFlags, at int64) bpf.Control {
	return bpf.Control{
		Kind: bpf.Open, Cookie: cookie, Flags: flags | bpf.Encrypted, Start: at, Time: at, TGID: 7, Comm: "server",
		Local: netip.MustParseAddrPort("10.0.0.1:443"), Remote: netip.MustParseAddrPort("10.0.0.2:999"),
	}
}

func TestTLSStreams(t *testing.T) {
	const asked, answer = "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"
	stream := streamKey{tgid: 7, generation: 1, ssl: 0xabc}
	piece := func(cookie uint64, written bool, pos int64, text string, at int64) bpf.Data {
		return bpf.Data{Source: bpf.SSL, Cookie: cookie, TGID: 7, SSL: 0xabc, Generation: 1, ToClient: written, Pos: pos, Bytes: []byte(text), Time: at}
	}
	bound := bpf.Control{Kind: bpf.Bind, Cookie: 5, TGID: 7, SSL: 0xabc, Generation: 1, Time: 20}
	server := "10.0.0.2:999"
	tests := []struct {
		name  string
		k     scripted
		tls   scriptedTLS
		side  ebpfSide
		want  []told
		warns string
	}{
		{
			name: "a server's stream, bound before its data",
			k: scripted{
				control: []bpf.Control{
					opened(5, 0, 10),
					{Kind: bpf.TLS, Cookie: 5, Time: 11},
					bound,
					{Kind: bpf.FIN, Cookie: 5, Time: 60, ToClient: true},
					{Kind: bpf.Close, Cookie: 5, Time: 70},
				},
				data: []bpf.Data{piece(5, false, 0, asked, 30), piece(5, true, 0, answer, 40)},
			},
			side: ebpfSide{server: true},
			want: []told{
				{Client: server, Dir: ToServer, Data: asked, Want: len(asked), SYN: true},
				{Client: server, Dir: ToClient, Data: answer, Want: len(answer), SYN: true},
				{Client: server, Dir: ToClient, Pos: int64(len(answer)), SYN: true, End: "fin"},
				{Client: server, SYN: true, End: "gone"},
			},
		},
		{
			name: "a client's: what it writes goes to the server",
			k: scripted{
				control: []bpf.Control{opened(5, bpf.Client, 10), {Kind: bpf.TLS, Cookie: 5, Time: 11}, bound, {Kind: bpf.Close, Flags: bpf.Client, Cookie: 5, Time: 70}},
				data:    []bpf.Data{piece(5, true, 0, asked, 30), piece(5, false, 0, answer, 40)},
			},
			side: ebpfSide{client: true},
			want: []told{
				{Client: "10.0.0.1:443", Dir: ToServer, Data: asked, Want: len(asked), SYN: true},
				{Client: "10.0.0.1:443", Dir: ToClient, Data: answer, Want: len(answer), SYN: true},
				{Client: "10.0.0.1:443", Dir: ToServer, Pos: int64(len(asked)), SYN: true, End: "rst"},
				{Client: "10.0.0.1:443", SYN: true, End: "gone"},
			},
		},
		{
			name: "the answer's end found the ring full",
			k: scripted{
				control: []bpf.Control{opened(5, 0, 10), {Kind: bpf.TLS, Cookie: 5, Time: 11}, bound, {Kind: bpf.Close, Cookie: 5, Time: 70}},
				data:    []bpf.Data{piece(5, false, 0, asked, 30)},
			},
			tls:  scriptedTLS{lengths: map[streamKey][2]int64{stream: {int64(len(asked)), 50}}},
			side: ebpfSide{server: true},
			want: []told{
				{Client: server, Dir: ToServer, Data: asked, Want: len(asked), SYN: true},
				{Client: server, Dir: ToClient, Want: 50, Cut: "ring_full", SYN: true},
				{Client: server, Dir: ToClient, Pos: 50, SYN: true, End: "rst"},
				{Client: server, SYN: true, End: "gone"},
			},
		},
		{
			name: "bound to no connection: no address, and its side by its words",
			k: scripted{
				data:    []bpf.Data{piece(0, true, 0, asked, 30), piece(0, false, 0, answer, 40)},
				control: []bpf.Control{{Kind: bpf.Unbind, TGID: 7, SSL: 0xabc, Generation: 1, Time: 50, Pos: [2]int64{27, 18}}},
				counts:  bpf.Counts{Unbound: [2]bpf.Count{{Events: 1, Bytes: 27}, {Events: 1, Bytes: 18}}},
			},
			side: ebpfSide{server: true, client: true},
			want: []told{
				{Dir: ToServer, Data: asked, Want: len(asked), SYN: true},
				{Dir: ToClient, Data: answer, Want: len(answer), SYN: true},
				{Dir: ToClient, Pos: int64(len(answer)), SYN: true, End: "fin"},
				{SYN: true, End: "gone"},
			},
			warns: "45 bytes of TLS could be bound to no connection",
		},
		{
			name: "bound to no connection, and of the side that is not asked for",
			k: scripted{
				data:   []bpf.Data{piece(0, true, 0, asked, 30), piece(0, false, 0, answer, 40)},
				counts: bpf.Counts{Unbound: [2]bpf.Count{{Events: 1, Bytes: 27}, {Events: 1, Bytes: 18}}},
			},
			side:  ebpfSide{server: true},
			warns: "45 of these bytes are of the side that was not asked for",
		},
		{
			name: "older than the probes: its beginning may be missing",
			k: scripted{
				control: []bpf.Control{opened(5, 0, 10), {Kind: bpf.TLS, Cookie: 5, Time: 11}, bound},
				data:    []bpf.Data{piece(5, false, 0, asked, 30)},
			},
			tls:  scriptedTLS{since: 1e18 + 15},
			side: ebpfSide{server: true},
			want: []told{{Client: server, Dir: ToServer, Data: asked, Want: len(asked)}},
		},
		{
			name: "of no library that is read",
			k: scripted{control: []bpf.Control{
				opened(5, 0, 10), {Kind: bpf.TLS, Cookie: 5, Time: 11}, {Kind: bpf.Close, Cookie: 5, Time: 70, Pos: [2]int64{300, 4000}},
			}},
			side:  ebpfSide{server: true},
			warns: `4300 bytes of TLS were not read: process "server", port 443: rustls: no`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.k.source(t, &tt.tls, tt.side)
			got := tellAll(t, s)
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("segments (-want +got):\n%s", diff)
			}
			if warned := strings.Join(s.Stats().Warnings, "\n"); !strings.Contains(warned, tt.warns) || !strings.Contains(warned, "trouble") {
				t.Errorf("warnings: %q", warned)
			}
			if tt.tls.closed != 2 {
				t.Errorf("libraries were let go of %d times", tt.tls.closed)
			}
		})
	}
}

func TestLooksAsked(t *testing.T) {
	tests := []struct {
		text           string
		request, known bool
	}{
		{"POST /v1/chat/completions HTTP/1.1\r\n", true, true},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", true, true},
		{"HTTP/1.1 200 OK\r\n", false, true},
		{"\x00\x00\x12\x04\x00\x00\x00\x00\x00", false, false},
		{"", false, false},
		{"no method", false, false},
	}
	for _, tt := range tests {
		if request, known := looksAsked([]byte(tt.text)); request != tt.request || known != tt.known {
			t.Errorf("%q: %v, %v", tt.text, request, known)
		}
	}
}

package recorder

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const msec = int64(1e6)

// cut is a segment of one direction, as a source gives it.
func cut(c *ConnInfo, d Dir, pos int64, data string, t int64) *Segment {
	return &Segment{Conn: c, Dir: d, Pos: pos, Data: []byte(data), Want: len(data), Time: t}
}

func newConn() *ConnInfo { return &ConnInfo{ID: 1, SawSYN: true} }

// cases.md 3: pieces of 60 bytes at 0, 120, 60, 180, and one that comes 200 ms
// late. Same bytes and times as in order, and no gap.
func TestReorderByPosition(t *testing.T) {
	block := func(i int) string { return strings.Repeat(string(rune('a'+i)), 60) }
	at := []int64{1000, 1020, 1040, 1060} // time of each block, ms
	orders := map[string]struct {
		seq  []int
		late int64 // how much later block 1 is delivered
	}{
		"in order":     {[]int{0, 1, 2, 3}, 0},
		"out of order": {[]int{0, 2, 1, 3}, 0},
		"200 ms late":  {[]int{0, 2, 3, 1}, 200},
	}
	for name, order := range orders {
		log := newStreamLog()
		r := newReassembler(log)
		c := newConn()
		for _, i := range order.seq {
			if i == 1 {
				r.tick((at[3] + order.late) * msec)
			}
			r.add(cut(c, ToClient, int64(i)*60, block(i), at[i]*msec))
		}
		r.flush()
		dir := log.conns[1].dirs[ToClient]
		if len(dir.gaps) != 0 || string(dir.data) != block(0)+block(1)+block(2)+block(3) {
			t.Errorf("%s: gaps %v, data %q", name, dir.gaps, dir.data)
		}
		for i, ms := range at {
			if dir.times[i*60] != ms*msec || dir.times[i*60+59] != ms*msec {
				t.Errorf("%s: block %d at %d and %d, want %d ms", name, i, dir.times[i*60], dir.times[i*60+59], ms)
			}
		}
	}
}

func TestHoles(t *testing.T) {
	acked := func(s *Segment, n int64) *Segment { s.Acked = n; return s }
	cutShort := func(s *Segment, want int, why string) *Segment { s.Want, s.Cut = want, why; return s }
	ended := func(s *Segment) *Segment { s.FIN = true; return s }
	broken := func(s *Segment) *Segment { s.RST = true; return s }
	c := newConn()
	// Each row is a script for one connection; tick rows have no Conn.
	tests := []struct {
		name string
		segs []*Segment
		want []string
	}{
		{"filled in time: no gap", []*Segment{
			cut(c, ToClient, 2, "cd", 1e9), cut(c, ToClient, 0, "ab", 9e9),
		}, []string{`data 1 to_client 0 "ab" @9000000000`, `data 1 to_client 2 "cd" @1000000000`}},
		{"not filled in 10 s: gap, and what follows is delivered", []*Segment{
			cut(c, ToClient, 2, "cd", 1e9), {Time: 11e9},
		}, []string{`gap 1 to_client 0+2 gap @1000000000`, `data 1 to_client 2 "cd" @1000000000`}},
		{"acknowledged and not filled in 1 s: gap", []*Segment{
			cut(c, ToClient, 2, "cd", 1e9), acked(cut(c, ToServer, 0, "", 1e9+1), 4), {Time: 2e9 + 1},
		}, []string{`gap 1 to_client 0+2 gap @1000000000`, `data 1 to_client 2 "cd" @1000000000`}},
		{"acknowledged up to the hole: waits on", []*Segment{
			cut(c, ToClient, 0, "ab", 1e9), cut(c, ToClient, 3, "d", 1e9), acked(cut(c, ToServer, 0, "", 1e9+1), 2), {Time: 9e9}, cut(c, ToClient, 2, "c", 9e9),
		}, []string{`data 1 to_client 0 "ab" @1000000000`, `data 1 to_client 2 "c" @9000000000`, `data 1 to_client 3 "d" @1000000000`}},
		{"two holes, both due", []*Segment{
			cut(c, ToClient, 1, "b", 1e9), cut(c, ToClient, 3, "d", 2e9), {Time: 12e9},
		}, []string{
			`gap 1 to_client 0+1 gap @1000000000`, `data 1 to_client 1 "b" @1000000000`,
			`gap 1 to_client 2+1 gap @2000000000`, `data 1 to_client 3 "d" @2000000000`,
		}},
		{"cut by the capture", []*Segment{
			cutShort(cut(c, ToClient, 0, "ab", 1e9), 5, ""), cut(c, ToClient, 5, "f", 1e9),
		}, []string{`data 1 to_client 0 "ab" @1000000000`, `gap 1 to_client 2+3 snaplen @1000000000`, `data 1 to_client 5 "f" @1000000000`}},
		{"dropped by the source", []*Segment{
			cutShort(cut(c, ToClient, 0, "", 1e9), 5, lostCap), cut(c, ToClient, 5, "f", 1e9),
		}, []string{`gap 1 to_client 0+5 cap @1000000000`, `data 1 to_client 5 "f" @1000000000`}},
		{"cut and held, then whole", []*Segment{
			cutShort(cut(c, ToClient, 2, "c", 1e9), 3, ""), cut(c, ToClient, 2, "cde", 2e9), cut(c, ToClient, 0, "ab", 3e9),
		}, []string{`data 1 to_client 0 "ab" @3000000000`, `data 1 to_client 2 "c" @1000000000`, `data 1 to_client 3 "de" @2000000000`}},
		{"whole and held, then cut longer", []*Segment{
			cut(c, ToClient, 2, "c", 1e9), cutShort(cut(c, ToClient, 1, "b", 2e9), 4, ""), cut(c, ToClient, 0, "a", 3e9),
		}, []string{
			`data 1 to_client 0 "a" @3000000000`, `data 1 to_client 1 "b" @2000000000`,
			`data 1 to_client 2 "c" @1000000000`, `gap 1 to_client 3+2 snaplen @2000000000`,
		}},
		{"end before its data", []*Segment{
			ended(cut(c, ToClient, 2, "", 2e9)), cut(c, ToClient, 0, "ab", 3e9),
		}, []string{`data 1 to_client 0 "ab" @3000000000`, `fin 1 to_client @2000000000`}},
		{"end without its data", []*Segment{
			ended(cut(c, ToClient, 2, "", 2e9)), {Time: 12e9},
		}, []string{`gap 1 to_client 0+2 gap @2000000000`, `fin 1 to_client @2000000000`}},
		{"data behind the end", []*Segment{
			ended(cut(c, ToClient, 0, "ab", 2e9)), cut(c, ToClient, 2, "cd", 3e9), cut(c, ToClient, 9, "x", 3e9),
		}, []string{`data 1 to_client 0 "ab" @2000000000`, `fin 1 to_client @2000000000`}},
		{"broken off behind a hole", []*Segment{
			cut(c, ToClient, 2, "cd", 1e9), broken(cut(c, ToServer, 0, "", 2e9)),
		}, []string{`gap 1 to_client 0+2 gap @1000000000`, `data 1 to_client 2 "cd" @1000000000`, `rst 1 to_server @2000000000`}},
		{"forgotten behind a hole", []*Segment{
			cut(c, ToClient, 2, "cd", 1e9), {Conn: c, Gone: true, Time: 2e9},
		}, []string{`gap 1 to_client 0+2 gap @1000000000`, `data 1 to_client 2 "cd" @1000000000`}},
		{"first copy wins", []*Segment{
			cut(c, ToClient, 0, "abc", 1e9), cut(c, ToClient, 1, "XYd", 2e9), cut(c, ToClient, 6, "g", 3e9), cut(c, ToClient, 5, "fGh", 4e9), cut(c, ToClient, 4, "e", 5e9),
		}, []string{
			`data 1 to_client 0 "abc" @1000000000`, `data 1 to_client 3 "d" @2000000000`, `data 1 to_client 4 "e" @5000000000`,
			`data 1 to_client 5 "f" @4000000000`, `data 1 to_client 6 "g" @3000000000`, `data 1 to_client 7 "h" @4000000000`,
		}},
		{"before the first byte seen", []*Segment{
			cut(c, ToClient, 0, "ab", 1e9), cut(c, ToClient, -3, "xyzab", 2e9), cut(c, ToClient, -9, "xy", 2e9),
		}, []string{`data 1 to_client 0 "ab" @1000000000`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c.streams = nil
			log := newStreamLog()
			r := newReassembler(log)
			for _, s := range tt.segs {
				if s.Conn == nil {
					r.tick(s.Time)
					continue
				}
				r.add(s)
			}
			r.flush()
			if len(r.holed) != 0 || r.held != 0 {
				t.Errorf("%d connections with holes, %d bytes held at the end", len(r.holed), r.held)
			}
			got := slices.DeleteFunc(log.events, func(e string) bool {
				return strings.HasPrefix(e, "open") || strings.HasPrefix(e, "closed")
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReassemblyCounts(t *testing.T) {
	r := newReassembler(newStreamLog())
	c := newConn()
	for _, s := range []*Segment{
		cut(c, ToClient, 0, "ab", 1e9),
		cut(c, ToClient, 0, "ab", 1e9),        // 2 duplicate
		cut(c, ToClient, -2, "..ab", 1e9),     // 2 late, 2 duplicate
		cut(c, ToClient, 10, "k", 1e9),        // reordered
		cut(c, ToClient, 10, "Kl", 1e9),       // reordered, 1 duplicate, 1 conflicting
		cut(c, ToClient, 12, "m", 12e9),       // 2..10 are given up here
		cut(c, ToClient, 2, "cdefghij", 13e9), // 8 late
	} {
		r.add(s)
	}
	r.flush()
	r.add(cut(c, ToClient, 13, "n", 14e9)) // 1 late
	want := reassemblyStats{
		DuplicateBytes: 5, ConflictingBytes: 1, LateBytes: 11, Reordered: 2, PeakHeld: 2 + 2*pieceCost,
	}
	if diff := cmp.Diff(want, r.stats); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

// What is held back is bounded, per direction and over all; the hole is given
// up as "cap", what is behind it is delivered.
func TestHeldBytesAreBounded(t *testing.T) {
	block := strings.Repeat("x", 1<<16)
	log := newStreamLog()
	log.quiet = true
	r := newReassembler(log)
	var conns []*ConnInfo
	for i := range 40 {
		conns = append(conns, &ConnInfo{ID: uint64(i + 1)})
		for at := int64(1); at < 3<<20; at += 1 << 16 {
			r.add(cut(conns[i], ToServer, at, block, 1e9))
		}
		if r.held > maxHeldTotal {
			t.Fatalf("%d bytes held", r.held)
		}
	}
	if r.stats.GivenUp == 0 || log.conns[1].dirs[0].gaps[0] != "0+1 cap" || len(log.conns[40].dirs[0].gaps) != 0 {
		t.Errorf("given up %d, first %v, last %v", r.stats.GivenUp, log.conns[1].dirs[0].gaps, log.conns[40].dirs[0].gaps)
	}
	one := &ConnInfo{ID: 100}
	for at := int64(1); at < 5<<20; at += 1 << 16 {
		r.add(cut(one, ToServer, at, block, 1e9))
	}
	if got := log.conns[100].dirs[0].gaps; len(got) != 1 || got[0] != "0+1 cap" {
		t.Errorf("one direction: %v", got)
	}
	tiny := &ConnInfo{ID: 101}
	for i := range int64(maxPieces + 1) {
		r.add(cut(tiny, ToServer, 1+2*i, "x", 1e9))
	}
	if got := log.conns[101].dirs[0].gaps; len(got) != 1 || got[0] != "0+1 cap" {
		t.Errorf("many pieces: %v", got)
	}
}

// scramble cuts a stream into overlapping segments, repeats some, and moves
// each by a few places. Segments that touch a hole are left out whole, so the
// bytes that never come are known. Returned: segments and, per byte, whether it
// comes.
func scramble(rng *rand.Rand, c *ConnInfo, d Dir, stream []byte) (segs []*Segment, seen []bool) {
	seen = make([]bool, len(stream))
	for at := 0; at < len(stream); {
		n := min(1+rng.IntN(40), len(stream)-at)
		from, to := max(0, at-rng.IntN(8)), min(len(stream), at+n+rng.IntN(8))
		at += n
		if rng.IntN(12) == 0 {
			continue
		}
		for range 1 + rng.IntN(2) {
			segs = append(segs, cut(c, d, int64(from), string(stream[from:to]), 0))
		}
		for i := from; i < to; i++ {
			seen[i] = true
		}
	}
	for i := range segs {
		j := min(len(segs)-1, i+rng.IntN(6))
		segs[i], segs[j] = segs[j], segs[i]
	}
	for i, s := range segs {
		s.Time = int64(i) * 1e3
	}
	return segs, seen
}

// Any cutting, repetition, overlap and order gives the same bytes and the same
// gaps, and every byte the time of the first segment that had it.
func TestAnyOrderGivesTheSame(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		stream := make([]byte, 200+rng.IntN(2000))
		for i := range stream {
			stream[i] = byte('a' + rng.IntN(26))
		}
		c := newConn()
		segs, seen := scramble(rng, c, ToClient, stream)
		first := make([]int64, len(stream))
		for _, s := range slices.Backward(segs) {
			for i := range s.Want {
				first[s.Pos+int64(i)] = s.Time
			}
		}
		log := newStreamLog()
		r := newReassembler(log)
		for _, s := range segs {
			r.add(s)
		}
		end := cut(c, ToClient, int64(len(stream)), "", int64(len(segs))*1e3)
		end.FIN = true
		r.add(end)
		r.flush()
		dir := log.conns[1].dirs[ToClient]
		want := bytes.Clone(stream)
		for i := range want {
			if !seen[i] {
				want[i], first[i] = '?', 0
			}
		}
		if string(dir.data) != string(want) || !slices.Equal(dir.times, first) || !dir.fin {
			t.Fatalf("seed %d: got\n%q, want\n%q", seed, dir.data, want)
		}
		if diff := cmp.Diff(holes(seen), dir.gaps); diff != "" {
			t.Fatalf("seed %d: gaps (-want +got):\n%s", seed, diff)
		}
	}
}

func holes(seen []bool) []string {
	var out []string
	for i := 0; i < len(seen); i++ {
		j := i
		for j < len(seen) && !seen[j] {
			j++
		}
		if j > i {
			out = append(out, fmt.Sprintf("%d+%d gap", i, j-i))
			i = j
		}
	}
	return out
}

// FuzzReassemble takes a script of segments, four bytes each: position, length
// and flags. streamLog panics where calls do not join; every byte handed out
// was sent and has its value; nothing is held at the end; and cutting each
// segment in two changes nothing.
func FuzzReassemble(f *testing.F) {
	f.Add([]byte("\x00\x00\x05\x00\x00\x05\x05\x00\x00\x14\x05\x00\x00\x0a\x0a\x04"))
	f.Add([]byte("\x00\x10\x05\x01\x00\x08\x20\x01\x00\x00\x09\x03\x00\x00\x00\x08"))
	f.Add([]byte("\x00\x10\x05\x10\x00\x08\x20\x20\x00\x00\x09\x00\xff\xf0\x20\x40"))
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 4*maxPieces/2 {
			return // more pieces than are held
		}
		segs := scriptSegments(script)
		whole := replaySegments(t, segs)
		checkSent(t, segs, whole)
		var halves []*Segment
		for _, s := range segs {
			halves = append(halves, inTwo(s)...)
		}
		if !consistent(segs) {
			return
		}
		if diff := cmp.Diff(streamsOf(whole), streamsOf(replaySegments(t, halves))); diff != "" {
			t.Fatalf("cut in two (-whole +halves):\n%s", diff)
		}
	})
}

// scriptSegments makes one connection's segments; each byte's value is its
// position.
func scriptSegments(script []byte) []*Segment {
	var segs []*Segment
	var now int64
	for ; len(script) >= 4; script = script[4:] {
		flags := script[3]
		s := &Segment{Dir: Dir(flags & 1), Pos: int64(int16(binary.BigEndian.Uint16(script))), Want: int(script[2]), Time: now}
		have := s.Want
		if flags&0x10 != 0 {
			have /= 2
		}
		if flags == 0xff {
			s.Gone, s.Want, have = true, 0, 0
		}
		s.Data = make([]byte, have)
		for i := range s.Data {
			s.Data[i] = byte(s.Pos + int64(i))
		}
		s.FIN, s.RST = flags&2 != 0, flags&12 == 12
		if flags&0x20 != 0 {
			s.Acked = s.Pos
		}
		if flags&0x40 != 0 {
			now += 3e9
		}
		segs = append(segs, s)
		now += 1e6
	}
	return segs
}

// consistent reports whether order cannot matter: no packet was cut by the
// capture (whether a whole copy comes in time depends on the order), and no
// data lies behind an end.
func consistent(segs []*Segment) bool {
	end := [2]int64{1 << 20, 1 << 20}
	for _, s := range segs {
		if s.FIN {
			end[s.Dir] = min(end[s.Dir], s.Pos+int64(s.Want))
		}
	}
	return !slices.ContainsFunc(segs, func(s *Segment) bool {
		return len(s.Data) < s.Want || s.Pos+int64(s.Want) > end[s.Dir]
	})
}

// inTwo cuts a segment in its captured part; its end stays with the second.
func inTwo(s *Segment) []*Segment {
	n := len(s.Data) / 2
	if n == 0 {
		return []*Segment{s}
	}
	first, second := *s, *s
	first.Data, first.Want, first.FIN, first.RST = s.Data[:n], n, false, false
	second.Data, second.Want, second.Pos = s.Data[n:], s.Want-n, s.Pos+int64(n)
	return []*Segment{&first, &second}
}

func replaySegments(t *testing.T, segs []*Segment) *streamLog {
	t.Helper()
	log := newStreamLog()
	r := newReassembler(log)
	c := newConn()
	for _, s := range segs {
		s.Conn = c
		r.add(s)
	}
	r.flush()
	if r.held != 0 || len(r.holed) != 0 {
		t.Fatalf("%d bytes, %d connections left", r.held, len(r.holed))
	}
	return log
}

// checkSent compares what was handed out with what was sent.
func checkSent(t *testing.T, segs []*Segment, log *streamLog) {
	t.Helper()
	sent := [2]map[int64]bool{{}, {}}
	for _, s := range segs {
		for i := range s.Data {
			sent[s.Dir][s.Pos+int64(i)] = true
		}
	}
	for _, conn := range log.conns {
		for d := range conn.dirs {
			for i, b := range conn.dirs[d].data {
				lost := conn.dirs[d].times[i] == 0 && b == '?'
				if !lost && (b != byte(i) || !sent[d][int64(i)]) {
					t.Fatalf("%v byte %d is %d, sent: %v", Dir(d), i, b, sent[d][int64(i)])
				}
			}
		}
	}
}

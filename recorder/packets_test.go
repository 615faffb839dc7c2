package recorder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/gopacket/layers"
)

// The helpers below build packets from the inside out, each adding one header.

// tcpHeader is a TCP segment; options pad it to a larger header.
type tcpHeader struct {
	sport, dport uint16
	seq, ack     uint32
	flags        uint8
	options      int
}

func (h tcpHeader) with(payload string) []byte {
	b := make([]byte, 20+h.options, 20+h.options+len(payload))
	binary.BigEndian.PutUint16(b, h.sport)
	binary.BigEndian.PutUint16(b[2:], h.dport)
	binary.BigEndian.PutUint32(b[4:], h.seq)
	binary.BigEndian.PutUint32(b[8:], h.ack)
	b[12] = byte(5+h.options/4) << 4
	b[13] = h.flags
	return append(b, payload...)
}

func ipv4(proto layers.IPProtocol, body []byte) []byte { return ipv4Options(proto, 0, body) }

func ipv4Options(proto layers.IPProtocol, options int, body []byte) []byte {
	b := make([]byte, 20+options, 20+options+len(body))
	b[0] = 0x40 | byte(5+options/4)
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)+len(body)))
	b[6] = 0x40 // do not fragment
	b[8], b[9] = 64, uint8(proto)
	copy(b[12:], []byte{10, 0, 0, 1})
	copy(b[16:], []byte{10, 0, 0, 2})
	return append(b, body...)
}

// ipv6 puts the body, which may begin with extension headers, behind a header.
func ipv6(next layers.IPProtocol, body []byte) []byte {
	b := make([]byte, 40, 40+len(body))
	b[0] = 0x60
	binary.BigEndian.PutUint16(b[4:], uint16(len(body)))
	b[6], b[7] = uint8(next), 64
	b[8], b[23] = 0xfd, 1
	b[24], b[39] = 0xfd, 2
	return append(b, body...)
}

func ether(proto layers.EthernetType, body []byte) []byte {
	b := make([]byte, 14, 14+len(body))
	binary.BigEndian.PutUint16(b[12:], uint16(proto))
	return append(b, body...)
}

func vlan(proto layers.EthernetType, body []byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0, 7}, uint16(proto)), body...)
}

func joined(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// captured is a packet to be put into a file.
type captured struct {
	ns   int64
	data []byte
	orig int // 0 = len(data)
}

func (c captured) wire() int { return max(c.orig, len(c.data)) }

// pcapFile writes the classic format with the given magic.
func pcapFile(order binary.AppendByteOrder, magic, link uint32, packets ...captured) []byte {
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	b = order.AppendUint32(b, 262144)
	b = order.AppendUint32(b, link)
	for _, p := range packets {
		frac := p.ns % 1e9
		if magic != magicNano {
			frac /= 1000
		}
		b = order.AppendUint32(b, uint32(p.ns/1e9))
		b = order.AppendUint32(b, uint32(frac))
		b = order.AppendUint32(b, uint32(len(p.data)))
		b = order.AppendUint32(b, uint32(p.wire()))
		if magic == magicModified {
			b = append(b, make([]byte, 8)...)
		}
		b = append(b, p.data...)
	}
	return b
}

// microPcap is the most common file: little endian, microseconds.
func microPcap(link uint32, packets ...captured) []byte {
	return pcapFile(binary.LittleEndian, magicMicro, link, packets...)
}

// streamLog is a streamHandler that keeps everything.
type streamLog struct {
	events []string
	conns  map[uint64]*connLog
	// quiet keeps nothing but lengths and gaps, for large inputs.
	quiet bool
}

type connLog struct {
	info *ConnInfo
	dirs [2]dirLog
	end  string
}

// dirLog is one direction; lost bytes are "?" in data and 0 in times.
type dirLog struct {
	n     int64
	data  []byte
	times []int64
	gaps  []string
	fin   bool
}

func newStreamLog() *streamLog { return &streamLog{conns: make(map[uint64]*connLog)} }

func (l *streamLog) note(format string, args ...any) {
	if !l.quiet {
		l.events = append(l.events, fmt.Sprintf(format, args...))
	}
}

func (l *streamLog) open(c *ConnInfo) {
	if l.conns[c.ID] != nil {
		panic("opened twice")
	}
	l.conns[c.ID] = &connLog{info: c}
	l.note("open %d", c.ID)
}

func (l *streamLog) dir(c *ConnInfo, d Dir, pos int64) *dirLog {
	conn := l.conns[c.ID]
	if conn == nil || conn.end != "" {
		panic("not open")
	}
	dir := &conn.dirs[d]
	if dir.fin {
		panic("after fin")
	}
	if pos >= 0 && dir.n != pos {
		panic(fmt.Sprintf("position %d after %d bytes", pos, dir.n))
	}
	return dir
}

func (l *streamLog) data(c *ConnInfo, d Dir, pos int64, b []byte, t int64) {
	if len(b) == 0 {
		panic("no data")
	}
	dir := l.dir(c, d, pos)
	dir.n += int64(len(b))
	if l.quiet {
		return
	}
	dir.data = append(dir.data, b...)
	for range b {
		dir.times = append(dir.times, t)
	}
	l.note("data %d %v %d %q @%d", c.ID, d, pos, b, t)
}

func (l *streamLog) gap(c *ConnInfo, d Dir, pos, n int64, reason string, t int64) {
	if n <= 0 {
		panic("empty gap")
	}
	dir := l.dir(c, d, pos)
	dir.gaps = append(dir.gaps, fmt.Sprintf("%d+%d %s", pos, n, reason))
	dir.n += n
	if !l.quiet && n < 1<<24 {
		dir.data = append(dir.data, bytes.Repeat([]byte("?"), int(n))...)
		dir.times = append(dir.times, make([]int64, n)...)
	}
	l.note("gap %d %v %d+%d %s @%d", c.ID, d, pos, n, reason, t)
}

func (l *streamLog) fin(c *ConnInfo, d Dir, t int64) {
	l.dir(c, d, -1).fin = true
	l.note("fin %d %v @%d", c.ID, d, t)
}

func (l *streamLog) rst(c *ConnInfo, d Dir, t int64) {
	l.conns[c.ID].dirs[d].fin = true
	l.note("rst %d %v @%d", c.ID, d, t)
}

func (l *streamLog) closed(c *ConnInfo, t int64) {
	if l.conns[c.ID].end != "" {
		panic("closed twice")
	}
	l.conns[c.ID].end = "closed"
	l.note("closed %d @%d", c.ID, t)
}

// readAll runs a source through the reassembler to its end.
func readAll(src Source) (*streamLog, reassemblyStats, error) {
	log := newStreamLog()
	r := newReassembler(log)
	for {
		seg, err := src.Next()
		if errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			r.add(&seg)
			continue
		}
		r.flush()
		return log, r.stats, err
	}
}

// openReader opens one capture.
func openReader(r io.Reader, name string, ports ...int) (Source, error) {
	return OpenReaders([]Input{{name, r}}, ports...)
}

// readBytes reads one capture held in memory.
func readBytes(tb testing.TB, file []byte, ports ...int) (*streamLog, Source, reassemblyStats) {
	tb.Helper()
	src, err := openReader(bytes.NewReader(file), "test.pcap", ports...)
	if err != nil {
		tb.Fatal(err)
	}
	log, stats, err := readAll(src)
	if err != nil {
		tb.Fatal(err)
	}
	return log, src, stats
}

// text is a direction's bytes of one connection.
func (l *streamLog) text(id uint64, d Dir) string {
	if l.conns[id] == nil {
		return ""
	}
	return string(l.conns[id].dirs[d].data)
}

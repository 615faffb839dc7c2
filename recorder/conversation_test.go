package recorder

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// script is a capture file in the making: packets of any number of
// connections at chosen times.
type script struct{ packets []scriptPacket }

type scriptPacket struct {
	t    int64
	data []byte
}

// talk is one scripted connection from 10.0.0.1:port to 10.0.0.2:8000. Times
// are offsets from the capture's start.
type talk struct {
	s    *script
	port uint16
	seq  [2]uint32
}

// captureStart is the zero of a script's times.
const captureStart = int64(1_700_000_000_000_000_000)

const (
	tcpFIN = 1
	tcpSYN = 2
	tcpRST = 4
	tcpACK = 16
)

// connect adds a connection with its handshake at t, 1 ms long.
func (s *script) connect(port uint16, t time.Duration) *talk {
	k := &talk{s: s, port: port, seq: [2]uint32{1000, 5000}}
	k.packet(ToServer, t, tcpSYN, nil)
	k.seq[ToServer]++
	k.packet(ToClient, t+500*time.Microsecond, tcpSYN|tcpACK, nil)
	k.seq[ToClient]++
	k.packet(ToServer, t+time.Millisecond, tcpACK, nil)
	return k
}

// joined adds a connection that was open before the capture.
func (s *script) joined(port uint16) *talk {
	return &talk{s: s, port: port, seq: [2]uint32{1000, 5000}}
}

// packet adds one packet; sequence numbers do not move.
func (k *talk) packet(d Dir, t time.Duration, flags byte, data []byte) {
	src, dst, from, to := byte(1), byte(2), k.port, uint16(8000)
	if d == ToClient {
		src, dst, from, to = 2, 1, to, from
	}
	b := make([]byte, 40, 40+len(data))
	b[0], b[8], b[9] = 0x45, 64, 6
	binary.BigEndian.PutUint16(b[2:], uint16(40+len(data)))
	copy(b[12:], []byte{10, 0, 0, src, 10, 0, 0, dst})
	binary.BigEndian.PutUint16(b[20:], from)
	binary.BigEndian.PutUint16(b[22:], to)
	binary.BigEndian.PutUint32(b[24:], k.seq[d])
	if flags != tcpSYN {
		flags |= tcpACK
		binary.BigEndian.PutUint32(b[28:], k.seq[d.Other()])
	}
	b[32], b[33] = 0x50, flags
	binary.BigEndian.PutUint16(b[34:], 65535)
	k.s.packets = append(k.s.packets, scriptPacket{captureStart + int64(t), append(b, data...)})
}

// send adds data in one direction at t, in packets of at most 60 kB.
func (k *talk) send(d Dir, t time.Duration, data string) *talk {
	for piece := range slices.Chunk([]byte(data), 60000) {
		k.packet(d, t, 0, piece)
		k.seq[d] += uint32(len(piece))
	}
	return k
}

func (k *talk) client(t time.Duration, data string) *talk { return k.send(ToServer, t, data) }
func (k *talk) server(t time.Duration, data string) *talk { return k.send(ToClient, t, data) }

// lose moves on without a packet.
func (k *talk) lose(d Dir, n int) *talk {
	k.seq[d] += uint32(n)
	return k
}

func (k *talk) fin(d Dir, t time.Duration) *talk {
	k.packet(d, t, tcpFIN, nil)
	k.seq[d]++
	return k
}

func (k *talk) rst(d Dir, t time.Duration) *talk {
	k.packet(d, t, tcpRST, nil)
	return k
}

// pcap returns the file: raw IPv4, nanoseconds, packets in order of time.
func (s *script) pcap() []byte {
	slices.SortStableFunc(s.packets, func(a, b scriptPacket) int { return int(a.t - b.t) })
	out := binary.LittleEndian.AppendUint32(nil, 0xa1b23c4d)
	out = append(out, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	out = binary.LittleEndian.AppendUint32(out, 262144)
	out = binary.LittleEndian.AppendUint32(out, 101)
	for _, p := range s.packets {
		out = binary.LittleEndian.AppendUint32(out, uint32(p.t/1e9))
		out = binary.LittleEndian.AppendUint32(out, uint32(p.t%1e9))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(p.data)))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(p.data)))
		out = append(out, p.data...)
	}
	return out
}

// run records the script.
func (s *script) run(tb testing.TB, cfg Config) (*collector, Report) {
	tb.Helper()
	src, err := openReader(bytes.NewReader(s.pcap()), "script")
	if err != nil {
		tb.Fatal(err)
	}
	var c collector
	rep, err := Run(context.Background(), src, &c, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	if !c.totals.Balanced() || c.totals.OpenAtEnd != 0 {
		tb.Errorf("loss account does not balance: %+v", c.totals)
	}
	slices.SortFunc(c.list, func(a, b *trace.Exchange) int { return int(a.Ordinal) - int(b.Ordinal) })
	return &c, rep
}

// one records the script and returns its only exchange.
func (s *script) one(t *testing.T) *trace.Exchange {
	t.Helper()
	got, _ := s.run(t, Config{KeepText: true})
	if len(got.list) != 1 {
		t.Fatalf("exchanges: got %d, want 1: %q", len(got.list), summaries(got.list))
	}
	return got.list[0]
}

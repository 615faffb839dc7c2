package sse

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/testenv"
)

// message makes a binary message of header pairs and a payload.
func message(payload string, headers ...string) []byte {
	var h []byte
	for pair := range slices.Chunk(headers, 2) {
		h = append(append(h, byte(len(pair[0]))), pair[0]...)
		h = append(h, typeString)
		h = append(binary.BigEndian.AppendUint16(h, uint16(len(pair[1]))), pair[1]...)
	}
	return frameOf(h, payload)
}

func frameOf(headers []byte, payload string) []byte {
	b := lengths(uint32(minMessage+len(headers)+len(payload)), uint32(len(headers)))
	b = append(append(b, headers...), payload...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// lengths makes a prelude whose checksum is right, whatever it says.
func lengths(total, headers uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, total)
	b = binary.BigEndian.AppendUint32(b, headers)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func event(name, payload string) []byte {
	return message(payload, ":event-type", name, ":content-type", "application/json", ":message-type", "event")
}

// damage returns a copy with one bit turned; i < 0 counts from the end.
func damage(b []byte, i int) []byte {
	b = bytes.Clone(b)
	if i < 0 {
		i += len(b)
	}
	b[i] ^= 0x10
	return b
}

// readMessages feeds a stream in pieces of n bytes and lists the events.
func readMessages(d *EventStream, stream []byte, n int) (events []string) {
	emit := func(ev Event) {
		s := fmt.Sprintf("%d %s %s", ev.End, ev.Name, ev.Data)
		switch {
		case ev.Exception:
			s += " !"
		case ev.Damaged:
			s += " damaged"
		case ev.Partial && ev.Cut > 0:
			s += fmt.Sprint(" partial cut ", ev.Cut)
		case ev.Partial:
			s += " partial"
		case ev.Cut > 0:
			s += fmt.Sprint(" cut ", ev.Cut)
		}
		events = append(events, s)
	}
	for piece := range slices.Chunk(stream, n) {
		d.Feed(piece, emit)
	}
	d.Close(emit)
	return events
}

func TestEventStream(t *testing.T) {
	one, two := event("chunk", `{"a":1}`), event("chunk", `{"b":2}`)
	n := len(one)
	rows := []struct {
		name   string
		stream []byte
		want   []string
	}{
		{"nothing", nil, nil},
		{"two messages", slices.Concat(one, two), []string{fmt.Sprint(n, ` chunk {"a":1}`), fmt.Sprint(2*n, ` chunk {"b":2}`)}},
		{
			"an exception",
			message(`{"message":"m"}`, ":message-type", "exception", ":exception-type", "throttlingException"),
			[]string{`95 throttlingException {"message":"m"} !`},
		},
		{
			"an error without payload",
			message("", ":message-type", "error", ":error-code", "InternalServerError", ":error-message", "m"),
			[]string{"91 InternalServerError  !"},
		},
		{
			"headers of all types",
			frameOf([]byte("\x01a\x00\x01b\x01\x01c\x02x\x01d\x03xx\x01e\x04xxxx\x01f\x05xxxxxxxx\x01g\x06\x00\x01x"+
				"\x01h\x08xxxxxxxx\x01i\x09xxxxxxxxxxxxxxxx\x0b:event-type\x07\x00\x01e"), "p"),
			[]string{"102 e p"},
		},
		{"a header type that is none", frameOf([]byte("\x01a\x0a\x0b:event-type\x07\x00\x01e"), "p"), []string{"36  p"}},
		{"a header longer than the headers", frameOf([]byte("\x0b:event-type\x07\x00\x09e"), "p"), []string{"33  p"}},
		{"no headers, no payload", frameOf(nil, ""), []string{"16  "}},
		{
			"a payload's bit turned",
			slices.Concat(one, damage(two, -6), one),
			[]string{fmt.Sprint(n, ` chunk {"a":1}`), fmt.Sprint(2*n, "   damaged"), fmt.Sprint(3*n, ` chunk {"a":1}`)},
		},
		{
			"a length's bit turned: the next message is found",
			slices.Concat(one, damage(two, 2), one),
			[]string{fmt.Sprint(n, ` chunk {"a":1}`), fmt.Sprint(n+12, "   damaged"), fmt.Sprint(3*n, ` chunk {"a":1}`)},
		},
		{"length 0", slices.Concat(lengths(0, 0), one), []string{"12   damaged", fmt.Sprint(12+n, ` chunk {"a":1}`)}},
		{"length 2^31", slices.Concat(lengths(1<<31, 0), one), []string{"12   damaged", fmt.Sprint(12+n, ` chunk {"a":1}`)}},
		{"headers longer than the message", slices.Concat(lengths(20, 5), one), []string{"12   damaged", fmt.Sprint(12+n, ` chunk {"a":1}`)}},
		{"cut in a message", slices.Concat(one, two[:20]), []string{fmt.Sprint(n, ` chunk {"a":1}`), fmt.Sprint(n+20, "   partial")}},
		{"cut in a prelude", one[:5], []string{"5   partial"}},
		{"not a message at all", []byte(strings.Repeat("no messages here", 9)), []string{"12   damaged"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for _, n := range []int{1, 7, 13, 1 << 20} {
				if diff := cmp.Diff(row.want, readMessages(&EventStream{}, row.stream, n)); diff != "" {
					t.Errorf("pieces of %d (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

func TestEventStreamTooLong(t *testing.T) {
	one, long := event("chunk", "{}"), event("chunk", strings.Repeat("x", 1000))
	stream := slices.Concat(one, long, one, long[:500])
	a, b := len(one), len(long)
	want := []string{
		fmt.Sprint(a, " chunk {}"), fmt.Sprint(a+b, "   cut ", b), fmt.Sprint(2*a+b, " chunk {}"), fmt.Sprint(2*a+b+500, "   partial cut ", b),
	}
	for _, n := range []int{1, 99, len(stream)} {
		d := &EventStream{MaxEvent: 200}
		if diff := cmp.Diff(want, readMessages(d, stream, n)); diff != "" {
			t.Errorf("pieces of %d (-want +got):\n%s", n, diff)
		}
		if d.Dropped() != int64(b+500) || cap(d.part) > 2000 {
			t.Errorf("dropped %d, want %d; held %d bytes", d.Dropped(), b+500, cap(d.part))
		}
	}
}

// A hole in the stream: the reader finds the next message without the bytes
// before it, and calls nothing damaged.
func TestEventStreamResync(t *testing.T) {
	one := event("chunk", `{"a":1}`)
	d := &EventStream{}
	var got []string
	emit := func(ev Event) { got = append(got, fmt.Sprintf("%s %v", ev.Data, ev.Damaged)) }
	d.Feed(one[:30], emit)
	d.Resync()
	d.Feed(one[40:], emit)
	d.Feed(one, emit)
	d.Resync()
	d.Feed(one[5:], emit)
	d.Close(emit)
	if diff := cmp.Diff([]string{`{"a":1} false`}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestEventStreamRecorded reads what Bedrock sent: counts of the samples' own
// table, and no message damaged.
func TestEventStreamRecorded(t *testing.T) {
	dir := filepath.Join(testenv.Samples(t), "public", "wire")
	for name, want := range map[string]int{
		"bedrock_claude_invoke": 23, "bedrock_nova_converse_tool": 67, "bedrock_titan_converse_max_tokens": 5,
	} {
		data, err := os.ReadFile(filepath.Join(dir, name+".eventstream"))
		if err != nil {
			t.Fatal(err)
		}
		d, events := &EventStream{}, 0
		d.Feed(data, func(ev Event) {
			events++
			if ev.Damaged || ev.Exception || len(ev.Name) == 0 || len(ev.Data) == 0 {
				t.Errorf("%s: event %d: %+v", name, events, ev)
			}
		})
		d.Close(func(ev Event) { t.Errorf("%s: left over: %+v", name, ev) })
		if events != want {
			t.Errorf("%s: %d events, want %d", name, events, want)
		}
	}
}

// FuzzEventStream: every split gives the same events, and no more memory is
// held than was fed.
func FuzzEventStream(f *testing.F) {
	one := event("chunk", `{"a":1}`)
	for _, seed := range [][]byte{
		one, slices.Concat(one, damage(one, 20), one), slices.Concat(one, damage(one, 1), one[:40]),
		lengths(0, 0), lengths(1<<31, 0), lengths(maxMessage, 100), lengths(20, 9), frameOf([]byte("\x01a\x0a"), ""),
		message("{}", ":message-type", "exception", ":exception-type", "x"),
	} {
		f.Add(seed, uint8(7))
	}
	f.Fuzz(func(t *testing.T, stream []byte, n uint8) {
		d := &EventStream{MaxEvent: 1 << 10}
		whole := readMessages(&EventStream{MaxEvent: 1 << 10}, stream, len(stream)+1)
		if diff := cmp.Diff(whole, readMessages(d, stream, int(n)+1)); diff != "" {
			t.Errorf("pieces of %d differ from one piece:\n%s", int(n)+1, diff)
		}
		if len(d.part) != 0 || cap(d.part) > 4<<10 {
			t.Errorf("%d bytes held at the end, %d reserved", len(d.part), cap(d.part))
		}
	})
}

func BenchmarkEventStream(b *testing.B) {
	var stream []byte
	for range 1000 {
		stream = append(stream, event("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":" token"},"p":"abcdefghijklmnopq"}`)...)
	}
	for _, piece := range []int{1448, 64 << 10} {
		b.Run(fmt.Sprint("piece=", piece), func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			d, events := &EventStream{}, 0
			emit := func(Event) { events++ }
			for b.Loop() {
				for p := stream; len(p) > 0; p = p[min(piece, len(p)):] {
					d.Feed(p[:min(piece, len(p))], emit)
				}
			}
			if events%1000 != 0 {
				b.Fatal(events)
			}
		})
	}
}

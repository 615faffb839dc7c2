package recorder

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestHTTP2Bounds plays what is meant to cost memory or time: each is counted,
// and the next exchange is whole.
func TestHTTP2Bounds(t *testing.T) {
	rows := []struct {
		name   string
		play   func(h *h2talk)
		first  string // the exchange that is too much
		faults map[string]int64
	}{
		{"HPACK bomb", func(h *h2talk) {
			b := h.block(ToServer, ":method: GET", ":path: /1", "bomb: "+strings.Repeat("x", 4000))
			b = append(b, strings.Repeat("\xbe", 16000)...) // 64 MB of fields
			h.must(h.fr[0].WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b, EndStream: true, EndHeaders: true}))
		}, "GET 200 ok 0 1", map[string]int64{"head_limit": 1}},
		{"100,000 fields in CONTINUATION frames", func(h *h2talk) {
			h.must(h.fr[0].WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: h.block(ToServer, ":method: GET", ":path: /1"), EndStream: true}))
			for i := range 100 {
				h.hdr[0].Reset()
				for j := range 1000 {
					h.must(h.enc[0].WriteField(hpack.HeaderField{Name: fmt.Sprint("f", i, "-", j), Value: "v"}))
				}
				h.must(h.fr[0].WriteContinuation(1, i == 99, h.hdr[0].Bytes()))
			}
		}, "GET 200 ok 0 1", map[string]int64{"head_limit": 1}},
		{"100,000 empty CONTINUATION frames", func(h *h2talk) {
			h.must(h.fr[0].WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: h.block(ToServer, ":method: GET", ":path: /1"), EndStream: true}))
			for range 100_000 {
				h.must(h.fr[0].WriteContinuation(1, false, nil))
			}
			h.must(h.fr[0].WriteContinuation(1, true, nil))
		}, "GET 200 ok 0 1", nil},
		{"a field of 200 kB", func(h *h2talk) {
			b := append(h.block(ToServer, ":method: GET", ":path: /1"), "\x00\x01a\x7f\xc1\x99\x0c"+strings.Repeat("x", 200_000)...)
			h.must(h.fr[0].WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:9], EndStream: true}))
			h.must(h.fr[0].WriteContinuation(1, true, b[9:]))
		}, "GET 200 ok 0 1", map[string]int64{"head_limit": 1}},
		{"a field of 200 kB in the table, between others", func(h *h2talk) {
			b := append(h.block(ToServer, ":method: GET", ":path: /1", "x! y"), "\x40\x01a\x7f\xc1\x99\x0c"+strings.Repeat("x", 200_000)...)
			h.enc[0].SetMaxDynamicTableSize(0) // as the table is behind it: empty
			h.enc[0].SetMaxDynamicTableSize(initialTable)
			h.must(h.fr[0].WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:9], EndStream: true}))
			h.must(h.fr[0].WriteContinuation(1, true, b[9:]))
		}, "GET 200 ok 0 1", map[string]int64{"head_limit": 1}},
		{"a field of 300 kB", func(h *h2talk) {
			b := append(h.block(ToServer, ":method: GET", ":path: /1"), "\x00\x01a\x7f\xe1\xa6\x12"+strings.Repeat("x", 300_000)...)
			h.must(h.fr[0].WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:9], EndStream: true}))
			h.must(h.fr[0].WriteContinuation(1, true, b[9:]))
		}, "GET 200 cut_by_capture 0 1", map[string]int64{faultHPACK: 1}},
		{"a table of a gigabyte", func(h *h2talk) {
			b := append([]byte("\x3f\xe1\xff\xff\xff\x03"), h.block(ToServer, ":method: GET", ":path: /1")...)
			h.must(h.fr[0].WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b, EndStream: true, EndHeaders: true}))
		}, " 200 cut_by_capture 0 1", map[string]int64{faultHPACK: 1}},
		{"settings, pings, window updates and priorities without end", func(h *h2talk) {
			h.ask(1, "GET", "/1", "")
			for range 20_000 {
				h.settings(ToServer)
				h.must(h.fr[0].WritePing(false, [8]byte{}))
				h.must(h.fr[0].WriteWindowUpdate(0, 1))
				h.must(h.fr[0].WritePriority(9, http2.PriorityParam{}))
			}
		}, "GET 200 ok 0 1", nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var s script
			h := s.h2(t, 1)
			row.play(h)
			h.send(ToServer, 4*ms)
			h.answer(1, "200", "1").send(ToClient, 5*ms)
			h.headers(ToServer, 3, true, ":method: GET", ":path! /3", "a! b").send(ToServer, 6*ms)
			h.answer(3, "200", "three").send(ToClient, 7*ms)
			got, rep := s.run(t, Config{})
			if diff := cmp.Diff([]string{row.first, "GET 200 ok 0 5"}, summaries(got.list)); diff != "" {
				t.Fatalf("exchanges (-want +got):\n%s", diff)
			}
			if row.faults == nil {
				row.faults = map[string]int64{}
			}
			if diff := cmp.Diff(row.faults, rep.Faults); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			size := 0
			for _, f := range got.list[0].ReqHeader {
				size += len(f.Name) + len(f.Value) + fieldCost
			}
			if size > maxHead {
				t.Errorf("%d bytes of header kept", size)
			}
		})
	}
}

// openStreams has conns connections with as many open streams each that have
// had events of 1.6 bytes of text.
func openStreams(tb testing.TB, r *recording, conns, streams, events int) {
	for id := range uint64(conns) {
		info := &ConnInfo{ID: id + 1, SawSYN: true}
		h := newH2Talk(tb, nil)
		flush := func(d Dir, t int64) {
			r.data(info, d, 0, h.out[d].Bytes(), t)
			h.out[d].Reset()
		}
		r.open(info)
		h.preface()
		for i := range uint32(streams) {
			h.ask(2*i+1, "POST", "/v1/chat/completions", chatBody)
			h.headers(ToClient, 2*i+1, false, ":status: 200", "content-type: text/event-stream")
		}
		flush(ToServer, captureStart)
		flush(ToClient, captureStart)
		for e := range events {
			for i := range uint32(streams) {
				h.data(ToClient, 2*i+1, false, textEvent(fmt.Sprint(e)))
			}
			flush(ToClient, captureStart+int64(e)*1e7)
		}
	}
}

// TestHTTP2OpenStreams bounds what an open stream takes: 10,000 of them fit
// into 256 MiB.
func TestHTTP2OpenStreams(t *testing.T) {
	const conns, streams = 10, 100
	r := newRecording("test", &discard{}, Config{})
	before := liveHeap()
	openStreams(t, r, conns, streams, 100)
	per := (liveHeap() - before) / (conns * streams)
	t.Logf("%d bytes an open stream", per)
	if per > (256<<20)/10_000 {
		t.Errorf("%d bytes an open stream, want at most 26 kB", per)
	}
	runtime.KeepAlive(r)
}

// TestHTTP2StreamLimit: streams that are never answered do not pile up, nor do
// their headers. With room for all of them their number is the limit, else what
// they take.
func TestHTTP2StreamLimit(t *testing.T) {
	const more = 1000
	for _, row := range []struct {
		name    string
		fields  int // of 3,900 bytes
		heldCap int64
		most    int64 // closed
	}{
		{"by their number", 0, 1 << 30, more},
		{"by what they take", 15, 0, maxStreams + more - fewStreams},
	} {
		t.Run(row.name, func(t *testing.T) {
			var sink discard
			r := newRecording("test", &sink, Config{HeldCap: row.heldCap})
			info := &ConnInfo{ID: 1, SawSYN: true}
			h := newH2Talk(t, nil)
			r.open(info)
			h.preface()
			before := liveHeap()
			fields := []string{":method: GET", ":path: /"}
			for range row.fields {
				fields = append(fields, "x-long: "+strings.Repeat("y", 3900))
			}
			for i := range uint32(maxStreams + more) {
				h.headers(ToServer, 2*i+1, true, fields...)
				r.data(info, ToServer, 0, h.out[0].Bytes(), captureStart)
				h.out[0].Reset()
			}
			check(t, "counted", r.acct.faults[faultStreams], sink.exchanges)
			t.Logf("%d are closed", sink.exchanges)
			if sink.exchanges < more || sink.exchanges > row.most {
				t.Errorf("%d are closed, want %d to %d", sink.exchanges, more, row.most)
			}
			if used := liveHeap() - before; used > 192<<20 {
				t.Errorf("%d MiB for %d streams", used>>20, maxStreams)
			}
			runtime.KeepAlive(r)
		})
	}
}

// BenchmarkHTTP2 is the cost from ordered bytes to exchanges, one event a frame
// and ten frames a packet.
func BenchmarkHTTP2(b *testing.B) {
	h := newH2Talk(b, nil)
	var sink discard
	r := newRecording("bench", &sink, Config{KeepText: true})
	event := `data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":" w"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	info := &ConnInfo{ID: 1, SawSYN: true}
	r.open(info)
	h.preface()
	h.settings(ToClient)
	var frames, id uint32
	id = 1
	t := captureStart
	flush := func(d Dir) {
		r.data(info, d, 0, h.out[d].Bytes(), t)
		h.out[d].Reset()
	}
	b.ReportAllocs()
	for b.Loop() {
		t += 1e7
		h.ask(id, "POST", "/v1/chat/completions", chatBody)
		h.headers(ToClient, id, false, ":status: 200", "content-type: text/event-stream")
		flush(ToServer)
		for range benchEvents / 10 {
			for range 10 {
				h.data(ToClient, id, false, event)
			}
			flush(ToClient)
		}
		h.data(ToClient, id, true, endEvent+doneEvent)
		flush(ToClient)
		frames += benchEvents + 4
		id += 2
	}
	b.ReportMetric(float64(frames)/b.Elapsed().Seconds(), "frames/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkHTTP2Frames is the cost of framing and headers alone: small frames
// of an opaque answer.
func BenchmarkHTTP2Frames(b *testing.B) {
	h := newH2Talk(b, nil)
	h.preface()
	h.headers(ToServer, 1, true, ":method: GET", ":path: /")
	h.headers(ToClient, 1, false, ":status: 200")
	for i := range 1000 {
		h.data(ToClient, 1, i == 999, "0123456789")
	}
	var frames int
	var sink discard
	r := newRecording("bench", &sink, Config{})
	for b.Loop() {
		info := &ConnInfo{ID: uint64(frames), SawSYN: true}
		r.open(info)
		r.data(info, ToServer, 0, h.out[0].Bytes(), captureStart)
		r.data(info, ToClient, 0, h.out[1].Bytes(), captureStart)
		r.closed(info, captureStart)
		frames += 1004
	}
	b.ReportMetric(float64(frames)/b.Elapsed().Seconds(), "frames/s")
}

// TestHTTP2Refused: however often a server says that it goes away, each stream
// that it refuses ends once, and those that it took go on.
func TestHTTP2Refused(t *testing.T) {
	var s script
	h := s.h2(t, 1)
	for id := range uint32(4) {
		h.ask(2*id+1, "GET", "/", "")
	}
	h.send(ToServer, 4*ms)
	for _, last := range []uint32{1<<31 - 1, 5, 5, 3, 7, 3} {
		h.must(h.fr[1].WriteGoAway(last, http2.ErrCodeNo, nil))
	}
	h.answer(3, "200", "three").answer(1, "200", "1").send(ToClient, 5*ms)
	got, _ := s.run(t, Config{})
	want := []string{"GET 200 ok 0 1", "GET 200 ok 0 5", "GET NULL server_abort/rst 0 0", "GET NULL server_abort/rst 0 0"}
	if diff := cmp.Diff(want, summaries(got.list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHTTP2BrokenBlocks: header blocks are read behind broken ones, but not
// behind more than there is a reason for; their streams are seen all the same.
func TestHTTP2BrokenBlocks(t *testing.T) {
	for n, want := range map[int]string{maxFails: "GET 200 ok 0 1", maxFails + 1: " 200 cut_by_capture 0 1"} {
		var s script
		h := s.h2(t, 1)
		for range n {
			h.out[0].WriteString(raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 2, "\xff\xff\xff\xff\xff"))
		}
		h.ask(1, "GET", "/", "").send(ToServer, 4*ms)
		h.answer(1, "200", "1").send(ToClient, 5*ms)
		got, rep := s.run(t, Config{})
		if diff := cmp.Diff([]string{want}, summaries(got.list)); diff != "" {
			t.Errorf("%d broken (-want +got):\n%s", n, diff)
		}
		check(t, "counted", rep.Faults[faultHPACK] >= int64(n), true)
	}
}

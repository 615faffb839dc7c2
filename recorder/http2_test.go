package recorder

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/lambdac/lambdac/trace"
)

// raw is a frame with any head.
func raw(typ http2.FrameType, flags http2.Flags, id uint32, payload string) string {
	n := len(payload)
	return string([]byte{byte(n >> 16), byte(n >> 8), byte(n), byte(typ), byte(flags), byte(id >> 24), byte(id >> 16), byte(id >> 8), byte(id)}) + payload
}

// TestHTTP2 plays whole connections and compares the exchanges in order.
func TestHTTP2(t *testing.T) {
	rows := []struct {
		name   string
		play   func(h *h2talk)
		want   []string
		faults map[string]int64
	}{
		{"plain", func(h *h2talk) {
			h.ask(1, "GET", "/1", "").ask(3, "POST", "/3", "abc").ask(5, "HEAD", "/5", "").send(ToServer, 4*ms)
			h.answer(3, "200", "three").answer(1, "404", "x").headers(ToClient, 5, true, ":status: 200", "content-length: 99").send(ToClient, 5*ms)
		}, []string{"GET 404 http_error 0 1", "POST 200 ok 3 5", "HEAD 200 ok 0 0"}, nil},
		{"interim answers and trailers", func(h *h2talk) {
			h.headers(ToServer, 1, false, ":method: POST", ":path: /", "expect: 100-continue").send(ToServer, 4*ms)
			h.headers(ToClient, 1, false, ":status: 100").headers(ToClient, 1, false, ":status: 103", "link: a").send(ToClient, 5*ms)
			h.data(ToServer, 1, false, "body").headers(ToServer, 1, true, "x-sum: 1").send(ToServer, 6*ms)
			h.headers(ToClient, 1, false, ":status: 200").data(ToClient, 1, false, "ok").headers(ToClient, 1, true, "x-end: 1").send(ToClient, 7*ms)
		}, []string{"POST 200 ok 4 2"}, nil},
		{"padding, priority, continuation", func(h *h2talk) {
			b := h.block(ToServer, ":method: POST", ":path: /", "a: "+strings.Repeat("b", 100))
			h.must(h.fr[0].WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, BlockFragment: b[:7], PadLength: 9,
				Priority: http2.PriorityParam{StreamDep: 3, Weight: 7, Exclusive: true},
			}))
			h.must(h.fr[0].WriteContinuation(1, false, b[7:7]))
			h.must(h.fr[0].WriteContinuation(1, false, b[7:50]))
			h.must(h.fr[0].WriteContinuation(1, true, b[50:]))
			h.must(h.fr[0].WriteDataPadded(1, true, []byte("12345"), make([]byte, 255)))
			h.send(ToServer, 4*ms)
			h.headers(ToClient, 1, false, ":status: 200")
			h.must(h.fr[1].WriteDataPadded(1, false, nil, []byte{}))
			h.must(h.fr[1].WriteDataPadded(1, true, []byte("ab"), []byte{0, 0}))
			h.send(ToClient, 5*ms)
		}, []string{"POST 200 ok 5 2"}, nil},
		{"the client resets", func(h *h2talk) {
			h.ask(1, "POST", "/", "x").ask(3, "GET", "/", "").send(ToServer, 4*ms)
			h.headers(ToClient, 1, false, ":status: 200").data(ToClient, 1, false, "par").send(ToClient, 5*ms)
			h.must(h.fr[0].WriteRSTStream(1, http2.ErrCodeCancel))
			h.send(ToServer, 6*ms)
			h.data(ToClient, 1, true, "t").answer(3, "200", "y").send(ToClient, 7*ms)
		}, []string{"POST 200 client_abort/recorded 1 3", "GET 200 ok 0 1"}, nil},
		{"the server resets", func(h *h2talk) {
			h.ask(1, "POST", "/", "x").ask(3, "GET", "/", "").send(ToServer, 4*ms)
			h.headers(ToClient, 1, false, ":status: 200")
			h.must(h.fr[1].WriteRSTStream(1, http2.ErrCodeInternal))
			h.must(h.fr[1].WriteRSTStream(3, http2.ErrCodeRefusedStream))
			h.send(ToClient, 5*ms)
		}, []string{"POST 200 server_abort/rst 1 0", "GET NULL server_abort/rst 0 0"}, nil},
		{"answered before the request's end, which the server does not want", func(h *h2talk) {
			h.headers(ToServer, 1, false, ":method: POST", ":path: /").data(ToServer, 1, false, "begin").send(ToServer, 4*ms)
			h.answer(1, "413", "no")
			h.must(h.fr[1].WriteRSTStream(1, http2.ErrCodeNo))
			h.send(ToClient, 5*ms)
		}, []string{"POST 413 http_error 5 2"}, nil},
		{"going away", func(h *h2talk) {
			h.ask(1, "GET", "/", "").ask(3, "GET", "/", "").ask(5, "GET", "/", "").send(ToServer, 4*ms)
			h.must(h.fr[1].WriteGoAway(3, http2.ErrCodeNo, []byte("later")))
			h.answer(1, "200", "1").send(ToClient, 5*ms)
			h.answer(3, "200", "3").send(ToClient, 6*ms)
			h.k.fin(ToServer, 7*ms).fin(ToClient, 8*ms)
		}, []string{"GET 200 ok 0 1", "GET 200 ok 0 1", "GET NULL server_abort/rst 0 0"}, nil},
		{"the server gives up the connection", func(h *h2talk) {
			h.ask(1, "GET", "/", "").send(ToServer, 4*ms)
			h.headers(ToClient, 1, false, ":status: 200")
			h.must(h.fr[1].WriteGoAway(1, http2.ErrCodeEnhanceYourCalm, nil))
			h.send(ToClient, 5*ms)
			h.k.fin(ToServer, 6*ms).fin(ToClient, 7*ms)
		}, []string{"GET 200 server_abort/rst 0 0"}, nil},
		{"the client ends the connection", func(h *h2talk) {
			h.ask(1, "GET", "/", "").send(ToServer, 4*ms)
			h.headers(ToClient, 1, false, ":status: 200").send(ToClient, 5*ms)
			h.k.fin(ToServer, 6*ms).fin(ToClient, 7*ms)
		}, []string{"GET 200 client_abort/recorded 0 0"}, nil},
		{"a window that never opens", func(h *h2talk) {
			h.must(h.fr[0].WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
			h.ask(1, "POST", "/held", "x").ask(3, "POST", "/none", "y").send(ToServer, 4*ms)
			h.headers(ToClient, 1, false, ":status: 200").headers(ToClient, 3, true, ":status: 204").send(ToClient, 5*ms)
			h.must(h.fr[0].WriteRSTStream(1, http2.ErrCodeCancel))
			h.ask(5, "GET", "/", "").send(ToServer, 5000*ms)
			h.must(h.fr[0].WriteWindowUpdate(5, 1))
			h.send(ToServer, 5001*ms)
			h.answer(5, "200", "more than the window lets through").send(ToClient, 5002*ms)
		}, []string{"POST 200 client_abort/recorded 1 0", "POST 204 ok 1 0", "GET 200 ok 0 33"}, nil},
		{"the capture ends", func(h *h2talk) {
			h.ask(1, "GET", "/", "").send(ToServer, 4*ms)
		}, []string{"GET NULL cut_by_capture/recorder_stop 0 0"}, nil},
		{"a stream used again, an even one, DATA behind the end", func(h *h2talk) {
			h.ask(1, "GET", "/1", "").send(ToServer, 4*ms)
			h.answer(1, "200", "1").send(ToClient, 5*ms)
			h.ask(1, "GET", "/again", "").ask(2, "GET", "/even", "").ask(3, "GET", "/3", "").data(ToServer, 3, true, "more").send(ToServer, 6*ms)
			h.answer(3, "200", "3").send(ToClient, 7*ms)
		}, []string{"GET 200 ok 0 1", "GET 200 ok 0 1"}, map[string]int64{faultStream: 3}},
		{"a pushed answer", func(h *h2talk) {
			h.ask(1, "GET", "/", "").send(ToServer, 4*ms)
			b := h.block(ToClient, ":method: GET", ":path: /style", "x-push: 1")
			h.must(h.fr[1].WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: b, EndHeaders: true}))
			h.headers(ToClient, 1, false, ":status: 200", "x-push: 1").answer(2, "200", "pushed").data(ToClient, 1, true, "x").send(ToClient, 5*ms)
		}, []string{"GET 200 ok 0 1"}, map[string]int64{faultPush: 1}},
		{"CONTINUATION of nothing, DATA inside a header block", func(h *h2talk) {
			h.must(h.fr[0].WriteContinuation(1, true, nil))
			b := h.block(ToServer, ":method: GET", ":path: /1")
			h.must(h.fr[0].WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b, EndStream: true}))
			h.ask(3, "GET", "/3", "").send(ToServer, 4*ms)
			h.answer(3, "200", "3").send(ToClient, 5*ms)
		}, []string{"GET NULL cut_by_capture 0 0", "GET 200 ok 0 1"}, map[string]int64{faultOrder: 2}},
		{"frames of a wrong size", func(h *h2talk) {
			h.ask(1, "GET", "/1", "")
			h.out[0].WriteString(raw(http2.FrameRSTStream, 0, 1, "123") + raw(http2.FrameData, http2.FlagDataPadded, 1, "\x09abc") +
				raw(http2.FrameGoAway, 0, 0, "1234567") + raw(77, 0xff, 1, "unknown") + raw(http2.FrameData, http2.FlagDataPadded, 1, ""))
			h.ask(3, "GET", "/3", "").send(ToServer, 4*ms)
			h.answer(3, "200", "3").answer(1, "200", "1").send(ToClient, 5*ms)
		}, []string{"GET 200 ok 0 1", "GET 200 ok 0 1"}, map[string]int64{faultFrame: 4, faultStream: 1}},
		{"a header block that is none", func(h *h2talk) {
			h.out[0].WriteString(raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, 1, "\xff\xff\xff\xff\xff"))
			h.ask(3, "GET", "/3", "").send(ToServer, 4*ms)
			h.answer(1, "200", "1").answer(3, "200", "3").send(ToClient, 5*ms)
		}, []string{" 200 cut_by_capture 0 1", "GET 200 ok 0 1"}, map[string]int64{faultHPACK: 1}},
		{"a header table of another size", func(h *h2talk) {
			for i, size := range []uint32{0, 200, 4096, 65536, 64} {
				h.enc[0].SetMaxDynamicTableSizeLimit(size)
				h.enc[0].SetMaxDynamicTableSize(size)
				id := uint32(2*i + 1)
				h.ask(id, "GET", "/", "").send(ToServer, 4*ms)
				h.answer(id, "200", "1").send(ToClient, 5*ms)
			}
		}, []string{"GET 200 ok 0 1", "GET 200 ok 0 1", "GET 200 ok 0 1", "GET 200 ok 0 1", "GET 200 ok 0 1"}, nil},
		{"a tunnel", func(h *h2talk) {
			h.headers(ToServer, 1, false, ":method: CONNECT", ":authority: h:1").send(ToServer, 4*ms)
			h.headers(ToClient, 1, false, ":status: 200").data(ToClient, 1, true, "in").send(ToClient, 5*ms)
			h.data(ToServer, 1, true, "out").send(ToServer, 6*ms)
		}, []string{"CONNECT 200 ok 3 2"}, nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var s script
			row.play(s.h2(t, 1))
			got, rep := s.run(t, Config{})
			if diff := cmp.Diff(row.want, summaries(got.list)); diff != "" {
				t.Errorf("exchanges (-want +got):\n%s", diff)
			}
			if row.faults == nil {
				row.faults = map[string]int64{}
			}
			if diff := cmp.Diff(row.faults, rep.Faults); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			for _, x := range got.list {
				check(t, "version", x.Record.HTTPVersion, "2")
			}
		})
	}
}

// TestHTTP2Head: the head reads like one of HTTP/1.
func TestHTTP2Head(t *testing.T) {
	var s script
	h := s.h2(t, 1)
	h.headers(ToServer, 1, false, ":method: POST", ":scheme: http", ":authority: api:8000", ":path: /v1/x?a=b", "cookie: a", "cookie: b").data(ToServer, 1, false, "x").headers(ToServer, 1, true, "x-sum: 9").send(ToServer, 4*ms)
	h.answer(1, "200", "y").send(ToClient, 9*ms)
	x := s.one(t)
	want := []trace.Field{{Name: "host", Value: "api:8000"}, {Name: "cookie", Value: "a"}, {Name: "cookie", Value: "b"}}
	if diff := cmp.Diff(want, x.ReqHeader); diff != "" {
		t.Errorf("request header (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]trace.Field{{Name: "x-sum", Value: "9"}}, x.ReqTrailer); diff != "" {
		t.Errorf("request trailer (-want +got):\n%s", diff)
	}
	check(t, "request", x.Method+" "+x.Target, "POST /v1/x?a=b")
	check(t, "start", x.Record.StartUnixNs, captureStart+int64(4*ms))
	check(t, "end", inMs(x.Record.TEndUs), "5")
}

// TestHTTP2Stream: events have the time of the packet with their last byte,
// wherever the frames are cut, and streams do not disturb each other.
func TestHTTP2Stream(t *testing.T) {
	var s script
	h := s.h2(t, 1)
	h.ask(1, "POST", "/v1/chat/completions", chatBody).ask(3, "POST", "/v1/chat/completions", chatBody).send(ToServer, 10*ms)
	sse := func(id uint32) {
		h.headers(ToClient, id, false, ":status: 200", "content-type: text/event-stream")
	}
	sse(1)
	sse(3)
	a, b := textEvent("Hello"), textEvent("World")
	h.data(ToClient, 1, false, roleEvent+a[:20]).send(ToClient, 20*ms)
	h.data(ToClient, 3, false, b).data(ToClient, 1, false, a[20:50]).send(ToClient, 30*ms)
	h.data(ToClient, 1, false, a[50:]) // in two packets
	whole := h.out[ToClient].String()
	h.out[ToClient].Reset()
	h.k.server(40*ms, whole[:30]).server(50*ms, whole[30:])
	h.data(ToClient, 1, false, endEvent+doneEvent).data(ToClient, 1, true, "").send(ToClient, 60*ms)
	h.data(ToClient, 3, true, endEvent+doneEvent).send(ToClient, 70*ms)
	got, _ := s.run(t, Config{KeepText: true})
	want := []shape{
		{"ok", "200", 1, "4", "1", "10", "10", "40", "40", "50"},
		{"ok", "200", 1, "3", "1", "10", "20", "20", "20", "60"},
	}
	for i, x := range got.list {
		if diff := cmp.Diff(want[i], shapeOf(x)); diff != "" {
			t.Errorf("stream %d (-want +got):\n%s", i, diff)
		}
	}
	check(t, "text", string(got.list[0].Answer[0].Text)+string(got.list[1].Answer[0].Text), "HelloWorld")
}

// TestHTTP2Many: 100 streams at once, a third of them reset by the client, a
// third by the server (recorder.md (c) 18).
func TestHTTP2Many(t *testing.T) {
	var s script
	h := s.h2(t, 1)
	for i := range uint32(100) {
		h.ask(2*i+1, "POST", "/v1/chat/completions", chatBody)
	}
	h.send(ToServer, 10*ms)
	for i := range uint32(100) {
		h.headers(ToClient, 2*i+1, false, ":status: 200", "content-type: text/event-stream")
	}
	h.send(ToClient, 20*ms)
	for event := range 10 {
		at := time.Duration(30+10*event) * ms
		for i := range uint32(100) {
			if event < 5 || i%3 == 0 {
				h.data(ToClient, 2*i+1, false, textEvent(fmt.Sprint(i, ".", event)))
			}
			if event == 5 && i%3 == 1 {
				h.must(h.fr[0].WriteRSTStream(2*i+1, http2.ErrCodeCancel))
			}
			if event == 5 && i%3 == 2 {
				h.must(h.fr[1].WriteRSTStream(2*i+1, http2.ErrCodeInternal))
			}
		}
		h.send(ToServer, at).send(ToClient, at)
	}
	for i := uint32(0); i < 100; i += 3 {
		h.data(ToClient, 2*i+1, true, endEvent+doneEvent)
	}
	h.send(ToClient, 200*ms)
	got, rep := s.run(t, Config{KeepText: true})
	check(t, "exchanges", len(got.list), 100)
	check(t, "faults", len(rep.Faults), 0)
	for i, x := range got.list {
		text, last := "", 5
		if i%3 == 0 {
			last = 10
		}
		for event := range last {
			text += fmt.Sprint(i, ".", event)
		}
		check(t, "text", string(x.Answer[0].Text), text)
		want := []string{"ok", "client_abort/recorded", "server_abort/rst"}[i%3]
		check(t, fmt.Sprint("outcome ", i), shapeOf(x).Outcome, want)
		check(t, "last chunk", inMs(x.Record.TLastTokenUs), fmt.Sprint(10*last+10))
	}
}

// TestHTTP2Starts: ways to begin in the clear.
func TestHTTP2Starts(t *testing.T) {
	rows := map[string]func(s *script){
		"byte by byte": func(s *script) {
			h := newH2Talk(t, s.connect(1, 0))
			h.preface()
			h.settings(ToClient)
			h.ask(1, "GET", "/1", "").answer(1, "200", "one")
			for i, c := range h.out[0].Bytes() {
				h.k.client(2*ms+time.Duration(i), string([]byte{c}))
			}
			for i, c := range h.out[1].Bytes() {
				h.k.server(3*ms+time.Duration(i), string([]byte{c}))
			}
		},
		"the server speaks first": func(s *script) {
			h := newH2Talk(t, s.connect(1, 0))
			h.settings(ToClient)
			h.send(ToClient, 2*ms)
			h.preface()
			h.ask(1, "GET", "/1", "").send(ToServer, 3*ms)
			h.answer(1, "200", "one").send(ToClient, 4*ms)
		},
		"upgraded": func(s *script) {
			h := newH2Talk(t, s.connect(1, 0))
			h.k.client(2*ms, "GET /1 HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
			h.settings(ToClient)
			h.answer(1, "200", "one")
			h.k.server(3*ms, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"+h.out[1].String())
			h.out[1].Reset()
			h.preface()
			h.send(ToServer, 4*ms)
		},
		"without the packet of the handshake": func(s *script) {
			h := newH2Talk(t, s.joined(40000))
			h.preface()
			h.ask(1, "GET", "/1", "").send(ToServer, 2*ms)
			h.settings(ToClient)
			h.answer(1, "200", "one").send(ToClient, 3*ms)
		},
	}
	for name, play := range rows {
		t.Run(name, func(t *testing.T) {
			var s script
			play(&s)
			got, rep := s.run(t, Config{})
			if diff := cmp.Diff([]string{"GET 200 ok 0 3"}, summaries(got.list)); diff != "" {
				t.Fatalf("exchanges (-want +got):\n%s", diff)
			}
			check(t, "target", got.list[0].Target, "/1")
			check(t, "version", got.list[0].Record.HTTPVersion, "2")
			check(t, "not read", len(rep.Totals.LostByReason), 0)
		})
	}
}

// FuzzHTTP2 plays any mixture of frames, holes and ends on one connection, as
// [FuzzConn] does: no panic, every exchange is handed over once, and the splits
// of the bytes change nothing.
func FuzzHTTP2(f *testing.F) {
	for _, seed := range h2Seeds(f) {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, calls []byte, syn bool) {
		whole := playCalls(t, calls, syn, len(calls)+1)
		for _, size := range []int{1, 5} {
			if diff := cmp.Diff(whole, playCalls(t, calls, syn, size)); diff != "" {
				t.Errorf("pieces of %d (-whole +pieces):\n%s", size, diff)
			}
		}
	})
}

// h2Seeds are conversations as playCalls reads them.
func h2Seeds(tb testing.TB) (seeds [][]byte) {
	plays := []func(h *h2talk, call func(op byte, data string)){
		func(h *h2talk, call func(op byte, data string)) {
			h.preface()
			h.ask(1, "POST", "/v1/chat/completions", chatBody).ask(3, "GET", "/3", "")
			call(0, "")
			h.settings(ToClient)
			h.headers(ToClient, 1, false, ":status: 200", "content-type: text/event-stream").data(ToClient, 1, false, roleEvent+textEvent("a"))
			h.answer(3, "200", "x").data(ToClient, 1, true, endEvent+doneEvent)
			call(1, "")
			call(5, "")
		},
		func(h *h2talk, call func(op byte, data string)) {
			h.preface()
			h.headers(ToServer, 1, false, ":method: POST", ":path: /s/m", "content-type: application/grpc").data(ToServer, 1, true, "\x00\x00\x00\x00\x00")
			h.ask(3, "GET", "/3", "")
			call(0, "")
			h.settings(ToClient)
			h.headers(ToClient, 1, false, ":status: 200", "content-type: application/grpc").data(ToClient, 1, false, "\x00\x00\x00\x00\x01a")
			call(1, "")
			call(3, "0123456789")
			h.headers(ToClient, 1, true, "grpc-status: 8").answer(3, "200", "x")
			call(1, "")
			h.must(h.fr[0].WriteRSTStream(3, http2.ErrCodeCancel))
			call(0, "")
			call(4, "")
		},
		func(h *h2talk, call func(op byte, data string)) {
			h.headers(ToClient, 7, false, ":status: 200", "a: b").data(ToClient, 7, false, "tail")
			call(1, "")
			h.must(h.fr[0].WriteWindowUpdate(0, 9))
			h.ask(9, "GET", "/9", "")
			b := h.block(ToServer, ":method: GET", ":path: /11")
			h.must(h.fr[0].WriteHeaders(http2.HeadersFrameParam{StreamID: 11, BlockFragment: b[:2], PadLength: 3}))
			h.must(h.fr[0].WriteContinuation(11, true, b[2:]))
			call(0, "")
			h.answer(9, "200", "x").data(ToClient, 7, true, "")
			h.must(h.fr[1].WriteGoAway(9, http2.ErrCodeNo, nil))
			call(1, "")
			call(7, "")
		},
	}
	for _, play := range plays {
		h := newH2Talk(tb, nil)
		var all []byte
		play(h, func(op byte, data string) {
			if op < 2 {
				data = h.out[op].String() + data
				h.out[op].Reset()
			}
			all = append(append(all, op, byte(len(data)), byte(len(data)>>8)), data...)
		})
		seeds = append(seeds, all)
	}
	return seeds
}

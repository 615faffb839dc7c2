package recorder

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/lambdac/lambdac/trace"
)

// TestSlowHeads: thousands of connections send messages that do not end. What
// they hold together is bounded, what is given up is counted, and of those that
// come in whole messages nothing is missing.
func TestSlowHeads(t *testing.T) {
	const conns, each, piece = 3000, 60 << 10, 6 << 10
	filler := strings.Repeat("y", piece-5) + "\r\n"
	rows := []struct {
		name, first, next string
		again             bool // the connection goes on with a message of its own
	}{
		{"a request line", "GET /", strings.Repeat("y", piece), false},
		{"one field", "GET / HTTP/1.1\r\na: ", strings.Repeat("y", piece), true},
		{"many fields", "GET / HTTP/1.1\r\n", "a: " + filler, true},
		{"small fields", "GET / HTTP/1.1\r\n", strings.Repeat("a: b\r\n", piece/6), true},
		{"a trailer", post("/", "")[:strings.Index(post("/", ""), "\r\n")+2] + "Transfer-Encoding: chunked\r\n\r\n0\r\n", "a: " + filler, false},
		{"a header block", h2Front(t), "", false},
		{"a record of TLS", "\x16\x03\x01\x40\x00", strings.Repeat("y", piece), false},
		{"a handshake message of TLS", "\x16\x03\x01\x00\x04\x01\x00\xff\x00", "\x16\x03\x01\x17\xfb" + strings.Repeat("y", piece-5), false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			sink := outcomes{}
			r := newRecording("test", sink, Config{HeldCap: 32 << 20})
			infos := make([]*ConnInfo, conns)
			before, peak, parts := liveHeap(), int64(0), int64(0)
			for i := range infos {
				infos[i] = &ConnInfo{ID: uint64(i) + 1, SawSYN: true}
				r.open(infos[i])
				r.data(infos[i], ToServer, 0, []byte(row.first), captureStart)
			}
			next := row.next
			if next == "" {
				next = string(h2More())
			}
			for n := 0; n < each; n += piece {
				for _, info := range infos {
					r.data(info, ToServer, 0, []byte(next), captureStart)
					parts = max(parts, r.parts.held)
				}
				good := &ConnInfo{ID: uint64(conns+n) + 1, SawSYN: true}
				r.open(good)
				request := chat()
				r.data(good, ToServer, 0, []byte(request[:70]), captureStart)
				r.data(good, ToServer, 0, []byte(request[70:]), captureStart)
				r.data(good, ToClient, 0, []byte(sseHead+chunk(textEvent("a"))+chunk(endEvent+doneEvent)+lastChunk), captureStart)
				r.closed(good, captureStart)
				peak = max(peak, liveHeap()-before)
			}
			check(t, "exchanges beside them", sink["ok"], each/piece)
			if r.acct.faults[faultHeld] == 0 {
				t.Error("nothing was given up, or it was not counted")
			}
			t.Logf("peak: %d kB of messages under way, %d kB of heap, %d kB a connection", parts>>10, peak>>10, peak/conns>>10)
			if parts > 8<<20 {
				t.Errorf("%d bytes held", parts)
			}
			if peak > 64<<20 {
				t.Errorf("the heap grew by %d MiB", peak>>20)
			}
			if row.again {
				r.data(infos[0], ToServer, 0, []byte("\r\n\r\n"+get("/")), captureStart+1)
				r.data(infos[0], ToClient, 0, []byte(ok("a")+ok("b")), captureStart+2)
			}
			for _, info := range infos {
				r.closed(info, captureStart+3)
			}
			check(t, "charged in the end", r.held, 0)
			check(t, "held in the end", r.parts.held, 0)
			check(t, "connections in the end", r.parts.conns.Len(), 0)
			check(t, "open in the end", r.acct.open, 0)
			if row.again {
				check(t, "with the next one", sink["ok"], each/piece+1)
			}
			t.Logf("outcomes %v, faults %v", sink, r.acct.faults)
			runtime.KeepAlive(infos)
		})
	}
}

// TestLargeTables: connections whose peers make their header tables as large as
// they may be. What the tables take together is bounded; streams go on.
func TestLargeTables(t *testing.T) {
	const conns, rounds, streams = 600, 8, 8
	h := newH2Talk(t, nil)
	h.enc[0].SetMaxDynamicTableSizeLimit(maxTable)
	h.enc[0].SetMaxDynamicTableSize(maxTable)
	h.preface()
	var asked [rounds]string
	for i := range uint32(rounds * streams) {
		fields := []string{":method: GET", ":path: /"}
		for k := range 20 {
			fields = append(fields, fmt.Sprintf("x-%d-%d: %s", i, k, strings.Repeat("y", 40)))
		}
		h.headers(ToServer, 2*i+1, true, fields...)
		if i%streams == streams-1 {
			asked[i/streams] = h.out[0].String()
			h.out[0].Reset()
		}
	}
	sink := outcomes{}
	r := newRecording("test", sink, Config{HeldCap: 32 << 20})
	infos := make([]*ConnInfo, conns)
	before, peak, parts := liveHeap(), int64(0), int64(0)
	for round, requests := range asked {
		for i := range infos {
			if round == 0 {
				infos[i] = &ConnInfo{ID: uint64(i) + 1, SawSYN: true}
				r.open(infos[i])
			}
			r.data(infos[i], ToServer, 0, []byte(requests), captureStart)
			parts = max(parts, r.parts.held)
			for s := range uint32(streams) {
				h.headers(ToClient, 2*(uint32(round)*streams+s)+1, true, ":status: 204")
			}
			r.data(infos[i], ToClient, 0, h.out[1].Bytes(), captureStart+1)
			h.out[1].Reset()
			h.enc[1] = hpack.NewEncoder(&h.hdr[1])
		}
		peak = max(peak, liveHeap()-before)
	}
	t.Logf("peak: %d kB charged, %d kB of heap", parts>>10, peak>>10)
	if parts > 8<<20 {
		t.Errorf("%d bytes held", parts)
	}
	if peak > 64<<20 {
		t.Errorf("the heap grew by %d MiB", peak>>20)
	}
	for _, info := range infos {
		r.closed(info, captureStart+2)
	}
	t.Logf("outcomes %v, faults %v", sink, r.acct.faults)
	check(t, "ok", sink["ok"], conns*rounds*streams)
	check(t, "charged in the end", r.held+r.parts.held, 0)
}

// TestHeldEvents: streams whose events do not end. What is held of them is
// bounded, and what is lost is counted.
func TestHeldEvents(t *testing.T) {
	const conns, pieces = 200, 64
	piece := strings.Repeat("y", 16<<10)
	sink := &collector{}
	r := newRecording("test", sink, Config{HeldCap: 32 << 20})
	infos := make([]*ConnInfo, conns)
	before, peak := liveHeap(), int64(0)
	for n := range pieces {
		for i := range infos {
			if n == 0 {
				infos[i] = &ConnInfo{ID: uint64(i) + 1, SawSYN: true}
				r.open(infos[i])
				r.data(infos[i], ToServer, 0, []byte(chat()), captureStart)
				r.data(infos[i], ToClient, 0, []byte(sseHead+chunk(textEvent("a"))+chunk("data: {\"a\":\"")), captureStart+1)
			}
			r.data(infos[i], ToClient, 0, []byte(chunk(piece)), captureStart+int64(n)+2)
		}
		peak = max(peak, liveHeap()-before)
	}
	t.Logf("%d kB of heap for events of %d kB", peak>>10, conns*pieces*len(piece)>>10)
	if peak > 80<<20 {
		t.Errorf("the heap grew by %d MiB", peak>>20)
	}
	for _, info := range infos {
		r.data(info, ToClient, 0, []byte(chunk("\"}\n\n")+chunk(textEvent("b")+endEvent+doneEvent)+lastChunk), captureStart+1e6)
		r.closed(info, captureStart+2e6)
	}
	lost := int64(0)
	for _, x := range sink.list {
		lost += x.Record.LostEvents
		check(t, "outcome", x.Record.Outcome, trace.OutcomeOK)
		check(t, "events", *x.Record.EventCount+int32(x.Record.LostEvents), 5)
	}
	t.Logf("%d events lost, faults %v", lost, r.acct.faults)
	if lost == 0 || lost > conns || lost > r.acct.faults[faultHeld] {
		t.Errorf("%d of %d events are lost, %d times something was given up", lost, conns, r.acct.faults[faultHeld])
	}
	check(t, "charged in the end", r.held, 0)
}

// h2Front begins a header block that does not end.
func h2Front(t *testing.T) string {
	h := newH2Talk(t, nil)
	h.preface()
	h.must(h.fr[0].WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: h.block(ToServer, ":method: GET", ":path: /1"), EndStream: true}))
	return h.out[0].String()
}

// h2More goes on with it: one field of 6,000 bytes that is not indexed.
func h2More() []byte {
	field := append([]byte("\x00\x01a\x7f\xf1\x2d"), strings.Repeat("x", 5872+112)...)
	n := len(field)
	return append([]byte{byte(n >> 16), byte(n >> 8), byte(n), byte(http2.FrameContinuation), 0, 0, 0, 0, 1}, field...)
}

// TestPiledExchanges: clients that send requests without reading answers, on
// many connections: what waits is bounded, and each is counted.
func TestPiledExchanges(t *testing.T) {
	const conns, requests = 50, 2000
	sink := outcomes{}
	r := newRecording("test", sink, Config{HeldCap: 32 << 20})
	request := []byte(strings.Replace(get("/"), "\r\n\r\n", "\r\na: "+strings.Repeat("x", 500)+"\r\n\r\n", 1))
	infos := make([]*ConnInfo, conns)
	before := liveHeap()
	for i := range infos {
		infos[i] = &ConnInfo{ID: uint64(i) + 1, SawSYN: true}
		r.open(infos[i])
		for range requests {
			r.data(infos[i], ToServer, 0, request, captureStart)
		}
	}
	used := liveHeap() - before
	t.Logf("%d kB of heap, %d bytes charged for %d requests", used>>10, r.held, conns*requests)
	if used > 48<<20 {
		t.Errorf("%d MiB", used>>20)
	}
	check(t, "given up", int64(sink["cut_by_capture/cap"]), r.acct.faults[faultPipelined])
	for _, info := range infos {
		r.data(info, ToClient, 0, []byte(ok("a")), captureStart+1)
		r.closed(info, captureStart+2)
	}
	check(t, "answered", sink["ok"], conns)
	check(t, "open", r.acct.open, 0)
	check(t, "charged in the end", r.held+r.piled, 0)
}

package recorder

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lambdac/lambdac/trace"
)

// TestOpenStreams bounds what an open stream takes: 500 of them, each with a
// request of 0.1 kB and 100 events of 1.6 bytes of text.
func TestOpenStreams(t *testing.T) {
	const streams = 500
	packets := benchStream()
	var sink discard
	r := newRecording("test", &sink, Config{})
	before := liveHeap()
	for id := range uint64(streams) {
		info := &ConnInfo{ID: id + 1, SawSYN: true}
		r.open(info)
		r.data(info, ToServer, 0, []byte(chat()), captureStart)
		for i, p := range packets[:102] {
			r.data(info, ToClient, 0, p, captureStart+int64(i)*1e7)
		}
	}
	per := (liveHeap() - before) / streams
	t.Logf("%d bytes an open stream", per)
	if per > 16<<10 {
		t.Errorf("%d bytes an open stream, want at most 16 KiB", per)
	}
	runtime.KeepAlive(r)
}

func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// FuzzConn plays any mixture of bytes, holes and ends on one connection: no
// panic, every exchange is handed over once, times are never negative, and the
// splits of the bytes change nothing but times.
func FuzzConn(f *testing.F) {
	call := func(op byte, data string) []byte {
		return append(binary.LittleEndian.AppendUint16([]byte{op}, uint16(len(data))), data...)
	}
	join := func(calls ...[]byte) (all []byte) {
		for _, c := range calls {
			all = append(all, c...)
		}
		return all
	}
	f.Add(join(call(0, chat()), call(1, sseHead+chunk(textEvent("a"))), call(1, chunk(doneEvent)+"0\r\n\r\n"), call(5, "")), true)
	f.Add(join(call(0, get("/1")+get("/2")), call(1, ok("1")), call(3, "1234"), call(1, ok("22")), call(4, "")), true)
	f.Add(join(call(1, "data: x\n\n\r\n0\r\n\r\n"), call(0, get("/")), call(1, ok("x")), call(6, "")), false)
	f.Add(join(call(0, "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"), call(1, "HTTP/1.1 417 No\r\n\r\n"), call(2, "12"), call(0, get("/"))), true)
	f.Fuzz(func(t *testing.T, calls []byte, syn bool) {
		whole := playCalls(t, calls, syn, len(calls)+1)
		for _, size := range []int{1, 5} {
			if diff := cmp.Diff(whole, playCalls(t, calls, syn, size)); diff != "" {
				t.Errorf("pieces of %d (-whole +pieces):\n%s", size, diff)
			}
		}
	})
}

// playCalls reads calls of the form op, length, data: 0 and 1 are data to the
// server and the client, 2 and 3 holes, 4 and 5 FINs, 6 and 7 resets.
func playCalls(t *testing.T, calls []byte, syn bool, size int) []string {
	var c collector
	r := newRecording("fuzz", &c, Config{BodyCap: 1 << 12, KeepText: true})
	info := &ConnInfo{ID: 1, Client: netip.MustParseAddrPort("10.0.0.1:1"), SawSYN: syn}
	r.open(info)
	at := captureStart
	for len(calls) >= 3 {
		op, n := calls[0]%8, min(int(binary.LittleEndian.Uint16(calls[1:])), len(calls)-3)
		data := calls[3 : 3+n]
		calls = calls[3+n:]
		at += 1e6
		playCall(r, info, op, data, size, at)
		if op >= 6 {
			break
		}
	}
	r.closed(info, at)
	if err := r.acct.flush(); err != nil {
		t.Fatal(err)
	}
	if !c.totals.Balanced() || c.totals.OpenAtEnd != 0 {
		t.Errorf("loss account does not balance: %+v", c.totals)
	}
	var lines []string
	for _, x := range c.list {
		checkRecord(t, x.Record)
		lines = append(lines, summary(x))
	}
	return lines
}

func playCall(r *recording, info *ConnInfo, op byte, data []byte, size int, at int64) {
	d := Dir(op % 2)
	switch op {
	case 0, 1:
		for i := 0; i < len(data); i += size {
			end := min(i+size, len(data))
			r.data(info, d, 0, data[i:end:end], at)
		}
	case 2, 3:
		if len(data) > 0 {
			r.gap(info, d, 0, int64(len(data)), lostGap, at)
		}
	case 4, 5:
		r.fin(info, d, at)
	case 6, 7:
		r.rst(info, d, at)
	}
}

func checkRecord(t *testing.T, r *trace.Record) {
	t.Helper()
	for _, us := range []*int64{r.TReqEndUs, r.TRespHeadersUs, r.TFirstEventUs, r.TFirstTokenUs, r.TLastTokenUs, r.TEndUs, r.MaxGapUs} {
		if us != nil && *us < 0 {
			t.Errorf("a time is %d µs", *us)
		}
	}
	if r.Outcome == "" {
		t.Error("no outcome")
	}
}

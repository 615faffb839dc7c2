package recorder

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lambdac/lambdac/trace"
)

// TestCaps: bodies are cut at the cap and counted, a bomb costs no more.
func TestCaps(t *testing.T) {
	var s script
	k := s.connect(1, 0)
	k.client(2*ms, post("/upload", strings.Repeat("a", 5000))).server(3*ms, ok(strings.Repeat("b", 7000)))
	bomb := zipped(t, bytes.Repeat([]byte("0"), 10<<20))
	k.client(4*ms, post("/v1/chat/completions", chatBody))
	k.server(5*ms, fmt.Sprintf("%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", jsonHead, len(bomb), bomb))
	k.client(6*ms, get("/")).server(7*ms, ok("x"))
	got, rep := s.run(t, Config{BodyCap: 4000, KeepText: true})
	want := []string{"POST 200 ok 5000 7000", "POST 200 ok 71 4000", "GET 200 ok 0 1"}
	if diff := cmp.Diff(want, summaries(got.list)); diff != "" {
		t.Errorf("exchanges (-want +got):\n%s", diff)
	}
	x := got.list[0]
	check(t, "request kept", len(x.ReqBody), 4000)
	check(t, "request cut", x.ReqBodyCut, 1000)
	check(t, "answer kept", len(x.RespBody), 4000)
	check(t, "answer cut", x.RespBodyCut, 3000)
	check(t, "truncated", rep.Totals.TruncatedBodies, 2)
	if cap(got.list[1].RespBody) > 16000 || got.list[1].RespBodyCut == 0 {
		t.Errorf("bomb: %d held, %d cut", cap(got.list[1].RespBody), got.list[1].RespBodyCut)
	}
}

// TestHeldCap: above the limit of all bodies they are counted, not kept, and
// nothing else is lost.
func TestHeldCap(t *testing.T) {
	var s script
	for port := range uint16(20) {
		s.connect(port+1, 0).client(2*ms, post("/a", strings.Repeat("a", 1000)))
	}
	for port := range uint16(20) {
		k := &talk{s: &s, port: port + 1, seq: [2]uint32{1001, 5001}}
		k.seq[ToServer] += uint32(len(post("/a", strings.Repeat("a", 1000))))
		k.server(1500*ms, ok("x"))
	}
	got, rep := s.run(t, Config{HeldCap: 5000})
	var kept, cut int64
	for _, x := range got.list {
		kept += int64(len(x.ReqBody))
		cut += x.ReqBodyCut
		check(t, "size", x.Record.ReqBodyBytes, 1000)
	}
	check(t, "all bytes", kept+cut, 20000)
	if kept > 6000 || rep.Totals.TruncatedBodies == 0 {
		t.Errorf("kept %d of all, truncated %d", kept, rep.Totals.TruncatedBodies)
	}
	if !slices.ContainsFunc(got.windows, func(w *trace.CaptureWindow) bool { return w.LadderStep == 1 }) {
		t.Error("no window says that bodies were left out")
	}
}

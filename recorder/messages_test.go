package recorder

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lambdac/lambdac/trace"
)

// TestHeadBehindAnotherAnswer: a stream's head, and its first event, stand in
// the segment that ends the answer before (cases.md 1).
func TestHeadBehindAnotherAnswer(t *testing.T) {
	var s script
	k := s.connect(40000, 0).client(10*ms, get("/models")).client(11*ms, chat())
	head := sseHead + chunk(textEvent("37"))
	cut := strings.Index(head, "Transfer") // in the middle of the head
	k.server(60*ms, ok("models")+head[:cut]).server(70*ms, head[cut:]+chunk(textEvent("38")))
	k.server(110*ms, chunk(doneEvent)+"0\r\n\r\n")
	got, _ := s.run(t, Config{KeepText: true})
	if len(got.list) != 2 {
		t.Fatalf("exchanges: %q", summaries(got.list))
	}
	want := shape{"ok", "200", 2, "3", "2", "59", "59", "59", "59", "99"}
	if diff := cmp.Diff(want, shapeOf(got.list[1])); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
	check(t, "text", string(got.list[1].Answer[0].Text), "3738")
}

// TestTrailers: the fields behind a chunked body are kept, of both messages
// (recorder.md (c) 4).
func TestTrailers(t *testing.T) {
	var s script
	s.connect(40000, 0).client(10*ms, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk("abc")+"0\r\nX-Req: 1\r\n\r\n").
		server(20*ms, sseHead+chunk(doneEvent)).server(1020*ms, "0\r\nServer-Timing: total;dur=7\r\nX-Sum: 2\r\n\r\n")
	x := s.one(t)
	if diff := cmp.Diff([][]trace.Field{{{Name: "X-Req", Value: "1"}}, {{Name: "Server-Timing", Value: "total;dur=7"}, {Name: "X-Sum", Value: "2"}}}, [][]trace.Field{x.ReqTrailer, x.RespTrailer}); diff != "" {
		t.Errorf("trailers (-want +got):\n%s", diff)
	}
	check(t, "end", inMs(x.Record.TEndUs), "1010")
}

// TestServerTiming: what a service says of its times is taken from the header,
// and from the trailer of a stream.
func TestServerTiming(t *testing.T) {
	var s script
	head := strings.Replace(sseHead, "\r\n\r\n", "\r\nServer-Timing: queue;dur=2\r\nopenai-processing-ms: 5\r\n\r\n", 1)
	k := s.connect(40000, 0).client(10*ms, chat()).server(20*ms, sseHead+chunk(textEvent("a")+endEvent+doneEvent)+"0\r\nServer-Timing: ttft;dur=3, total;dur=7\r\n\r\n")
	k.client(30*ms, chat()).server(40*ms, head+chunk(textEvent("a")+endEvent+doneEvent)+lastChunk)
	body := `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`
	k.client(50*ms, chat()).server(60*ms, jsonHead+"openai-processing-ms: 5\r\n"+fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))+body)
	got, _ := s.run(t, Config{})
	for i, want := range []string{"NULL 3000 7000", "2000 NULL NULL", "NULL NULL 5000"} {
		r := got.list[i].Record
		check(t, fmt.Sprint("exchange ", i), deref(r.ServerQueueUs)+" "+deref(r.ServerTTFTUs)+" "+deref(r.ServerTotalUs), want)
	}
}

// TestMembers: both members of a coded body count, and nothing else
// (cases.md 5).
func TestMembers(t *testing.T) {
	body := zipped(t, []byte(textEvent("A"))) + zipped(t, []byte(doneEvent))
	for _, row := range []struct {
		name, behind string
		flagged      int64
	}{{"two members", "", 0}, {"garbage behind them", "\x00\x00\x00garbage", 1}} {
		var s script
		s.connect(40000, 0).client(10*ms, chat()).
			server(20*ms, strings.Replace(sseHead, "\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n", 1)+chunk(body+row.behind)+"0\r\n\r\n")
		got, rep := s.run(t, Config{})
		x := got.list[0]
		check(t, row.name+": outcome", x.Record.Outcome, trace.OutcomeOK)
		check(t, row.name+": decoded bytes", x.Record.RespBodyBytes, int64(len(textEvent("A")+doneEvent)))
		check(t, row.name+": wire bytes", x.Record.RespWireBytes, int64(len(body+row.behind)))
		check(t, row.name+": flagged", rep.Faults["bytes_after_coded_body"], row.flagged)
	}
}

// TestLargePrompt: 10 MB in frames of 60 kB, as segmentation offload makes
// them, arrive whole (recorder.md (c) 9 and 22).
func TestLargePrompt(t *testing.T) {
	prompt := strings.Repeat("a prompt of ten megabytes. ", 10<<20/27)
	body := `{"model":"m","messages":[{"role":"user","content":"` + prompt + `"}]}`
	var s script
	s.connect(40000, 0).client(10*ms, post("/v1/chat/completions", body)).
		server(20*ms, jsonHead+"Content-Length: 2\r\n\r\n{}").fin(ToClient, 30*time.Millisecond)
	x := s.one(t)
	check(t, "body", len(x.ReqBody), len(body))
	check(t, "request bytes", x.Record.ReqBodyBytes, int64(len(body)))
	check(t, "cut", x.ReqBodyCut, 0)
	check(t, "content", x.Record.Messages[0].Bytes, int32(len(prompt)))
}

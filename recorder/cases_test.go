package recorder

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/lambdac/lambdac/trace"
)

const (
	ms = time.Millisecond

	chatBody  = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	sseHead   = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	jsonHead  = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	roleEvent = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	doneEvent = "data: [DONE]\n\n"
	endEvent  = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
)

func post(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

func chat() string { return post("/v1/chat/completions", chatBody) }

func textEvent(text string) string {
	return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`, text) + "\n\n"
}

func chunk(data string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }

// shape is what the cases compare of one exchange.
type shape struct {
	Outcome                                 string
	Status                                  string
	Text                                    int32
	Events, Chunks                          string
	Head, FirstEvent, FirstToken, Last, End string // ms
}

func shapeOf(x *trace.Exchange) shape {
	r := x.Record
	s := shape{
		Outcome: string(r.Outcome), Status: deref(r.StatusCode), Text: countKind(r, trace.ChunkText),
		Events: deref(r.EventCount), Chunks: deref(r.ChunkCount),
		Head: inMs(r.TRespHeadersUs), FirstEvent: inMs(r.TFirstEventUs), FirstToken: inMs(r.TFirstTokenUs),
		Last: inMs(r.TLastTokenUs), End: inMs(r.TEndUs),
	}
	if r.OutcomeDetail != nil {
		s.Outcome += "/" + string(*r.OutcomeDetail)
	}
	return s
}

func inMs(us *int64) string {
	if us == nil {
		return "-"
	}
	return fmt.Sprint(float64(*us) / 1000)
}

func unhex(t *testing.T, s string) string {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestStreams plays one request and an answer, and compares times and counts.
// Times are in ms from the request's first byte, which is at 10 ms.
func TestStreams(t *testing.T) {
	rows := []struct {
		name  string
		serve func(k *talk)
		want  shape
	}{
		{
			"head and first event in one segment", // cases.md 1
			func(k *talk) {
				k.server(60*ms, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n30\r\n"+
					`data: {"choices":[{"delta":{"content":"37"}}]}`+"\n\n\r\n")
				k.server(110*ms, "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
			},
			shape{"ok", "200", 1, "2", "1", "50", "50", "50", "50", "100"},
		},
		{
			"role first, text later", // trace.md 8.1
			func(k *talk) {
				k.server(50*ms, sseHead+chunk(roleEvent))
				k.server(230*ms, chunk(textEvent("Hi")))
				k.server(240*ms, chunk(endEvent)+chunk(doneEvent)+"0\r\n\r\n")
			},
			shape{"ok", "200", 1, "4", "1", "40", "40", "220", "220", "230"},
		},
		{
			"head at once, body never, client leaves", // cases.md 4
			func(k *talk) {
				k.server(310*ms, sseHead)
				k.fin(ToServer, 100*time.Second)
				k.fin(ToClient, 100*time.Second+ms)
			},
			shape{"client_abort/recorded", "200", 0, "0", "0", "300", "-", "-", "-", "300"},
		},
		{
			"head at once, first event at 32.9 s", // cases.md 4, twin
			func(k *talk) {
				k.server(310*ms, sseHead)
				k.server(32910*ms, chunk(textEvent("x")))
				k.server(32920*ms, chunk(doneEvent)+"0\r\n\r\n")
			},
			shape{"ok", "200", 1, "2", "1", "300", "32900", "32900", "32900", "32910"},
		},
		{
			"end mark spelt in the text, and with a blank", // cases.md 8
			func(k *talk) {
				k.server(20*ms, sseHead+chunk(textEvent("write [DONE] here")))
				k.server(30*ms, chunk("data: [DONE] \r\n\r\n")+"0\r\n\r\n")
			},
			shape{"ok", "200", 1, "2", "1", "10", "10", "10", "10", "20"},
		},
		{
			"end mark without blank line", // trace.md 8.7
			func(k *talk) {
				k.server(20*ms, sseHead+chunk(textEvent("a"))+chunk("data: [DONE]")+"0\r\n\r\n")
			},
			shape{"ok", "200", 1, "2", "1", "10", "10", "10", "10", "10"},
		},
		{
			"events after the end mark", // cases.md 8
			func(k *talk) {
				k.server(20*ms, sseHead+chunk(textEvent("a"))+chunk(doneEvent))
				k.server(30*ms, chunk(textEvent("late"))+"0\r\n\r\n")
			},
			shape{"ok", "200", 1, "3", "1", "10", "10", "10", "10", "20"},
		},
		{
			"only the end mark", // trace.md 8.8
			func(k *talk) { k.server(20*ms, sseHead+chunk(doneEvent)+"0\r\n\r\n") },
			shape{"empty_stream", "200", 0, "1", "0", "10", "10", "-", "-", "10"},
		},
		{
			"error in the stream", // trace.md 8.9
			func(k *talk) {
				k.server(20*ms, sseHead+chunk(textEvent("a")+textEvent("b")+textEvent("c")))
				k.server(30*ms, chunk(`data: {"error":{"message":"x","type":"engine","code":500}}`+"\n\n")+chunk(doneEvent)+"0\r\n\r\n")
			},
			shape{"error_in_stream", "200", 3, "5", "3", "10", "10", "10", "10", "20"},
		},
		{
			"comments for 8 s", // trace.md 8.5
			func(k *talk) {
				k.server(20*ms, sseHead)
				for i := range 20 {
					k.server(time.Duration(400*(i+1))*ms, chunk(": OPENROUTER PROCESSING\n\n"))
				}
				k.server(8110*ms, chunk(textEvent("a"))+chunk(doneEvent)+"0\r\n\r\n")
			},
			shape{"ok", "200", 1, "2", "1", "10", "8100", "8100", "8100", "8100"},
		},
		{
			"pause of 90 s", // recorder.md (c) 1
			func(k *talk) {
				k.server(20*ms, sseHead+chunk(textEvent("a")))
				k.server(90020*ms, chunk(textEvent("b"))+chunk(doneEvent)+"0\r\n\r\n")
			},
			shape{"ok", "200", 2, "3", "2", "10", "10", "10", "90010", "90010"},
		},
		{
			"one event in two packets, cut in a rune", // recorder.md (c) 2
			func(k *talk) {
				whole := chunk(textEvent("ü"))
				at := strings.Index(whole, "ü") + 1
				k.server(20*ms, sseHead+whole[:at])
				k.server(50*ms, whole[at:]+chunk(doneEvent)+"0\r\n\r\n")
			},
			shape{"ok", "200", 1, "2", "1", "10", "40", "40", "40", "40"},
		},
		{
			"last chunk alone, a second late", // recorder.md (c) 4
			func(k *talk) {
				k.server(20*ms, sseHead+chunk(textEvent("a"))+chunk(doneEvent))
				k.server(1020*ms, "0\r\nX-Sum: 1\r\n\r\n")
			},
			shape{"ok", "200", 1, "2", "1", "10", "10", "10", "10", "1010"},
		},
		{
			"client closes right after the end mark",
			func(k *talk) {
				k.server(20*ms, sseHead+chunk(textEvent("a"))+chunk(doneEvent))
				k.fin(ToServer, 21*ms)
				k.server(22*ms, "0\r\n\r\n")
				k.rst(ToServer, 23*ms)
			},
			shape{"ok", "200", 1, "2", "1", "10", "10", "10", "10", "12"},
		},
		{
			"client leaves in the middle, the server goes on", // recorder.md (c) 20
			func(k *talk) {
				k.server(20*ms, sseHead+chunk(textEvent("a")))
				k.fin(ToServer, 30*ms)
				k.server(40*ms, chunk(textEvent("b"))+chunk(doneEvent)+"0\r\n\r\n")
				k.rst(ToServer, 41*ms)
			},
			shape{"client_abort/recorded", "200", 2, "3", "2", "10", "10", "10", "30", "30"},
		},
		{
			"client closes its sending half only",
			func(k *talk) {
				k.fin(ToServer, 15*ms)
				k.server(20*ms, sseHead+chunk(textEvent("a"))+chunk(doneEvent)+"0\r\n\r\n")
				k.packet(ToServer, 21*ms, 0, nil)
				k.fin(ToClient, 30*ms)
			},
			shape{"ok", "200", 1, "2", "1", "10", "10", "10", "10", "10"},
		},
		{
			"client has gone, the answer comes and the server closes",
			func(k *talk) {
				k.fin(ToServer, 15*ms)
				k.server(20*ms, jsonHead+"Content-Length: 2\r\n\r\n{}")
				k.fin(ToClient, 20*ms)
				k.rst(ToServer, 21*ms)
			},
			shape{"client_abort/recorded", "200", 0, "NULL", "NULL", "10", "-", "-", "-", "10"},
		},
		{
			"tokens counted, no text", // cases.md 15 a
			func(k *talk) {
				k.server(20*ms, sseHead+chunk(endEvent)+chunk(`data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5}}`+"\n\n")+chunk(doneEvent)+"0\r\n\r\n")
			},
			shape{"ok", "200", 0, "3", "0", "10", "10", "-", "-", "10"},
		},
		{
			"error object under 200, not streamed",
			func(k *talk) {
				k.server(20*ms, jsonHead+"Content-Length: 45\r\n\r\n"+`{"error":{"message":"x","type":"overloaded"}}`)
			},
			shape{"error_in_stream", "200", 0, "NULL", "NULL", "10", "-", "-", "-", "10"},
		},
		{
			"server resets in the middle", // recorder.md (c) 20
			func(k *talk) {
				k.server(20*ms, sseHead+chunk(textEvent("a")))
				k.rst(ToClient, 30*ms)
			},
			shape{"server_abort/rst", "200", 1, "1", "1", "10", "10", "10", "10", "10"},
		},
		{
			"server closes in the middle, before the usage", // trace.md 8.4
			func(k *talk) {
				k.server(20*ms, sseHead+chunk(textEvent("a")))
				k.fin(ToClient, 30*ms)
				k.fin(ToServer, 31*ms)
			},
			shape{"server_abort/fin", "200", 1, "1", "1", "10", "10", "10", "10", "10"},
		},
		{
			"chunks end in order, the stream's own end is missing",
			func(k *talk) { k.server(20*ms, sseHead+chunk(textEvent("a"))+"0\r\n\r\n") },
			shape{"server_abort/fin", "200", 1, "1", "1", "10", "10", "10", "10", "10"},
		},
		{
			"refused by load before the body is read", // recorder.md (c) 20
			func(k *talk) {
				k.server(20*ms, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
				k.fin(ToClient, 21*ms)
			},
			shape{"http_error", "503", 0, "NULL", "NULL", "10", "-", "-", "-", "10"},
		},
		{
			"no answer, server closes",
			func(k *talk) { k.fin(ToClient, 30*ms).fin(ToServer, 31*ms) },
			shape{"server_abort/fin", "NULL", 0, "NULL", "NULL", "-", "-", "-", "-", "-"},
		},
		{
			"answer wholly lost between the FINs",
			func(k *talk) {
				k.lose(ToClient, 500)
				k.fin(ToClient, 30*ms)
				k.packet(ToServer, 31*ms, 0, nil)
				k.fin(ToServer, 32*ms)
			},
			shape{"unknown", "NULL", 0, "NULL", "NULL", "-", "-", "-", "-", "-"},
		},
		{
			"capture ends in the middle",
			func(k *talk) { k.server(20*ms, sseHead+chunk(textEvent("a"))) },
			shape{"cut_by_capture/recorder_stop", "200", 1, "1", "1", "10", "10", "10", "10", "10"},
		},
		{
			"JSON after blank lines", // trace.md 8.16
			func(k *talk) {
				body := `{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`
				k.server(20*ms, fmt.Sprintf("%sContent-Length: %d\r\n\r\n\n\n", jsonHead, len(body)+3))
				k.server(2020*ms, "\n")
				k.server(5020*ms, body)
			},
			shape{"ok", "200", 0, "NULL", "NULL", "10", "-", "-", "-", "5010"},
		},
		{
			"gzip of several members", // cases.md 5
			func(k *talk) {
				body := unhex(t, "1f8b08000000000002034b492c49b452a8564acec8cf4c4e2d56b28aae56cacc4b49ad50b232d0514a49cd294954b2024ae7e795a4e695285929392ad5d6c6d672710100157f4b0c390000001f8b08000000000002034b492c49b4528876f1f7738de5e202001cedc8af0e000000")
				k.server(20*ms, strings.Replace(sseHead, "\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n", 1)+chunk(body)+"0\r\n\r\n")
			},
			shape{"ok", "200", 1, "2", "1", "10", "10", "10", "10", "10"},
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var s script
			k := s.connect(40000, 0)
			k.client(10*ms, chat())
			row.serve(k)
			if diff := cmp.Diff(row.want, shapeOf(s.one(t))); diff != "" {
				t.Errorf("exchange (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCoalesced: 20 events in one packet have one time, and all but the first
// say so (recorder.md (c) 3).
func TestCoalesced(t *testing.T) {
	var s script
	var events strings.Builder
	for range 20 {
		events.WriteString(textEvent("a"))
	}
	s.connect(40000, 0).client(10*ms, chat()).server(20*ms, sseHead+chunk(events.String())).
		server(30*ms, chunk(textEvent("b"))+chunk(doneEvent)+"0\r\n\r\n")
	r := s.one(t).Record
	var coalesced int
	for i, c := range r.Chunks {
		if c.Flags&trace.FlagCoalesced != 0 {
			coalesced++
			if c.GapUs != 0 || i == 0 {
				t.Errorf("chunk %d: gap %d, coalesced", i, c.GapUs)
			}
		}
	}
	check(t, "chunks", len(r.Chunks), 22)
	check(t, "coalesced", coalesced, 20)
	check(t, "longest gap", deref(r.MaxGapUs), "10000")
}

// TestFlushedCodings: an event has the time of the packet that completes its
// flush block, and lengths are kept both ways (recorder.md (c) 19, trace.md
// 8.15).
func TestFlushedCodings(t *testing.T) {
	type flusher interface {
		Write([]byte) (int, error)
		Flush() error
		Close() error
	}
	codings := map[string]func(b *bytes.Buffer) flusher{
		"gzip": func(b *bytes.Buffer) flusher { return gzip.NewWriter(b) },
		"br":   func(b *bytes.Buffer) flusher { return brotli.NewWriter(b) },
		"zstd": func(b *bytes.Buffer) flusher {
			w, err := zstd.NewWriter(b)
			if err != nil {
				t.Fatal(err)
			}
			return w
		},
	}
	for name, open := range codings {
		t.Run(name, func(t *testing.T) {
			var s script
			var buf bytes.Buffer
			w := open(&buf)
			k := s.connect(40000, 0).client(10*ms, chat())
			k.server(20*ms, strings.Replace(sseHead, "\r\n\r\n", "\r\nContent-Encoding: "+name+"\r\n\r\n", 1))
			wire, plain := 0, 0
			flush := func(at time.Duration, text string) {
				if _, err := w.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
				plain += len(text)
				wire += buf.Len()
				// Each flush block comes in two packets 1 ms apart.
				data := chunk(buf.String())
				k.server(at-ms, data[:len(data)/2]).server(at, data[len(data)/2:])
				buf.Reset()
			}
			flush(110*ms, roleEvent)
			flush(210*ms, textEvent("a")+textEvent("b")+textEvent("c"))
			flush(310*ms, endEvent+doneEvent)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			wire += buf.Len()
			k.server(311*ms, chunk(buf.String())+"0\r\n\r\n")
			x := s.one(t)
			want := shape{"ok", "200", 3, "6", "3", "10", "100", "200", "200", "301"}
			if diff := cmp.Diff(want, shapeOf(x)); diff != "" {
				t.Errorf("exchange (-want +got):\n%s", diff)
			}
			check(t, "wire bytes", x.Record.RespWireBytes, int64(wire))
			check(t, "decoded bytes", x.Record.RespBodyBytes, int64(plain))
			check(t, "encoding", deref(x.Record.ContentEncoding), name)
			check(t, "third chunk coalesced", x.Record.Chunks[2].Flags, trace.FlagCoalesced)
		})
	}
}

// TestHoleInStream: a packet that was lost costs its events and the outcome,
// and what follows is read again, with a word that there was a hole.
func TestHoleInStream(t *testing.T) {
	rows := []struct {
		name string
		lost func(k *talk)
	}{
		{"one packet, one event", func(k *talk) { k.lose(ToClient, len(chunk(textEvent("b")))) }},
		{"the tail of an event", func(k *talk) {
			whole := chunk(textEvent("b"))
			k.server(30*ms, whole[:50]).lose(ToClient, len(whole)-50)
		}},
		{"the head of an event", func(k *talk) {
			whole := chunk(textEvent("b"))
			k.lose(ToClient, 50).server(30*ms, whole[50:])
		}},
		{"two packets", func(k *talk) { k.lose(ToClient, 2*len(chunk(textEvent("b")))) }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var s script
			k := s.connect(40000, 0).client(10*ms, chat()).server(20*ms, sseHead+chunk(textEvent("a")))
			row.lost(k)
			k.server(40*ms, chunk(textEvent("c"))).server(50*ms, chunk(doneEvent)+"0\r\n\r\n")
			k.packet(ToServer, 5*time.Second, 0, nil)
			x := s.one(t)
			want := shape{"cut_by_capture/gap", "200", 2, "3", "2", "10", "10", "10", "30", "40"}
			if diff := cmp.Diff(want, shapeOf(x)); diff != "" {
				t.Errorf("exchange (-want +got):\n%s", diff)
			}
			check(t, "after gap", x.Record.Chunks[1].Flags, trace.FlagAfterGap)
			check(t, "gaps", x.Record.ReassemblyGaps, 1)
			check(t, "complete", x.Record.RespComplete, false)
			if x.Record.LostBytesResp == 0 || x.Record.LostEvents != 1 {
				t.Errorf("lost bytes %d, events %d", x.Record.LostBytesResp, x.Record.LostEvents)
			}
		})
	}
}

// TestLongCodedStream: a stream is not cut for being larger than the cap of a
// body, as long as it is not larger out of proportion.
func TestLongCodedStream(t *testing.T) {
	var plain strings.Builder
	for i := range 3000 {
		plain.WriteString(textEvent(fmt.Sprint("word ", i*7919)))
	}
	plain.WriteString(endEvent + doneEvent)
	coded := zipped(t, []byte(plain.String()))
	var s script
	k := s.connect(40000, 0).client(10*ms, chat())
	k.server(20*ms, strings.Replace(sseHead, "\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n", 1)+chunk(string(coded))+"0\r\n\r\n")
	got, _ := s.run(t, Config{BodyCap: 64 << 10})
	x := got.list[0]
	check(t, "outcome", string(x.Record.Outcome), "ok")
	check(t, "decoded bytes", x.Record.RespBodyBytes, int64(plain.Len()))
	check(t, "text chunks", countKind(x.Record, trace.ChunkText), 3000)
}

package replayer

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

const ms = time.Millisecond

// TestAnswers holds what one answer becomes, by the service's behaviour:
// cases 4 to 12 and 14 of the replayer's list, 15 and its siblings of the
// public record.
func TestAnswers(t *testing.T) {
	type want struct {
		outcome trace.Outcome
		detail  trace.OutcomeDetail
		// first token, first visible token, end, µs; nil = none
		first, visible, end any
		events, chunks      int32
		tpot                time.Duration // 0 = none
		errorType           string
		tokens              any // output
	}
	long := strings.Repeat("x", 200<<10)
	rows := []struct {
		name     string
		timeouts Timeouts
		answer   func(e events)
		want     want
	}{
		{"four tokens an event, with usage in each", Timeouts{}, func(e events) {
			for i := range 3 {
				time.Sleep(40 * ms)
				e.data(`{"choices":[{"index":0,"delta":{"content":"abcd"}}],"usage":{"prompt_tokens":20,"completion_tokens":` + []string{"4", "8", "12"}[i] + `}}`)
			}
			e.finish(20, 12)
		}, want{outcome: trace.OutcomeOK, first: int64(40_000), visible: int64(40_000), end: int64(120_000), events: 6, chunks: 3, tpot: 10 * ms, tokens: int64(12)}},
		{"role before content", Timeouts{}, func(e events) {
			e.data(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`)
			time.Sleep(90 * ms)
			e.text("a")
			e.finish(20, 1)
		}, want{outcome: trace.OutcomeOK, first: int64(90_000), visible: int64(90_000), end: int64(90_000), events: 5, chunks: 1, tokens: int64(1)}},
		{"reasoning before content", Timeouts{}, func(e events) {
			time.Sleep(10 * ms)
			e.data(`{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}`)
			time.Sleep(20 * ms)
			e.text("a")
			e.finish(20, 2)
		}, want{outcome: trace.OutcomeOK, first: int64(10_000), visible: int64(30_000), end: int64(30_000), events: 5, chunks: 2, tpot: 20 * ms, tokens: int64(2)}},
		{"error in the stream", Timeouts{}, func(e events) {
			e.text("a")
			e.data(`{"error":{"message":"engine died","type":"internal_error","code":500}}`)
			e.data("[DONE]")
		}, want{outcome: trace.OutcomeErrorInStream, first: int64(0), visible: int64(0), end: int64(0), events: 3, chunks: 1, errorType: "internal_error"}},
		{"no end mark", Timeouts{}, func(e events) {
			e.text("a")
			time.Sleep(10 * ms)
			e.text("b")
		}, want{outcome: trace.OutcomeServerAbort, detail: trace.DetailFIN, first: int64(0), visible: int64(0), end: int64(10_000), events: 2, chunks: 2}},
		{"no usage", Timeouts{}, func(e events) {
			e.text("a")
			e.data("[DONE]")
		}, want{outcome: trace.OutcomeOK, first: int64(0), visible: int64(0), end: int64(0), events: 2, chunks: 1}},
		{"end mark and nothing else", Timeouts{}, func(e events) {
			e.data("[DONE]")
		}, want{outcome: trace.OutcomeEmptyStream, end: int64(0), events: 1}},
		{"usage without content", Timeouts{}, func(e events) {
			e.finish(20, 5)
		}, want{outcome: trace.OutcomeEmptyStream, end: int64(0), events: 3, tokens: int64(5)}},
		{"all tokens in one event", Timeouts{}, func(e events) {
			time.Sleep(5 * ms)
			e.data(`{"choices":[{"index":0,"delta":{"content":"abcdefgh"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":8}}`)
			e.data("[DONE]")
		}, want{outcome: trace.OutcomeOK, first: int64(5000), visible: int64(5000), end: int64(5000), events: 2, chunks: 1, tokens: int64(8)}},
		{"CRLF, comments, split and long events", Timeouts{}, func(e events) {
			e.raw(": queued\r\n\r\n")
			time.Sleep(10 * ms)
			e.raw("data: {\"choices\":[{\"index\":0,\r\n")
			time.Sleep(10 * ms)
			e.raw("data: \"delta\":{\"content\":\"a\"}}]}\r")
			time.Sleep(10 * ms)
			e.raw("\n\r\n: ping\r\n\r\n")
			time.Sleep(70 * ms)
			e.text(long)
			e.finish(20, 2)
		}, want{outcome: trace.OutcomeOK, first: int64(30_000), visible: int64(30_000), end: int64(100_000), events: 5, chunks: 2, tpot: 70 * ms, tokens: int64(2)}},
		{"text that only mentions the end mark", Timeouts{}, func(e events) {
			e.text("write [DONE] here")
			e.raw("data: [DONE] \r\n\r\n")
		}, want{outcome: trace.OutcomeOK, first: int64(0), visible: int64(0), end: int64(0), events: 2, chunks: 1}},
		{"head at once, body never", Timeouts{FirstToken: 100 * time.Second}, func(e events) {
			time.Sleep(time.Hour)
		}, want{outcome: trace.OutcomeTimeout, detail: trace.DetailTTFT, end: int64(0)}},
		{"120 s of stream, idle limit 30 s", Timeouts{Idle: 30 * time.Second}, func(e events) {
			for range 12 {
				time.Sleep(10 * time.Second)
				e.text("a")
			}
			e.finish(20, 12)
		}, want{outcome: trace.OutcomeOK, first: int64(10_000_000), visible: int64(10_000_000), end: int64(120_000_000), events: 15, chunks: 12, tpot: 10 * time.Second, tokens: int64(12)}},
		{"a gap of 31 s, idle limit 30 s", Timeouts{Idle: 30 * time.Second, Total: time.Hour}, func(e events) {
			e.text("a")
			time.Sleep(31 * time.Second)
			e.text("a")
			e.finish(20, 2)
		}, want{outcome: trace.OutcomeTimeout, detail: trace.DetailIdle, first: int64(0), visible: int64(0), end: int64(0), events: 1, chunks: 1}},
		{"total limit", Timeouts{Total: 15 * time.Second, Idle: 11 * time.Second, FirstToken: 11 * time.Second}, func(e events) {
			for range 5 {
				time.Sleep(10 * time.Second)
				e.text("a")
			}
		}, want{outcome: trace.OutcomeTimeout, detail: trace.DetailTotal, first: int64(10_000_000), visible: int64(10_000_000), end: int64(10_000_000), events: 1, chunks: 1}},
		{"complete, then a server that keeps the stream open", Timeouts{Total: time.Second}, func(e events) {
			e.text("a")
			e.finish(20, 1)
			time.Sleep(time.Minute)
		}, want{outcome: trace.OutcomeOK, first: int64(0), visible: int64(0), end: int64(0), events: 4, chunks: 1, tokens: int64(1)}},
		{"last event cut in the middle", Timeouts{}, func(e events) {
			e.text("a")
			e.raw(`data: {"choices":[{"index":0,"delta":{"content":"b`)
		}, want{outcome: trace.OutcomeServerAbort, detail: trace.DetailFIN, first: int64(0), visible: int64(0), end: int64(0), events: 1, chunks: 1}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := &stub{answer: func(w http.ResponseWriter, _ *http.Request) { row.answer(stream200(w)) }}
			cfg := one(1, time.Second)
			cfg.Timeouts = row.timeouts
			virtual(t, s, cfg, chatTrace(2, time.Second), func(t *testing.T, _ *Result, out *memory, err error) {
				if err != nil {
					t.Fatal(err)
				}
				r := out.only(t)
				got := want{
					outcome: r.Outcome, first: us(r.TFirstTokenUs), visible: us(r.TFirstVisibleUs), end: us(r.TEndUs),
					events: *r.EventCount, chunks: *r.ChunkCount, tokens: us(r.OutputTokens),
				}
				if r.OutcomeDetail != nil {
					got.detail = *r.OutcomeDetail
				}
				if r.ErrorType != nil {
					got.errorType = *r.ErrorType
				}
				got.tpot, _ = trace.TPOT(&r.Timing, &r.Usage, r.N)
				if d := cmp.Diff(row.want, got, cmp.AllowUnexported(want{})); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
				checkChunks(t, r)
			})
		})
	}
}

// checkChunks: gaps add up to the moments, and only events that share a Read
// are coalesced.
func checkChunks(t *testing.T, r *trace.Record) {
	t.Helper()
	at, counted := int64(0), int64(-1)
	for i, c := range r.Chunks {
		at += c.GapUs
		if c.Flags&trace.FlagCoalesced != 0 && (i == 0 || c.GapUs != 0) {
			t.Errorf("chunk %d is coalesced with a gap of %d", i, c.GapUs)
		}
		if c.Kind.Generated() {
			counted = at
		}
	}
	if counted >= 0 && (r.TLastTokenUs == nil || *r.TLastTokenUs != counted) {
		t.Errorf("last generated chunk at %d, t_last_token %v", counted, us(r.TLastTokenUs))
	}
}

func TestCoalescedEvents(t *testing.T) {
	s := &stub{answer: func(w http.ResponseWriter, _ *http.Request) {
		e := stream200(w)
		e.raw("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"}}]}\n\n")
		time.Sleep(ms)
		e.text("c")
		e.finish(20, 3)
	}}
	virtual(t, s, one(1, time.Second), chatTrace(2, time.Second), func(t *testing.T, _ *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		var got []trace.ChunkFlags
		for _, c := range out.only(t).Chunks[:3] {
			got = append(got, c.Flags)
		}
		if d := cmp.Diff([]trace.ChunkFlags{0, trace.FlagCoalesced, 0}, got); d != "" {
			t.Error(d)
		}
	})
}

// Answers that are no stream.
func TestWholeAnswers(t *testing.T) {
	reply := func(status int, contentType, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(30 * ms)
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Location", "http://elsewhere/%zz")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	rows := []struct {
		name      string
		answer    func(http.ResponseWriter, *http.Request)
		outcome   trace.Outcome
		errorType string
		class     trace.Class
	}{
		{"answer", reply(200, "application/json", `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":1}}`), trace.OutcomeOK, "", trace.ClassOK},
		{"500", reply(500, "application/json", `{"error":{"type":"boom"}}`), trace.OutcomeHTTPError, "boom", trace.ClassError},
		{"503 without JSON", reply(503, "text/plain", `no`), trace.OutcomeHTTPError, "", trace.ClassShed},
		{"400", reply(400, "application/json", `{}`), trace.OutcomeHTTPError, "", trace.ClassExcluded},
		{"redirect", reply(307, "text/html", `<a>`), trace.OutcomeErrorInStream, "redirect", trace.ClassError},
		{"page", reply(200, "text/html", `<html>`), trace.OutcomeErrorInStream, "not_json", trace.ClassError},
		{"broken JSON", reply(200, "application/json", `{"choices":`), trace.OutcomeErrorInStream, "not_json", trace.ClassError},
		{"huge and no JSON", reply(200, "application/json", strings.Repeat("x", bodyCap+1)), trace.OutcomeErrorInStream, "not_json", trace.ClassError},
		{"huge", reply(200, "application/json", `{"data":[`+strings.Repeat("1,", bodyCap/2)+"1]}"), trace.OutcomeOK, "", trace.ClassOK},
		{"answer as a stream", reply(200, "text/event-stream", `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`), trace.OutcomeOK, "", trace.ClassOK},
		{"error as a stream", reply(200, "text/event-stream", `{"error":{"type":"overloaded_error"}}`), trace.OutcomeErrorInStream, "overloaded_error", trace.ClassShed},
		{"error under 200", reply(200, "application/json", `{"error":{"type":"overloaded_error"}}`), trace.OutcomeErrorInStream, "overloaded_error", trace.ClassShed},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			virtual(t, &stub{answer: row.answer}, one(1, time.Second), chatTrace(2, time.Second), func(t *testing.T, _ *Result, out *memory, err error) {
				if err != nil {
					t.Fatal(err)
				}
				r := out.only(t)
				errorType := ""
				if r.ErrorType != nil {
					errorType = *r.ErrorType
				}
				if r.Outcome != row.outcome || errorType != row.errorType || r.Class() != row.class {
					t.Errorf("%s %q %v, want %s %q %v", r.Outcome, errorType, r.Class(), row.outcome, row.errorType, row.class)
				}
				// No stream has no first token: it is not its end.
				if r.TFirstTokenUs != nil || *r.TEndUs != 30_000 {
					t.Errorf("first token %v, end %v", us(r.TFirstTokenUs), us(r.TEndUs))
				}
			})
		})
	}
}

// A stream is read as one whatever its head calls it, as clients do.
func TestStreamOfAnotherType(t *testing.T) {
	for _, contentType := range []string{"text/plain", "application/json", ""} {
		answer := func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{contentType}
			e := events{w}
			time.Sleep(20 * ms)
			e.raw("da")
			time.Sleep(20 * ms)
			e.raw("ta: ")
			e.raw(`{"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n")
			e.finish(20, 1)
		}
		virtual(t, &stub{answer: answer}, one(1, time.Second), chatTrace(2, time.Second), func(t *testing.T, _ *Result, out *memory, err error) {
			if err != nil {
				t.Fatal(err)
			}
			r := out.only(t)
			if r.Outcome != trace.OutcomeOK || us(r.TFirstTokenUs) != int64(40_000) || us(r.OutputTokens) != int64(1) {
				t.Errorf("%q: %s, first token %v, output %v", contentType, r.Outcome, us(r.TFirstTokenUs), us(r.OutputTokens))
			}
		})
	}
}

// An answer that switches protocols hands over the bare connection, which
// neither deadline nor drain ends: it is not read.
func TestSwitchedProtocol(t *testing.T) {
	s := &stub{answer: func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		_, _ = conn.Read(make([]byte, 1)) // holds on until the client goes
		_ = conn.Close()
	}}
	virtual(t, s, one(1, time.Second), chatTrace(2, time.Second), func(t *testing.T, _ *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if r := out.only(t); r.Outcome != trace.OutcomeErrorInStream || *r.ErrorType != "upgrade" || *r.StatusCode != 101 {
			t.Errorf("%+v", r.Result)
		}
	})
}

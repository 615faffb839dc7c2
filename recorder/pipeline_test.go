package recorder

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// TestPipelinedWithoutAnswer: of requests that pile up the first are followed,
// of the others the arrival is kept; each answer finds its own, HEAD's without
// a body in between.
func TestPipelinedWithoutAnswer(t *testing.T) {
	const more = 1000
	var s script
	k := s.connect(1, 0)
	var ask, say strings.Builder
	for i := range maxPipelined + more {
		if i%3 == 2 {
			ask.WriteString("HEAD /x HTTP/1.1\r\n\r\n")
			say.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")
			continue
		}
		ask.WriteString(post(fmt.Sprint("/", i), "abc"))
		say.WriteString("HTTP/1.1 103 Early Hints\r\n\r\n" + ok(fmt.Sprint(i)))
	}
	k.client(2*ms, ask.String()).server(500*ms, say.String())
	k.client(600*ms, get("/next")).server(700*ms, ok("next"))
	got, rep := s.run(t, Config{})
	check(t, "exchanges", len(got.list), maxPipelined+more+1)
	check(t, "counted", rep.Faults[faultPipelined], more)
	check(t, "unpaired", rep.Totals.Unpaired, 0)
	for i, x := range got.list[:maxPipelined+more] {
		want := fmt.Sprintf("POST 200 ok 3 %d", len(fmt.Sprint(i)))
		switch head := i%3 == 2; {
		case i >= maxPipelined && head:
			want = "HEAD NULL cut_by_capture/cap 0 0"
		case i >= maxPipelined:
			want = "POST NULL cut_by_capture/cap 3 0"
		case head:
			want = "HEAD 200 ok 0 0"
		}
		if summary(x) != want {
			t.Fatalf("exchange %d: got %s, want %s", i, summary(x), want)
		}
	}
	check(t, "the next", summary(got.list[len(got.list)-1]), "GET 200 ok 0 4")
}

// TestPipelinedForEver: a client that never reads costs bounded memory, its
// requests are bytes that are not read in the end, and another connection goes
// on.
func TestPipelinedForEver(t *testing.T) {
	sink := outcomes{}
	r := newRecording("test", sink, Config{})
	bad, good := &ConnInfo{ID: 1, SawSYN: true}, &ConnInfo{ID: 2, SawSYN: true}
	r.open(bad)
	r.open(good)
	request := []byte(get("/" + strings.Repeat("x", 100)))
	before := liveHeap()
	at := captureStart
	sent := 0
	for range 5 * maxOwed {
		at += int64(time.Microsecond)
		r.data(bad, ToServer, 0, request, at)
		sent += len(request)
	}
	if used := liveHeap() - before; used > 64<<20 {
		t.Errorf("%d MiB for one connection", used>>20)
	}
	check(t, "exchanges", sink["cut_by_capture/cap"], maxOwed)
	check(t, "not read", r.acct.w.LostByReason["blind:"+blindPipelined], int64((5*maxOwed-maxOwed)*len(request)))
	r.data(bad, ToClient, 0, []byte(ok("late")), at)
	r.data(good, ToServer, 0, []byte(get("/")), at)
	r.data(good, ToClient, 0, []byte(ok("good")), at)
	check(t, "another connection", sink["ok"], 1)
	r.closed(bad, at)
	r.closed(good, at)
	check(t, "open", r.acct.open, 0)
	check(t, "outcomes", len(sink), 2)
	runtime.KeepAlive(r)
}

// outcomes is a sink that counts exchanges by outcome.
type outcomes map[string]int

func (o outcomes) Take(x *trace.Exchange) error {
	o[outcomeOf(x.Record)]++
	return nil
}

func (o outcomes) Window(*trace.CaptureWindow) error { return nil }

// TestManyFields: 100,000 header fields in HTTP/1 are cut at the head's limit,
// and the next exchange is whole.
func TestManyFields(t *testing.T) {
	var fields strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&fields, "f%d: v\r\n", i)
	}
	var s script
	k := s.connect(1, 0)
	k.client(2*ms, "GET / HTTP/1.1\r\n"+fields.String()+"\r\n").server(3*ms, "HTTP/1.1 200 OK\r\n"+fields.String()+"Content-Length: 1\r\n\r\nx")
	k.client(4*ms, get("/next")).server(5*ms, ok("next"))
	got, rep := s.run(t, Config{})
	check(t, "exchanges", strings.Join(summaries(got.list), "; "), "GET 200 ok 0 1; GET 200 ok 0 4")
	check(t, "counted", rep.Faults["head_limit"], 2)
	for _, list := range [][]trace.Field{got.list[0].ReqHeader, got.list[0].RespHeader} {
		size := 0
		for _, f := range list {
			size += len(f.Name) + len(f.Value) + fieldCost
		}
		if size > maxHead || size == 0 {
			t.Errorf("%d bytes of header kept", size)
		}
	}
}

package recorder

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lambdac/lambdac/trace"
)

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n" }

func ok(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// TestPairing plays whole connections and compares the exchanges in order.
func TestPairing(t *testing.T) {
	rows := []struct {
		name     string
		play     func(s *script)
		want     []string
		unpaired int64
	}{
		{
			"three pipelined requests", // recorder.md (c) 5
			func(s *script) {
				k := s.connect(1, 0).client(2*ms, get("/1")+get("/2")+post("/3", "abc"))
				k.server(3*ms, ok("1")+ok("22")).server(4*ms, ok("333"))
			},
			[]string{"GET 200 ok 0 1", "GET 200 ok 0 2", "POST 200 ok 3 3"},
			0,
		},
		{
			"bodiless answers swallow nothing", // recorder.md (c) 7
			func(s *script) {
				k := s.connect(1, 0)
				k.client(2*ms, "HEAD / HTTP/1.1\r\n\r\n").server(3*ms, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
				k.client(4*ms, get("/")).server(5*ms, "HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n")
				k.client(6*ms, get("/")).server(7*ms, "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n")
				k.client(8*ms, get("/")).server(9*ms, ok("end"))
			},
			[]string{"HEAD 200 ok 0 0", "GET 204 ok 0 0", "GET 304 ok 0 0", "GET 200 ok 0 3"},
			0,
		},
		{
			"100-continue", // recorder.md (c) 8
			func(s *script) {
				k := s.connect(1, 0)
				k.client(2*ms, "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
				k.server(3*ms, "HTTP/1.1 100 Continue\r\n\r\n").client(4*ms, "body").server(5*ms, ok("done"))
			},
			[]string{"POST 200 ok 4 4"},
			0,
		},
		{
			"body refused, the next request follows", // recorder.md (c) 8
			func(s *script) {
				k := s.connect(1, 0)
				k.client(2*ms, "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4000\r\n\r\n")
				k.server(3*ms, "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
				k.client(4*ms, post("/", "body")[:30]).client(5*ms, post("/", "body")[30:]).server(6*ms, ok("done"))
			},
			[]string{"POST 417 http_error 0 0", "POST 200 ok 4 4"},
			0,
		},
		{
			"body refused, it follows all the same",
			func(s *script) {
				k := s.connect(1, 0)
				k.client(2*ms, "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
				k.server(3*ms, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
				k.client(4*ms, "bo").client(5*ms, "dy").client(6*ms, get("/")).server(7*ms, ok(""))
			},
			[]string{"POST 413 http_error 4 0", "GET 200 ok 0 0"},
			0,
		},
		{
			"body refused, the connection ends", // recorder.md (c) 8
			func(s *script) {
				k := s.connect(1, 0)
				k.client(2*ms, "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4000\r\n\r\n")
				k.server(3*ms, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n").fin(ToClient, 4*ms).fin(ToServer, 5*ms)
			},
			[]string{"POST 413 http_error 0 0"},
			0,
		},
		{
			"answer before the request's end",
			func(s *script) {
				k := s.connect(1, 0)
				whole := post("/", strings.Repeat("x", 100))
				k.client(2*ms, whole[:150]).server(3*ms, ok("early")).client(4*ms, whole[150:]).client(5*ms, get("/")).server(6*ms, ok(""))
			},
			[]string{"POST 200 ok 100 5", "GET 200 ok 0 0"},
			0,
		},
		{
			"answer without request",
			func(s *script) {
				k := s.connect(1, 0)
				k.server(2*ms, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n").client(3*ms, get("/")).server(4*ms, ok("x"))
			},
			[]string{"GET 200 ok 0 1"},
			1,
		},
		{
			"joined in mid-answer", // recorder.md (c) 17
			func(s *script) {
				k := s.joined(40000)
				k.server(2*ms, "c5\r\ndata: {\"choices\"").server(3*ms, ":[]}\n\n\r\n0\r\n\r\n")
				k.client(4*ms, get("/")).server(5*ms, ok("x"))
			},
			[]string{" NULL cut_by_capture/late_join 0 0", "GET 200 ok 0 1"},
			0,
		},
		{
			"joined while the request was sent",
			func(s *script) {
				k := s.joined(40000)
				k.client(2*ms, "rest of a body").server(3*ms, ok("abc")).client(4*ms, get("/")).server(5*ms, ok("x"))
			},
			[]string{" 200 cut_by_capture/late_join 0 3", "GET 200 ok 0 1"},
			0,
		},
		{
			"one hole from an answer's head to the connection's end",
			func(s *script) {
				k := s.connect(1, 0)
				k.client(2*ms, get("/1")).server(3*ms, "HTTP/1.1 200 OK\r\nContent-Le").client(4*ms, get("/2"))
				k.lose(ToClient, 60).fin(ToClient, 9*ms).fin(ToServer, 10*ms)
			},
			[]string{"GET 200 cut_by_capture/gap 0 0", "GET NULL cut_by_capture/gap 0 0"},
			0,
		},
		{
			"request lost, its answer not",
			func(s *script) {
				k := s.connect(1, 0)
				k.client(2*ms, get("/1")).server(3*ms, ok("1"))
				k.lose(ToServer, len(get("/2"))).server(5*ms, ok("22"))
				k.client(6*ms, get("/3")).server(7*ms, ok("333"))
				k.packet(ToServer, 3*time.Second, 0, nil)
			},
			[]string{"GET 200 ok 0 1", "GET 200 ok 0 3"},
			1,
		},
		{
			"answer lost, the next one not",
			func(s *script) {
				k := s.connect(1, 0)
				k.client(2*ms, get("/1")).lose(ToClient, len(ok("1")))
				k.client(4*ms, get("/2")).server(5*ms, ok("22"))
				k.packet(ToServer, 3*time.Second, 0, nil)
			},
			[]string{"GET NULL unknown 0 0", "GET 200 ok 0 2"},
			0,
		},
		{
			"first packet of a request lost, answered before the hole is given up",
			func(s *script) {
				k := s.connect(1, 0)
				k.client(2*ms, get("/1")).server(3*ms, ok("1"))
				k.lose(ToServer, 40).client(4*ms, "rest\r\n"+get("/2")).server(5*ms, ok("22"))
				k.packet(ToServer, 3*time.Second, 0, nil)
			},
			[]string{"GET 200 ok 0 1", "GET 200 ok 0 2"},
			0,
		},
		{
			"upgrade",
			func(s *script) {
				k := s.connect(1, 0)
				k.client(2*ms, "GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\n")
				k.server(3*ms, "HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x01a").client(4*ms, "\x81\x01b")
			},
			[]string{"GET 101 ok 0 0"},
			0,
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var s script
			row.play(&s)
			got, rep := s.run(t, Config{})
			if diff := cmp.Diff(row.want, summaries(got.list)); diff != "" {
				t.Errorf("exchanges (-want +got):\n%s", diff)
			}
			check(t, "unpaired", rep.Totals.Unpaired, row.unpaired)
		})
	}
}

// TestKeepAlive: 1000 requests on one connection (recorder.md (c) 6).
func TestKeepAlive(t *testing.T) {
	var s script
	k := s.connect(1, 0)
	for i := range 1000 {
		at := time.Duration(i+1) * 2 * ms
		k.client(at, get(fmt.Sprint("/", i))).server(at+ms, ok(strings.Repeat("x", i)))
	}
	got, _ := s.run(t, Config{})
	seen := map[uint64]bool{}
	for i, x := range got.list {
		seen[x.Ordinal] = true
		if x.Target != fmt.Sprint("/", i) || x.Record.RespBodyBytes != int64(i) || x.Record.Outcome != trace.OutcomeOK {
			t.Fatalf("exchange %d: %s %s", i, x.Target, summary(x))
		}
		if reused := *x.Record.ConnReused; reused != (i > 0) || (x.Record.TConnUs == nil) != reused {
			t.Fatalf("exchange %d: reused %v, connect %v", i, reused, x.Record.TConnUs)
		}
	}
	check(t, "exchanges", len(seen), 1000)
	check(t, "connect time", deref(got.list[0].Record.TConnUs), "1000")
}

// TestBlind: what is not HTTP is counted by what it is.
func TestBlind(t *testing.T) {
	rows := map[string][2]string{
		"tls":              {"\x16\x03\x01\x00\x05hello", "\x16\x03\x03\x00\x02hi"},
		"unknown_protocol": {"\x00\x01binary", "\x00\x02"},
	}
	for reason, data := range rows {
		for _, size := range []int{1, 100} {
			var s script
			k := s.connect(1, 0)
			for piece := range slices.Chunk([]byte(data[0]), size) {
				k.client(2*ms, string(piece))
			}
			k.server(3*ms, data[1])
			got, rep := s.run(t, Config{})
			want := map[string]int64{"blind:" + reason: int64(len(data[0]) + len(data[1]))}
			if size == 1 { // what it is shows with the third byte
				want = nil
			}
			if diff := cmp.Diff(want, rep.Totals.LostByReason); want != nil && diff != "" {
				t.Errorf("%s (-want +got):\n%s", reason, diff)
			}
			var sum int64
			for _, n := range rep.Totals.LostByReason {
				sum += n
			}
			check(t, reason+" bytes", sum, rep.Totals.BytesSeen)
			check(t, reason+" lost", rep.Totals.BytesLost, 0)
			check(t, reason+" exchanges", len(got.list), 0)
		}
	}
}

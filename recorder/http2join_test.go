package recorder

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

const g1 = "testdata/captures/g1-http2-cleartext.pcap"

// capturePackets cuts a pcap file into its header and its packets' records.
func capturePackets(t *testing.T, path string) (head []byte, packets [][]byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, data = data[:24], data[24:]
	for len(data) > 0 {
		n := 16 + binary.LittleEndian.Uint32(data[8:])
		packets = append(packets, data[:n])
		data = data[n:]
	}
	return head, packets
}

func recordBytes(t *testing.T, file []byte) (*collector, Report) {
	t.Helper()
	src, err := openReader(bytes.NewReader(file), "cut")
	if err != nil {
		t.Fatal(err)
	}
	var c collector
	rep, err := Run(context.Background(), src, &c, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if !c.totals.Balanced() || c.totals.OpenAtEnd != 0 {
		t.Errorf("loss account does not balance: %+v", c.totals)
	}
	return &c, rep
}

// known are the exchanges of the whole capture by client port and start, which
// streams asked for in one packet share.
type known map[string][]*trace.Exchange

func exchangeKey(x *trace.Exchange) string {
	return fmt.Sprint(*x.Record.ClientPort, " ", x.Record.StartUnixNs)
}

// compare checks that a damaged capture says nothing false: every exchange that
// claims to be complete is as it is in the whole one, and no field is of
// another exchange. It returns the number of the complete ones.
func (k known) compare(t *testing.T, what string, list []*trace.Exchange) (good int) {
	t.Helper()
	for _, x := range list {
		full := k[exchangeKey(x)]
		complete := x.Record.Outcome != trace.OutcomeCutByCapture && x.Record.Outcome != trace.OutcomeUnknown && (x.Record.Outcome != trace.OutcomeHTTPError || x.Record.RespComplete)
		if complete {
			good++
		}
		if len(full) == 0 {
			if complete {
				t.Errorf("%s: invented: %s %q", what, summary(x), x.Target)
			}
			continue
		}
		var wrong string
		for _, f := range full {
			if wrong = falsehood(f, x, complete); wrong == "" {
				break
			}
		}
		if wrong != "" {
			t.Errorf("%s: %s: %s", what, shapeOf(x).Outcome, wrong)
		}
	}
	return good
}

// falsehood says what of x is not as in full; "" = nothing.
func falsehood(full, x *trace.Exchange, complete bool) string {
	if a, b := summary(full)+full.Target, summary(x)+x.Target; complete && a != b {
		return fmt.Sprintf("got %q, want %q", b, a)
	}
	if x.Method != "" && x.Method != full.Method || x.Target != "" && x.Target != full.Target {
		return fmt.Sprintf("request line %q", x.Method+" "+x.Target)
	}
	for _, f := range x.ReqHeader {
		if !slices.Contains(full.ReqHeader, f) {
			return fmt.Sprintf("request field %q", f)
		}
	}
	for _, f := range x.RespHeader {
		if !slices.Contains(full.RespHeader, f) {
			return fmt.Sprintf("answer field %q", f)
		}
	}
	return ""
}

func knownOf(t *testing.T, head []byte, packets [][]byte) known {
	whole, _ := recordBytes(t, slices.Concat(head, slices.Concat(packets...)))
	k := known{}
	for _, x := range whole.list {
		k[exchangeKey(x)] = append(k[exchangeKey(x)], x)
	}
	return k
}

// TestHTTP2JoinedCapture begins a real capture at later and later packets
// (recorder.md (c) 17).
func TestHTTP2JoinedCapture(t *testing.T) {
	head, packets := capturePackets(t, g1)
	k := knownOf(t, head, packets)
	late, good := 0, 0
	for from := 1; from < len(packets); from += 3 {
		got, _ := recordBytes(t, slices.Concat(head, slices.Concat(packets[from:]...)))
		good += k.compare(t, fmt.Sprint("from packet ", from), got.list)
		for _, x := range got.list {
			if shapeOf(x).Outcome == "cut_by_capture/late_join" {
				late++
			}
		}
	}
	t.Logf("%d exchanges joined late, %d good", late, good)
	if late == 0 || good == 0 {
		t.Error("nothing was found")
	}
}

// TestHTTP2LostPacket leaves out each packet in turn.
func TestHTTP2LostPacket(t *testing.T) {
	head, packets := capturePackets(t, g1)
	k := knownOf(t, head, packets)
	good := 0
	for i := range packets {
		rest := slices.Concat(packets[:i], packets[i+1:])
		got, _ := recordBytes(t, slices.Concat(head, slices.Concat(rest...)))
		good += k.compare(t, fmt.Sprint("without packet ", i), got.list)
	}
	t.Logf("%d of %d exchanges good", good, 12*len(packets))
	if good < 12*len(packets)*8/10 {
		t.Error("a lost packet costs more than its exchanges")
	}
}

// TestHTTP2Joined: streams that were open are late, those that begin later are
// complete where their header says nothing of what came before.
func TestHTTP2Joined(t *testing.T) {
	var s script
	h := newH2Talk(t, s.joined(40000))
	h.ask(1, "POST", "/1", "x").answer(1, "200", "y").headers(ToClient, 3, false, ":status: 200", "secret: old")
	for d := range h.out {
		h.out[d].Reset() // before the capture
	}
	h.data(ToClient, 3, false, "tail").data(ToClient, 3, false, "of it").send(ToClient, 2*ms)
	h.must(h.fr[0].WriteWindowUpdate(0, 100))
	h.headers(ToServer, 5, true, ":method: GET", ":path: /5").headers(ToServer, 7, true, ":method: GET", ":path: /7", "x-id: /1").send(ToServer, 3*ms)
	h.headers(ToClient, 5, false, ":status: 200", "new! 1").data(ToClient, 5, true, "five").headers(ToClient, 7, true, ":status: 200", "secret: old").data(ToClient, 3, true, "").send(ToClient, 4*ms)
	got, rep := s.run(t, Config{})
	want := []string{" NULL cut_by_capture/late_join 0 9", "GET 200 ok 0 4", "GET 200 cut_by_capture/late_join 0 0"}
	if diff := cmp.Diff(want, summaries(got.list)); diff != "" {
		t.Error(diff)
	}
	check(t, "unpaired", rep.Totals.Unpaired, 0)
	check(t, "fields of the third", len(got.list[2].ReqHeader)+len(got.list[2].RespHeader), 0)
}

// TestHTTP2Lost: what a hole costs.
func TestHTTP2Lost(t *testing.T) {
	rows := []struct {
		name string
		play func(h *h2talk)
		want []string
	}{
		{"inside DATA", func(h *h2talk) {
			h.ask(1, "GET", "/1", "").ask(3, "GET", "/3", "").send(ToServer, 4*ms)
			h.headers(ToClient, 1, false, ":status: 200").headers(ToClient, 3, false, ":status: 200").data(ToClient, 1, true, "0123456789").data(ToClient, 3, true, "other")
			cut := h.out[ToClient].String()
			at := len(cut) - 14 - 8
			h.out[ToClient].Reset()
			h.k.server(5*ms, cut[:at]).lose(ToClient, 4).server(6*ms, cut[at+4:])
		}, []string{"GET 200 cut_by_capture/gap 0 6", "GET 200 ok 0 5"}},
		{"whole frames", func(h *h2talk) {
			h.ask(1, "GET", "/1", "").send(ToServer, 4*ms)
			h.headers(ToClient, 1, false, ":status: 200", "a! b").data(ToClient, 1, false, "ab")
			lost := h.out[ToClient].Len()
			h.out[ToClient].Reset()
			h.k.lose(ToClient, lost)
			h.data(ToClient, 1, false, "cd").data(ToClient, 1, true, "ef").send(ToClient, 5*ms)
			h.ask(3, "GET", "/3", "").send(ToServer, 6*ms)
			h.answer(3, "200", "xyz").send(ToClient, 7*ms)
		}, []string{"GET NULL unknown 0 4", "GET 200 ok 0 3"}},
		{"a request", func(h *h2talk) {
			h.ask(1, "GET", "/1", "")
			lost := h.out[ToServer].Len()
			h.out[ToServer].Reset()
			h.k.lose(ToServer, lost)
			h.headers(ToServer, 3, false, ":method: POST", ":path! /3").data(ToServer, 3, true, "abc").send(ToServer, 5*ms)
			h.answer(1, "200", "1").answer(3, "200", "3").send(ToClient, 6*ms)
		}, []string{"POST 200 ok 3 1"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var s script
			h := s.h2(t, 1)
			row.play(h)
			h.k.packet(ToServer, 3*time.Second, 0, nil)
			got, _ := s.run(t, Config{})
			if diff := cmp.Diff(row.want, summaries(got.list)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

package recorder

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// TestGRPC plays calls of gRPC (cases.md 6).
func TestGRPC(t *testing.T) {
	const message = "\x00\x00\x00\x00\x03abc"
	rows := []struct {
		name  string
		serve func(h *h2talk)
		want  string // outcome, status, class, error type and code, events, sizes
	}{
		{"failed behind two messages", func(h *h2talk) {
			h.headers(ToClient, 1, false, ":status: 200", "content-type: application/grpc")
			h.data(ToClient, 1, false, message).data(ToClient, 1, false, message)
			h.headers(ToClient, 1, true, "grpc-status: 8", "grpc-message: out of capacity")
		}, "error_in_stream 200 shed grpc 8 2 [3 3]"},
		{"failed with a lone head", func(h *h2talk) {
			h.headers(ToClient, 1, true, ":status: 200", "content-type: application/grpc", "grpc-status: 14", "grpc-message: gone")
		}, "http_error 200 error grpc 14 0 []"},
		{"failed with a lone head without type", func(h *h2talk) {
			h.headers(ToClient, 1, true, ":status: 200", "grpc-status: 12")
		}, "http_error 200 excluded grpc 12 NULL []"},
		{"good, the prefix alone in its frame", func(h *h2talk) {
			h.headers(ToClient, 1, false, ":status: 200", "content-type: application/grpc+proto")
			h.data(ToClient, 1, false, message[:5]).data(ToClient, 1, false, message[5:]).data(ToClient, 1, false, message[:2])
			h.data(ToClient, 1, false, message[2:]+"\x01\x00\x00\x00\x00").headers(ToClient, 1, true, "grpc-status: 0")
		}, "ok 200 ok   3 [3 3 0]"},
		{"ended without a status", func(h *h2talk) {
			h.headers(ToClient, 1, false, ":status: 200", "content-type: application/grpc").data(ToClient, 1, true, message)
		}, "server_abort/fin 200 error   1 [3]"},
		{"a proxy's answer", func(h *h2talk) {
			h.answer(1, "503", "no upstream")
		}, "http_error 503 shed   NULL []"},
		{"no message", func(h *h2talk) {
			h.headers(ToClient, 1, false, ":status: 200", "content-type: application/grpc").data(ToClient, 1, false, "\x07nonsense")
			h.headers(ToClient, 1, true, "grpc-status: 0")
		}, "ok 200 ok   0 []"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var s script
			h := s.h2(t, 1)
			h.headers(ToServer, 1, false, ":method: POST", ":path: /inference.GRPCInferenceService/ModelStreamInfer", "content-type: application/grpc", "te: trailers")
			h.data(ToServer, 1, true, message).send(ToServer, 4*ms)
			row.serve(h)
			h.send(ToClient, 5*ms)
			x := s.one(t)
			r := x.Record
			// What the sanitizer makes of the words.
			if x.Said.ErrorType != "" {
				r.ErrorType, r.ErrorCode = &x.Said.ErrorType, &x.Said.ErrorCode
			}
			sizes := []int32{}
			for _, c := range r.Chunks {
				check(t, "kind", c.Kind, trace.ChunkOther)
				sizes = append(sizes, c.Bytes)
			}
			got := fmt.Sprint(shapeOf(x).Outcome, " ", deref(r.StatusCode), " ", r.Class(), " ", x.Said.ErrorType, " ", x.Said.ErrorCode, " ", deref(r.EventCount), " ", sizes)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
			if r.ChunkCount != nil || r.TFirstTokenUs != nil {
				t.Error("nobody knows which messages carry output")
			}
		})
	}
}

// TestGRPCTimes: messages of a stream have their packets' times (recorder.md
// (c) 18), and a cancelled call is the client's.
func TestGRPCTimes(t *testing.T) {
	var s script
	h := s.h2(t, 1)
	h.headers(ToServer, 1, false, ":method: POST", ":path: /s/Stream", "content-type: application/grpc").data(ToServer, 1, true, "\x00\x00\x00\x00\x00").send(ToServer, 10*ms)
	h.headers(ToClient, 1, false, ":status: 200", "content-type: application/grpc").send(ToClient, 20*ms)
	h.data(ToClient, 1, false, "\x00\x00\x00\x00\x02a").send(ToClient, 30*ms)
	h.data(ToClient, 1, false, "b").send(ToClient, 40*ms)
	h.data(ToClient, 1, false, "\x00\x00\x00\x00\x01c").send(ToClient, 60*ms)
	h.must(h.fr[0].WriteRSTStream(1, 8))
	h.send(ToServer, 70*ms)
	want := shape{"client_abort/recorded", "200", 0, "2", "NULL", "10", "30", "-", "-", "50"}
	x := s.one(t)
	if diff := cmp.Diff(want, shapeOf(x)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	check(t, "gap", x.Record.Chunks[1].GapUs, 20000)
}

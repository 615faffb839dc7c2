package recorder

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// discard is a sink that only counts.
type discard struct{ exchanges, events int64 }

func (d *discard) Take(x *trace.Exchange) error {
	d.exchanges++
	if n := x.Record.EventCount; n != nil {
		d.events += int64(*n)
	}
	return nil
}

func (*discard) Window(*trace.CaptureWindow) error { return nil }

// benchEvents is the number of text events of a benchmark's stream.
const benchEvents = 200

// benchStream returns the packets of one streamed answer as servers send it:
// one event, with its chunk framing, a packet.
func benchStream() [][]byte {
	packets := [][]byte{[]byte(sseHead), []byte(chunk(roleEvent))}
	for i := range benchEvents {
		event := fmt.Sprintf(`data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":" w%d"},"logprobs":null,"finish_reason":null}]}`, i) + "\n\n"
		packets = append(packets, []byte(chunk(event)))
	}
	return append(packets, []byte(chunk(endEvent)+chunk(doneEvent)+"0\r\n\r\n"))
}

// BenchmarkStreams is the cost from ordered streams to exchanges.
func BenchmarkStreams(b *testing.B) {
	packets := benchStream()
	request := []byte(chat())
	var sink discard
	r := newRecording("bench", &sink, Config{KeepText: true})
	b.ReportAllocs()
	var sent, id uint64
	for b.Loop() {
		id++
		info := &ConnInfo{ID: id, Client: netip.MustParseAddrPort("10.0.0.1:1"), Server: netip.MustParseAddrPort("10.0.0.2:80"), SawSYN: true}
		t := captureStart
		r.open(info)
		r.data(info, ToServer, 0, request, t)
		for _, p := range packets {
			t += int64(20 * time.Millisecond)
			r.data(info, ToClient, 0, p, t)
		}
		r.fin(info, ToClient, t)
		r.closed(info, t)
		sent += uint64(len(packets) + 1)
	}
	reportRates(b, &sink, sent)
}

// BenchmarkRun is the whole way from a capture file in memory to exchanges,
// with an acknowledgement for every packet of the server.
func BenchmarkRun(b *testing.B) {
	var s script
	packets := benchStream()
	for port := range uint16(50) {
		k := s.connect(port+1, time.Duration(port)*ms)
		k.client(100*ms, chat())
		for i, p := range packets {
			at := time.Duration(200+20*i)*ms + time.Duration(port)*time.Microsecond
			k.server(at, string(p))
			k.packet(ToServer, at+time.Microsecond, 0, nil)
		}
		k.fin(ToClient, 20*time.Second).fin(ToServer, 20*time.Second+ms)
	}
	file := s.pcap()
	var sink discard
	var sent uint64
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		src, err := openReader(bytes.NewReader(file), "bench")
		if err != nil {
			b.Fatal(err)
		}
		rep, err := Run(context.Background(), src, &sink, Config{KeepText: true})
		if err != nil {
			b.Fatal(err)
		}
		sent += uint64(rep.Source.Packets)
	}
	reportRates(b, &sink, sent)
}

func reportRates(b *testing.B, sink *discard, packets uint64) {
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(float64(sink.events)/seconds, "events/s")
	b.ReportMetric(float64(packets)/seconds, "packets/s")
	b.ReportMetric(0, "ns/op")
}

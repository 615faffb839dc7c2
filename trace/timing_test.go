package trace

import (
	"testing"
	"time"
)

// The rows are the answers of a stub that once gave TTFT 0.0, an inflated
// TPOT, a division by zero and a time of −1.7e12 ms in other tools.
func TestUnmeasuredIsNotZero(t *testing.T) {
	us := func(ms int64) *int64 { return new(ms * 1000) }
	for _, row := range []struct {
		name   string
		timing Timing
		usage  Usage
		n      *int32
		ttft   time.Duration
		tpot   time.Duration // 0 = unknown
	}{
		{name: "usage but no content event", timing: Timing{TEndUs: us(90), ChunkCount: new(int32(0))}, usage: Usage{OutputTokens: new(int64(5))}},
		{name: "one token", timing: Timing{TFirstTokenUs: us(80), TLastTokenUs: us(80), ChunkCount: new(int32(1))}, usage: Usage{OutputTokens: new(int64(1))}, ttft: 80 * time.Millisecond},
		{name: "eight tokens in the only event", timing: Timing{TFirstTokenUs: us(70), TLastTokenUs: us(70), ChunkCount: new(int32(1)), FirstChunkTokens: new(int32(8))}, usage: Usage{OutputTokens: new(int64(8))}, ttft: 70 * time.Millisecond},
		{name: "refused", timing: Timing{TEndUs: us(2)}},
		{name: "normal", timing: Timing{TFirstTokenUs: us(100), TLastTokenUs: us(280), ChunkCount: new(int32(10))}, usage: Usage{OutputTokens: new(int64(10))}, ttft: 100 * time.Millisecond, tpot: 20 * time.Millisecond},
		{name: "first event carries eight", timing: Timing{TFirstTokenUs: us(100), TLastTokenUs: us(300), ChunkCount: new(int32(2)), FirstChunkTokens: new(int32(8))}, usage: Usage{OutputTokens: new(int64(18))}, ttft: 100 * time.Millisecond, tpot: 20 * time.Millisecond},
		{name: "two choices interleave", timing: Timing{TFirstTokenUs: us(100), TLastTokenUs: us(280), ChunkCount: new(int32(10))}, usage: Usage{OutputTokens: new(int64(10))}, n: new(int32(2)), ttft: 100 * time.Millisecond},
		{name: "tokens unknown", timing: Timing{TFirstTokenUs: us(100), TLastTokenUs: us(280), ChunkCount: new(int32(10))}, ttft: 100 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			ttft, ok := row.timing.TTFTUser()
			if ok != (row.ttft != 0) || ttft != row.ttft {
				t.Errorf("TTFTUser() = %v, %v, want %v", ttft, ok, row.ttft)
			}
			tpot, ok := TPOT(&row.timing, &row.usage, row.n)
			if ok != (row.tpot != 0) || tpot != row.tpot {
				t.Errorf("TPOT() = %v, %v, want %v", tpot, ok, row.tpot)
			}
		})
	}
}

func TestTTFTSentLeavesOutTheClientsDelay(t *testing.T) {
	timing := Timing{TSentUs: new(int64(400_000)), TFirstTokenUs: new(int64(900_000))}
	if d, ok := timing.TTFTSent(); !ok || d != 500*time.Millisecond {
		t.Errorf("TTFTSent() = %v, %v, want 500ms", d, ok)
	}
	timing.TSentUs = new(int64(1_000_000))
	if d, ok := timing.TTFTSent(); ok {
		t.Errorf("TTFTSent() = %v of a token before the send, want unknown", d)
	}
}

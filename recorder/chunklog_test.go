package recorder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lambdac/lambdac/trace"
)

func TestChunkLog(t *testing.T) {
	var l chunkLog
	if got := l.chunks(); got == nil || len(got) != 0 {
		t.Errorf("empty log: %v", got)
	}
	l.add(5, trace.ChunkRole, 0, nil, 0)
	l.add(1<<40, trace.ChunkText, 1<<31-1, new(int32(3)), trace.FlagCoalesced)
	l.add(1<<40, trace.ChunkText, 2, new(int32(0)), 0)
	l.add(1<<40-7, trace.ChunkDone, 6, nil, trace.FlagAfterGap)
	want := []trace.Chunk{
		{GapUs: 5, Kind: trace.ChunkRole},
		{GapUs: 1<<40 - 5, Bytes: 1<<31 - 1, Tokens: new(int32(3)), Kind: trace.ChunkText, Flags: trace.FlagCoalesced},
		{Bytes: 2, Tokens: new(int32(0)), Kind: trace.ChunkText},
		{GapUs: -7, Bytes: 6, Kind: trace.ChunkDone, Flags: trace.FlagAfterGap},
	}
	if diff := cmp.Diff(want, l.chunks()); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
}

// TestChunkLimit: of an answer of more pieces than any has, counts and times
// are those of all, and the rest is counted.
func TestChunkLimit(t *testing.T) {
	var s script
	k := s.connect(1, 0).client(2*ms, chat()).server(3*ms, sseHead+chunk(strings.Repeat(":\n", trace.MaxChunks+5)))
	k.server(9*ms, chunk(textEvent("a")+textEvent("b")+endEvent+doneEvent)+lastChunk)
	got, rep := s.run(t, Config{})
	r := got.list[0].Record
	check(t, "exchange", fmt.Sprintf("%s %s %s %d", r.Outcome, deref(r.EventCount), deref(r.ChunkCount), len(r.Chunks)), fmt.Sprintf("ok 4 2 %d", trace.MaxChunks))
	check(t, "last token", inMs(r.TLastTokenUs), "7")
	check(t, "counted", rep.Faults["chunk_limit"], int64(1))
}

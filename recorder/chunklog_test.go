package recorder

import (
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

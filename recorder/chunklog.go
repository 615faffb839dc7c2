package recorder

import (
	"encoding/binary"

	"github.com/lambdac/lambdac/trace"
)

// chunkLog holds the chunks of an answer under way in about 6 bytes each
// instead of the 32 of a [trace.Chunk]: with thousands of open streams they
// are most of the memory.
type chunkLog struct {
	data []byte
	n    int
	last int64 // time of the chunk before, µs since start
	some bool  // one of them tells its tokens
	over bool  // there were more than [trace.MaxChunks]
}

// add appends one chunk; at is its time, µs since start.
func (l *chunkLog) add(at int64, kind trace.ChunkKind, size int32, tokens *int32, flags trace.ChunkFlags) {
	if l.n == trace.MaxChunks {
		l.over = true
		return
	}
	l.data = binary.AppendVarint(l.data, at-l.last)
	l.data = binary.AppendUvarint(l.data, uint64(max(size, 0)))
	var told uint64
	if tokens != nil {
		told = uint64(max(*tokens, 0)) + 1
		l.some = true
	}
	l.data = binary.AppendUvarint(l.data, told)
	l.data = append(l.data, byte(kind), byte(flags))
	l.last = at
	l.n++
}

// chunks unpacks the log; never nil.
func (l *chunkLog) chunks() []trace.Chunk {
	list := make([]trace.Chunk, l.n)
	var tokens []int32
	if l.some {
		tokens = make([]int32, l.n)
	}
	rest := l.data
	for i := range list {
		gap, n := binary.Varint(rest)
		size, m := binary.Uvarint(rest[n:])
		told, k := binary.Uvarint(rest[n+m:])
		rest = rest[n+m+k:]
		list[i] = trace.Chunk{
			GapUs: gap, Bytes: int32(size),
			Kind: trace.ChunkKind(rest[0]), Flags: trace.ChunkFlags(rest[1]),
		}
		if told > 0 {
			tokens[i] = int32(told - 1)
			list[i].Tokens = &tokens[i]
		}
		rest = rest[2:]
	}
	return list
}

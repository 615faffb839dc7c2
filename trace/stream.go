package trace

// MaxChunks bounds the chunks kept of one answer; the counts and times of the
// record are those of all. No model says a quarter of a million tokens in one
// answer, but a comment of two bytes is a chunk too.
const MaxChunks = 1 << 18

// Chunk is one piece of an answer: an SSE or NDJSON event, a comment, or the
// one body of an answer that was not streamed.
type Chunk struct {
	// GapUs is the time since the previous chunk; of the first, since start.
	GapUs int64 `parquet:"gap_us,delta"`
	// Bytes is the size of the generated text in it (UTF-8), or of the event's
	// data where it carries none.
	Bytes int32 `parquet:"bytes,delta"`
	// Tokens in it, where the service says so per chunk.
	Tokens *int32 `parquet:"tokens"`
	// Kind is what it carries.
	Kind ChunkKind `parquet:"kind"`
	// Flags qualify its time.
	Flags ChunkFlags `parquet:"flags"`
}

// ChunkKind is what a chunk carries. The numbers are in files: never reorder.
type ChunkKind int8

const (
	ChunkNotSet ChunkKind = iota
	ChunkText
	ChunkReasoning
	ChunkToolArgs
	ChunkAudio
	ChunkRefusal
	ChunkRole
	ChunkUsage
	ChunkFilter
	ChunkPing
	ChunkComment
	ChunkError
	ChunkDone
	ChunkOther
)

var chunkKindNames = [...]string{
	"not_set", "text", "reasoning", "tool_args", "audio", "refusal", "role",
	"usage", "filter", "ping", "comment", "error", "done", "other",
}

// String returns the kind's name.
func (k ChunkKind) String() string {
	if k < 0 || int(k) >= len(chunkKindNames) {
		return "other"
	}
	return chunkKindNames[k]
}

// Generated reports whether the chunk carries generated output: text,
// reasoning, tool-call arguments, audio or a refusal. The first such chunk
// sets t_first_token.
func (k ChunkKind) Generated() bool { return k >= ChunkText && k <= ChunkRefusal }

// Visible reports whether a user sees it: generated output less reasoning.
func (k ChunkKind) Visible() bool { return k.Generated() && k != ChunkReasoning }

// ChunkFlags qualify a chunk's time.
type ChunkFlags int8

const (
	// FlagCoalesced: the chunk shares a packet, write or read with the one
	// before, so its gap of 0 says nothing about the service.
	FlagCoalesced ChunkFlags = 1 << iota
	// FlagTimeEstimated: the time was interpolated.
	FlagTimeEstimated
	// FlagAfterGap: bytes before it were lost.
	FlagAfterGap
)

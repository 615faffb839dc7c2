package trace

// Body is one sanitized text of an exchange, kept only in the filler and
// redact modes: one row of the bodies table. A request has one at most, its
// whole body. So has an answer that was not streamed; one that was has a row
// for each text in it, its pieces joined, and nothing that repeats them.
type Body struct {
	// RequestID is that of the exchange.
	RequestID string `parquet:"request_id"`
	// Side is whose body it is.
	Side BodySide `parquet:"side,dict"`
	// Body is decoded and sanitized.
	Body []byte `parquet:"body"`
	// DeltaBytes are the text bytes of each chunk of a stream; nil where the
	// body was not streamed.
	DeltaBytes []int32 `parquet:"delta_bytes,list,optional" parquet-element:",delta"`
	// Kind is that of the text, 0 = the whole body.
	Kind ChunkKind `parquet:"kind"`
	// Choice is the choice whose text it is, from 0.
	Choice int32 `parquet:"choice"`
	// Tool is the tool call whose arguments it is, from 0 in each choice.
	Tool int32 `parquet:"tool"`
}

// BodySide is the direction of a body.
type BodySide string

const (
	SideRequest  BodySide = "request"
	SideResponse BodySide = "response"
)

package trace

// Body is one sanitized text of an exchange, kept only in the filler and
// redact modes: one row of the bodies table.
type Body struct {
	RequestID string   `parquet:"request_id"`
	Side      BodySide `parquet:"side,dict"`
	// Body is decoded and sanitized.
	Body []byte `parquet:"body"`
	// DeltaBytes are the text bytes of each chunk of a stream; nil where the
	// body was not streamed.
	DeltaBytes []int32 `parquet:"delta_bytes,list,optional" parquet-element:",delta"`
}

// BodySide is the direction of a body.
type BodySide string

const (
	SideRequest  BodySide = "request"
	SideResponse BodySide = "response"
)

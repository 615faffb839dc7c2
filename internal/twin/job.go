package twin

// Job is one request as the scheduler sees it.
type Job struct {
	// ID is unique among the jobs of one engine; with the seed it decides
	// whether the job is one of those that fail.
	ID uint64
	// ArriveNs is the arrival in virtual nanoseconds from the engine's start.
	ArriveNs int64
	// InputTokens is the length of the prompt; below 1 counts as 1.
	InputTokens int
	// OutputTokens is the length of the answer; 0 (or less) is a request
	// without generation, such as an embedding.
	OutputTokens int
	// Tenant is whose request it is, 0 = not known; see the pathology
	// slow-tenant.
	Tenant uint64
	// Blocks are the keys of the prompt's full blocks of [BlockTokens] tokens,
	// in order. Keys are chained: equal keys mean equal content from the
	// prompt's start to the block's end. nil = shares nothing. The engine
	// reads but never writes them.
	Blocks []int64
}

// EventKind is what happened to a job.
type EventKind uint8

const (
	// Admitted: the job entered the batch for the first time.
	Admitted EventKind = iota
	// FirstToken and Token: token number Token was made.
	FirstToken
	Token
	// Done: the job ended well, at the instant of its last token.
	Done
	// Shed: refused at arrival because the server was full; Status 429 or 503.
	Shed
	// Failed: Status 500 at the end of its service without having shown any
	// token, or 400 at arrival because it exceeds the context. With a Cause, it
	// is a pathology's.
	Failed
	// Cut: the stream broke off after Token tokens, or the connection before an
	// answer in one piece.
	Cut
	// Cancelled: the client went away.
	Cancelled
	// Preempted: lost its place in the batch for want of KV blocks.
	Preempted
)

// Ends reports whether it is the last event of its job. Every job has exactly
// one such event.
func (k EventKind) Ends() bool { return k >= Done && k <= Cancelled }

// Event is something that happened to a job at a virtual time.
type Event struct {
	AtNs int64
	Job  uint64
	// Token counts the answer's tokens from 0; of Done, their number.
	Token int32
	// Cached, of Admitted, is the number of prompt tokens found in the cache.
	Cached int32
	// Status is the HTTP status of Shed and Failed, else 0.
	Status int16
	Kind   EventKind
	// Cause of Failed.
	Cause Cause
	// Wrong, of FirstToken and Done: the answer is a wrong one.
	Wrong bool
}

// Cause is which pathology failed a job.
type Cause uint8

const (
	CauseNone Cause = iota
	// OutOfMemory: an allocation for the job failed, status 500.
	OutOfMemory
	// Evicted: its KV blocks were taken away once too often, status 503.
	Evicted
)

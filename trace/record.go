package trace

// Record is one exchange, a request and its answer, as files hold it. The
// zero value is an exchange of which nothing is known. A Record given to a
// writer belongs to the writer.
type Record struct {
	Identity
	Arrival
	Request
	Usage
	Prefix
	Result
	Timing
	Replay
	Conn
	ServerTimes
	Provenance
	Capture

	// Chunks are the pieces of the answer in order. nil = not observed
	// (NULL in the file); empty = an answer without events. It is apart from
	// the groups because it is costly to read.
	Chunks []Chunk `parquet:"chunks,list,optional"`

	// Features are the numbers taken from texts that are not kept; nil = none
	// were taken. Written to the features table.
	Features *Features `parquet:"-"`
	// Bodies are the sanitized texts, where the mode keeps them. Written to
	// the bodies table.
	Bodies []Body `parquet:"-"`
}

// Identity says which exchange this is and to what it belongs.
type Identity struct {
	// RequestID is a keyed pseudonym without a clock in it, unique in its
	// trace. A replay keeps the recording's id, with the copy number appended
	// ("id#2") where the trace was superposed.
	RequestID string `parquet:"request_id"`
	// Origin says who made the record.
	Origin Origin `parquet:"origin,dict"`
	// SessionID groups the turns of one conversation (gen_ai.conversation.id).
	SessionID *string `parquet:"session_id"`
	// ParentRequestID is the turn before this one.
	ParentRequestID *string `parquet:"parent_request_id"`
	// Turn counts from 0 inside a session.
	Turn *int32 `parquet:"turn"`
	// SessionSource says where SessionID comes from.
	SessionSource SessionSource `parquet:"session_source,dict"`
	// TenantID is a keyed pseudonym of the caller: of its credential, or of
	// the header, query key or body field that the policy names.
	TenantID *string `parquet:"tenant_id"`
	// Adapter is the adapter or fine-tune served.
	Adapter *string `parquet:"adapter,dict"`
	// Accepted tells whether the user took the completion (editor logs).
	Accepted *bool `parquet:"accepted"`
}

// Arrival is when the exchange was due.
type Arrival struct {
	// StartTS is StartUnixNs / 1000, microseconds UTC; set by the writer, for
	// people and for pruning.
	StartTS int64 `parquet:"start_ts,timestamp(microsecond),delta"`
	// StartUnixNs is the exact start in nanoseconds since the Unix epoch, or
	// since the trace's start where the manifest's time base is relative.
	StartUnixNs int64 `parquet:"start_unix_ns,delta"`
	// ArrivalResolutionNs is the grid on which the start was recorded: 1 when
	// captured, 100 for Azure 2023, 3e9 for Mooncake's conversation trace.
	ArrivalResolutionNs int64 `parquet:"arrival_resolution_ns"`
	// ThinkTimeUs is this start less the end of the parent turn.
	ThinkTimeUs *int64 `parquet:"think_time_us"`
}

// Request is what was asked, without its text.
type Request struct {
	// APIKind is the API family; KindOther is opaque HTTP.
	APIKind APIKind `parquet:"api_kind,dict"`
	// Provider is gen_ai.provider.name; nil where the traffic does not tell.
	Provider *string `parquet:"provider,dict"`
	// Operation is gen_ai.operation.name.
	Operation *string `parquet:"operation,dict"`
	// Method is http.request.method; "other" for a method outside the
	// registry.
	Method string `parquet:"method,dict"`
	// PathTemplate is url.path with identifiers cut out.
	PathTemplate string `parquet:"path_template,dict"`
	// HostPseudonym is a keyed pseudonym of the Host or server address.
	HostPseudonym string `parquet:"host_pseudonym,dict"`
	// ServerPort is server.port; 0 only where there was no port at all.
	ServerPort int32 `parquet:"server_port"`
	// ClientPort joins with other captures and logs.
	ClientPort *int32 `parquet:"client_port"`
	// HTTPVersion is "1.0", "1.1" or "2"; "" where no head was seen.
	HTTPVersion string `parquet:"http_version,dict"`
	// TLS tells whether the connection was encrypted.
	TLS bool `parquet:"tls"`
	// ReqHeaders are the request's header fields: allow-listed values, all
	// others as "len:N".
	ReqHeaders map[string]string `parquet:"req_headers"`
	// RequestModel is gen_ai.request.model.
	RequestModel *string `parquet:"request_model,dict"`
	// Stream is gen_ai.request.stream, by the family's default where absent.
	Stream bool `parquet:"stream"`
	// MaxTokens is gen_ai.request.max_tokens.
	MaxTokens *int32 `parquet:"max_tokens"`
	// N is gen_ai.request.choice.count.
	N *int32 `parquet:"n"`
	// Seed is gen_ai.request.seed.
	Seed *int64 `parquet:"seed"`
	// TopK is gen_ai.request.top_k.
	TopK *int32 `parquet:"top_k"`
	// Temperature is gen_ai.request.temperature.
	Temperature *float64 `parquet:"temperature"`
	// TopP is gen_ai.request.top_p.
	TopP *float64 `parquet:"top_p"`
	// FrequencyPenalty is gen_ai.request.frequency_penalty.
	FrequencyPenalty *float64 `parquet:"frequency_penalty"`
	// PresencePenalty is gen_ai.request.presence_penalty.
	PresencePenalty *float64 `parquet:"presence_penalty"`
	// ReasoningLevel is gen_ai.request.reasoning.level.
	ReasoningLevel *string `parquet:"reasoning_level,dict"`
	// OutputType is gen_ai.output.type.
	OutputType *string `parquet:"output_type,dict"`
	// ServiceTier is openai.response.service_tier.
	ServiceTier *string `parquet:"service_tier,dict"`
	// MessageCount is the number of messages; nil where the body was not
	// understood.
	MessageCount *int32 `parquet:"message_count"`
	// ToolDefCount is the number of tools defined; nil likewise.
	ToolDefCount *int32 `parquet:"tool_def_count"`
	// ImageCount is the number of images; nil likewise.
	ImageCount *int32 `parquet:"image_count"`
	// AudioMs is the length of the audio sent, milliseconds.
	AudioMs *int32 `parquet:"audio_ms"`
	// Messages are the messages in order, as role and size.
	Messages []Message `parquet:"messages,list,optional"`
	// ReqWireBytes is the request's body as sent, chunk framing excluded,
	// content coding included.
	ReqWireBytes int64 `parquet:"req_wire_bytes"`
	// ReqBodyBytes is the request's body decoded.
	ReqBodyBytes int64 `parquet:"req_body_bytes"`
	// RespWireBytes is the answer's body as sent, as ReqWireBytes.
	RespWireBytes int64 `parquet:"resp_wire_bytes"`
	// RespBodyBytes is the answer's body decoded.
	RespBodyBytes int64 `parquet:"resp_body_bytes"`
	// ContentEncoding is the coding of the answer: gzip, deflate, br, zstd.
	ContentEncoding *string `parquet:"content_encoding,dict"`
}

// Message is one message of a request without its text.
type Message struct {
	Role Role `parquet:"role"`
	// Bytes is the length of its content text after JSON unescaping.
	Bytes int32 `parquet:"bytes"`
}

// Usage is what the service said it counted.
type Usage struct {
	// InputTokens are normalized: cached tokens are in them
	// (gen_ai.usage.input_tokens).
	InputTokens *int64 `parquet:"input_tokens"`
	// OutputTokens are normalized: reasoning tokens are in them
	// (gen_ai.usage.output_tokens).
	OutputTokens *int64 `parquet:"output_tokens"`
	// CacheReadTokens is gen_ai.usage.cache_read.input_tokens.
	CacheReadTokens *int64 `parquet:"cache_read_tokens"`
	// CacheWriteTokens is gen_ai.usage.cache_write.input_tokens.
	CacheWriteTokens *int64 `parquet:"cache_write_tokens"`
	// ReasoningTokens is gen_ai.usage.reasoning.output_tokens.
	ReasoningTokens *int64 `parquet:"reasoning_tokens"`
	// RawInputTokens is the number as sent.
	RawInputTokens *int64 `parquet:"raw_input_tokens"`
	// RawOutputTokens is the number as sent.
	RawOutputTokens *int64 `parquet:"raw_output_tokens"`
	// TokenSource says who counted.
	TokenSource TokenSource `parquet:"token_source,dict"`
	// TemplateOverheadTokens is usage less content tokens.
	TemplateOverheadTokens *int32 `parquet:"template_overhead_tokens"`
	// TokenizerID names the vocabulary: cl100k_base, o200k_base, …
	TokenizerID *string `parquet:"tokenizer_id,dict"`
}

// Prefix is the request's content as chained block ids: equal ids at equal
// places mean equal content up to there. Ids count from 0 in order of first
// appearance in the trace.
type Prefix struct {
	// PrefixBlockSize is 64 bytes when captured; 16 or 512 tokens on import.
	PrefixBlockSize *int32 `parquet:"prefix_block_size"`
	// PrefixBlockUnit is the unit of the size.
	PrefixBlockUnit *BlockUnit `parquet:"prefix_block_unit,dict"`
	// PrefixBlockIDs: nil = not known.
	PrefixBlockIDs []int64 `parquet:"prefix_block_ids,list,optional" parquet-element:",delta"`
}

// Result is how the exchange ended.
type Result struct {
	// RespHeaders are the answer's header fields, as ReqHeaders.
	RespHeaders map[string]string `parquet:"resp_headers"`
	// ResponseModel is gen_ai.response.model, the last one said.
	ResponseModel *string `parquet:"response_model,dict"`
	// StatusCode is http.response.status_code; nil = none was seen.
	StatusCode *int32 `parquet:"status_code"`
	// FinishReasons are gen_ai.response.finish_reasons in the service's own
	// spelling, one per choice.
	FinishReasons []string `parquet:"finish_reasons,list,optional"`
	// Outcome is the one word for the ending; see outcome.go.
	Outcome Outcome `parquet:"outcome,dict"`
	// OutcomeDetail tells kinds of one outcome apart.
	OutcomeDetail *OutcomeDetail `parquet:"outcome_detail,dict"`
	// ErrorType is error.type. The message text is dropped.
	ErrorType *string `parquet:"error_type,dict"`
	// ErrorCode is the service's own code.
	ErrorCode *string `parquet:"error_code,dict"`
	// RetryOf is the request that had the same keyed body shortly before.
	RetryOf *string `parquet:"retry_of"`
	// Attempt counts from 2 where RetryOf is set.
	Attempt *int32 `parquet:"attempt"`
}

// Replay is set in replays only.
type Replay struct {
	// Level is the index into the run's levels, from 0.
	Level *int32 `parquet:"level"`
	// LagCause says why the request was sent after it was due.
	LagCause *LagCause `parquet:"lag_cause,dict"`
	// Faults are the ids of the faults injected into this exchange.
	Faults []string `parquet:"faults,list,optional"`
}

// Conn is the connection that carried the exchange.
type Conn struct {
	// TConnUs is the time to connect, TLS included, where it was seen.
	TConnUs *int64 `parquet:"t_conn_us"`
	// ConnReused tells whether the connection had carried an exchange before.
	ConnReused *bool `parquet:"conn_reused"`
	// ConnID is a keyed pseudonym of the connection.
	ConnID *string `parquet:"conn_id"`
	// TAcceptUs is the time that the connection, which carried no exchange
	// before, was established and the server's process had not accepted it yet.
	TAcceptUs *int64 `parquet:"t_accept_us"`
}

// ServerTimes are durations that the server itself reported (server-timing,
// TGI headers, Ollama, llama.cpp), in microseconds.
type ServerTimes struct {
	// ServerTTFTUs is the time to the first token.
	ServerTTFTUs *int64 `parquet:"server_ttft_us"`
	// ServerQueueUs is the time in the server's queue.
	ServerQueueUs *int64 `parquet:"server_queue_us"`
	// ServerTotalUs is the time of the whole request.
	ServerTotalUs *int64 `parquet:"server_total_us"`
}

// Provenance is what the sanitizer did.
type Provenance struct {
	// SanitizerMode is what was left of texts.
	SanitizerMode Mode `parquet:"sanitizer_mode,dict"`
	// SanitizerVersion is the version of the tool that sanitized.
	SanitizerVersion string `parquet:"sanitizer_version,dict"`
	// PolicyHash names the policy by its hash; nil where there was none.
	PolicyHash *string `parquet:"policy_hash,dict"`
	// Redactions are counts per rule and field, never values.
	Redactions []Redaction `parquet:"redactions,list,optional"`
	// BodyState is what became of the bodies.
	BodyState BodyState `parquet:"body_state,dict"`
}

// Redaction counts what one rule removed from one field.
type Redaction struct {
	Rule  string `parquet:"rule,dict"`
	Field string `parquet:"field,dict"`
	Count int32  `parquet:"count"`
}

// Capture is how the exchange was seen, and what of it was not.
type Capture struct {
	// CaptureSource is how it was seen: ebpf, live, pcap, tap, or "import:" and
	// the format.
	CaptureSource string `parquet:"capture_source,dict"`
	// CaptureHost is a pseudonym of the machine that saw it.
	CaptureHost string `parquet:"capture_host,dict"`
	// CaptureVersion is the version of the tool that saw it.
	CaptureVersion string `parquet:"capture_version,dict"`
	// ClockSource is the clock of the times.
	ClockSource string `parquet:"clock_source,dict"`
	// ClockErrNs bounds the error of the mapping to wall time.
	ClockErrNs *int64 `parquet:"clock_err_ns"`
	// Vantage is where the clock stood: it decides what TTFT means.
	Vantage Vantage `parquet:"vantage,dict"`
	// ReqComplete: every byte of the request was seen.
	ReqComplete bool `parquet:"req_complete"`
	// RespComplete: every byte of the answer was seen.
	RespComplete bool `parquet:"resp_complete"`
	// LostBytesReq are bytes of the request that the capture missed.
	LostBytesReq int64 `parquet:"lost_bytes_req"`
	// LostBytesResp are bytes of the answer that the capture missed.
	LostBytesResp int64 `parquet:"lost_bytes_resp"`
	// LostEvents are events that could not be read because of it.
	LostEvents int64 `parquet:"lost_events"`
	// ReassemblyGaps counts the holes.
	ReassemblyGaps int64 `parquet:"reassembly_gaps"`
	// SampledWeight is 1 / P(kept); 1 when nothing was sampled.
	SampledWeight float64 `parquet:"sampled_weight"`
	// ImportRow is the line in the source file, from 1.
	ImportRow *int64 `parquet:"import_row"`
}

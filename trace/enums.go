package trace

// Origin says who made a record.
type Origin string

const (
	OriginCapture Origin = "capture"
	OriginImport  Origin = "import"
	OriginReplay  Origin = "replay"
	OriginControl Origin = "control"
)

// SessionSource says where a session id comes from.
type SessionSource string

const (
	SessionNone       SessionSource = "none"
	SessionHeader     SessionSource = "header"
	SessionBodyField  SessionSource = "body_field"
	SessionPrefixTree SessionSource = "prefix_tree"
	SessionImport     SessionSource = "import"
)

// APIKind names an API family as spoken on the wire. Azure OpenAI speaks the
// OpenAI kinds; the provider tells it apart.
type APIKind string

const (
	KindOpenAIChat         APIKind = "openai.chat"
	KindOpenAICompletions  APIKind = "openai.completions"
	KindOpenAIEmbeddings   APIKind = "openai.embeddings"
	KindOpenAIResponses    APIKind = "openai.responses"
	KindAnthropicMessages  APIKind = "anthropic.messages"
	KindGemini             APIKind = "gemini"
	KindOllamaChat         APIKind = "ollama.chat"
	KindOllamaGenerate     APIKind = "ollama.generate"
	KindTGIGenerate        APIKind = "tgi.generate"
	KindTritonGenerate     APIKind = "triton.generate"
	KindBedrockConverse    APIKind = "bedrock.converse"
	KindBedrockInvoke      APIKind = "bedrock.invoke"
	KindCohereChat         APIKind = "cohere.chat"
	KindSGLangGenerate     APIKind = "sglang.generate"
	KindLlamaCppCompletion APIKind = "llamacpp.completion"
	// KindOther is HTTP that is not one of the families, kept as an opaque
	// exchange.
	KindOther APIKind = "other"
)

// TokenSource says who counted the tokens.
type TokenSource string

const (
	TokensNone         TokenSource = "none"
	TokensUsage        TokenSource = "usage"
	TokensServerHeader TokenSource = "server_header"
	TokensLocal        TokenSource = "local_tokenizer"
	TokensImport       TokenSource = "import"
)

// BlockUnit is the unit of a prefix block.
type BlockUnit string

const (
	UnitByte  BlockUnit = "byte"
	UnitToken BlockUnit = "token"
)

// Mode is what the sanitizer left of a text.
type Mode string

const (
	// ModeShape keeps lengths, block ids and times, and no text.
	ModeShape Mode = "shape"
	// ModeFiller keeps replayable text without an original word.
	ModeFiller Mode = "filler"
	// ModeRedact keeps text with spans replaced.
	ModeRedact Mode = "redact"
	// ModeImport is the importer's seal: no text was ever taken.
	ModeImport Mode = "import"
)

// BodyState says what became of the body's text.
type BodyState string

const (
	BodyKept              BodyState = "kept"
	BodyFiller            BodyState = "filler"
	BodyDroppedPolicy     BodyState = "dropped_policy"
	BodyDroppedUnparsable BodyState = "dropped_unparsable"
	BodyDroppedTruncated  BodyState = "dropped_truncated"
)

// Vantage is where the observer's clock stood.
type Vantage string

const (
	VantageClient Vantage = "client"
	VantageServer Vantage = "server"
	VantageProxy  Vantage = "proxy"
)

// LagCause says why a replayed request was sent after it was due.
type LagCause string

const (
	// LagSession: the turn before had not ended.
	LagSession LagCause = "session"
	// LagCap: the in-flight cap held it.
	LagCap LagCause = "cap"
	// LagClient: the load generator itself was late.
	LagClient LagCause = "client"
)

// Role is who speaks in a message. The numbers are in files: never reorder.
type Role int8

const (
	RoleUnknown Role = iota
	RoleSystem
	RoleUser
	RoleAssistant
	RoleTool
	// RolePrompt is the prompt of a completion.
	RolePrompt
	// RoleEmbeddingInput is one input of an embedding request.
	RoleEmbeddingInput
)

var roleNames = [...]string{"unknown", "system", "user", "assistant", "tool", "prompt", "embedding_input"}

// String returns the role's name.
func (r Role) String() string {
	if r < 0 || int(r) >= len(roleNames) {
		return "unknown"
	}
	return roleNames[r]
}

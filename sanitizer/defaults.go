package sanitizer

import (
	"maps"
	"slices"
	"strings"
)

// builtin makes the policies that need no file.
func builtin() map[string]func() Policy {
	return map[string]func() Policy{"default": DefaultPolicy, "strict": StrictPolicy}
}

// BuiltinPolicies are the names of the policies that need no file.
func BuiltinPolicies() []string { return slices.Sorted(maps.Keys(builtin())) }

// BuiltinPolicy returns a policy by its name.
func BuiltinPolicy(name string) (Policy, bool) {
	make, ok := builtin()[name]
	if !ok {
		return Policy{}, false
	}
	return make(), true
}

// DefaultPolicy keeps what the load and its analysis need and nothing that
// names a person, a tenant or a credential. The caller is told apart by its
// credential. The value is the caller's own and may be changed.
func DefaultPolicy() Policy {
	return Policy{
		Schema:      PolicySchema,
		Name:        "default",
		DropHeaders: strings.Fields(dropHeaders),
		Headers: map[string]Grammar{
			"accept":            GrammarMediaList,
			"anthropic-beta":    GrammarBeta,
			"anthropic-version": GrammarVersion,
			"content-encoding":  GrammarCoding,
			"content-length":    GrammarInteger,
			"content-type":      GrammarMedia,
			"openai-beta":       GrammarBeta,
			"transfer-encoding": GrammarCoding,
			"user-agent":        GrammarProduct,

			"grpc-status":                   GrammarInteger,
			"openai-processing-ms":          GrammarNumber,
			"retry-after":                   GrammarRetryAfter,
			"retry-after-ms":                GrammarNumber,
			"server-timing":                 GrammarTiming,
			"x-compute-time":                GrammarNumber,
			"x-envoy-upstream-service-time": GrammarNumber,
			"x-generated-tokens":            GrammarNumber,
			"x-inference-time":              GrammarNumber,
			"x-prompt-tokens":               GrammarNumber,
			"x-queue-time":                  GrammarNumber,
			"x-time-per-token":              GrammarNumber,
			"x-total-time":                  GrammarNumber,
			"x-validation-time":             GrammarNumber,
		},
		LinkHeaders: strings.Fields(`b3 idempotency-key mcp-session-id traceparent x-amzn-trace-id
			x-client-request-id x-request-id x-session-id`),
		DropQuery: strings.Fields(dropQuery),
		Query: map[string]Grammar{
			"alt": GrammarFlag, "api-version": GrammarVersion, "beta": GrammarFlag,
		},
		PathWords:   strings.Fields(pathWords),
		PathParents: strings.Fields(pathParents),
		Body:        defaultBody(),
		Tenant: []Source{
			{PlaceHeader, "authorization"},
			{PlaceHeader, "x-api-key"},
			{PlaceHeader, "api-key"},
			{PlaceHeader, "x-goog-api-key"},
			{PlaceQuery, "key"},
		},
		Session: []Source{
			{PlaceHeader, "x-session-id"},
			{PlaceHeader, "mcp-session-id"},
			{PlaceBody, "session_id"},
			{PlaceBody, "conversation_id"},
			{PlaceBody, "conversation"},
			{PlaceBody, "metadata.session_id"},
			{PlaceBody, "metadata.conversation_id"},
		},
		Words:      strings.Fields(knownWords),
		NameParts:  strings.Fields(nameParts),
		ModelParts: strings.Fields(modelParts),
		WordParts:  strings.Fields(wordParts),
	}
}

// StrictPolicy keeps less: no pseudonym of callers and of links between
// exchanges, no client library, no model names, and of words only those that
// it lists.
func StrictPolicy() Policy {
	p := DefaultPolicy()
	p.Name = "strict"
	p.LinkHeaders, p.Tenant, p.Session = nil, nil, nil
	for _, name := range []string{"user-agent", "anthropic-beta", "openai-beta", "server-timing"} {
		delete(p.Headers, name)
	}
	p.Query = nil
	p.ModelParts, p.WordParts = nil, nil
	p.Body.Pseudonym = nil
	return p
}

// dropHeaders are credentials and identities: of the caller, of its account,
// and of the way between.
const dropHeaders = `
authorization proxy-authorization cookie cookie2 set-cookie set-cookie2 x-api-key api-key x-goog-api-key
x-goog-user-project ocp-apim-subscription-key x-amz-security-token x-amz-date x-amz-content-sha256
openai-organization openai-project helicone-auth helicone-user-id helicone-property-* x-portkey-* x-litellm-*
cf-aig-authorization cf-access-* x-vercel-* x-forwarded-for forwarded x-real-ip true-client-ip cf-connecting-ip*
x-envoy-external-address via x-forwarded-user x-forwarded-email x-forwarded-client-cert x-forwarded-groups
x-forwarded-preferred-username x-auth-* x-user-* from origin referer http-referer x-title x-openrouter-title
baggage tracestate x-csrf-token x-access-token x-session-token x-tenant-secret x-secret anthropic-organization-id
anthropic-workspace-id cf-ray x-amzn-requestid apim-request-id location www-authenticate proxy-authenticate
x-remote-user x-client-cert x-github-request-id grpc-message`

// dropQuery are credentials, signed links and their parts.
const dropQuery = `
key api_key api-key apikey access_token token sig signature X-Amz-Signature X-Amz-Credential X-Amz-Security-Token
X-Goog-Signature X-Goog-Credential sv se sp sr st code state id_token client_secret refresh_token securityToken
sessionKey password`

// pathWords are the fixed segments of the API families, of common servers'
// own routes, and plain words of web APIs.
const pathWords = `
api apis openai anthropic azure google vertex bedrock ollama cohere gemini
chat completions completion complete responses messages embeddings embedding embed rerank moderations
images audio speech transcriptions translations generations edits variations videos files uploads parts
models model engines deployments fine_tuning fine-tunes jobs checkpoints events batches assistants threads
runs steps vector_stores file_batches realtime sessions client_secrets transcription_sessions input_items
conversations items containers content cancel compact evals graders count_tokens input_tokens organizations
organization projects users invites api_keys admin_api_keys audit_logs usage costs certificates
generate generate_stream tags show ps pull push create copy delete blobs version
tokenize detokenize apply-template apply_template infill props slots lora-adapters reranking
converse converse-stream invoke invoke-with-response-stream guardrail apply async-invoke
generateContent streamGenerateContent countTokens embedContent batchEmbedContents predict rawPredict
streamRawPredict serverStreamingPredict predictLongRunning cachedContents tunedModels corpora publishers
locations endpoints operations extensions data_sources search index query info ready live
health healthz livez readyz startup ping status metrics stats config docs redoc openapi.json
favicon.ico robots.txt server_info server_load get_server_info get_model_info health_generate flush_cache
start_profile stop_profile load unload repository ready update_weights is_sleeping sleep wake_up
load_lora_adapter unload_lora_adapter pooling classify score invocations key keys team teams spend
mcp sse ws graphql rpc static assets public login logout auth oauth token callback me account accounts
tenants workspaces groups settings upload download export import list get set add remove test debug`

// pathParents are followed by an identifier even where it is spelled like one
// of the words.
const pathParents = `deployments projects locations users organizations tenants accounts workspaces
engines models model tunedModels endpoints publishers teams groups`

// knownWords are finish reasons, error types and codes, tiers, levels and
// types that APIs are known to say.
const knownWords = `
stop length tool_calls tool_call function_call content_filter end_turn max_tokens stop_sequence tool_use
refusal pause_turn model_context_window_exceeded eos eos_token COMPLETE STOP_SEQUENCE MAX_TOKENS TOOL_CALL ERROR
ERROR_TOXIC ERROR_LIMIT STOP SAFETY RECITATION LANGUAGE OTHER BLOCKLIST PROHIBITED_CONTENT SPII
MALFORMED_FUNCTION_CALL FINISH_REASON_UNSPECIFIED load unload abort error cancelled incomplete completed
failed max_output_tokens guardrail_intervened content_filtered unknown
invalid_request_error invalid_api_key authentication_error permission_error permission_denied not_found_error
model_not_found request_too_large rate_limit_error rate_limit_exceeded tokens requests insufficient_quota
api_error server_error internal_server_error internal_error overloaded_error overloaded engine_overloaded
timeout_error service_unavailable unavailable_error bad_gateway billing_error context_length_exceeded
exceed_context_size_error string_above_max_length unsupported_parameter unsupported_value
not_supported_error invalid_type missing_required_parameter invalid_value BadRequestError NotFoundError
InternalServerError RateLimitError ServiceUnavailableError APIError generation validation overloaded_model
throttlingException validationException modelStreamErrorException internalServerException
serviceUnavailableException modelTimeoutException RESOURCE_EXHAUSTED INVALID_ARGUMENT UNAVAILABLE
DEADLINE_EXCEEDED INTERNAL PERMISSION_DENIED UNAUTHENTICATED NOT_FOUND FAILED_PRECONDITION grpc
default auto flex priority standard standard_only batch scale reserved on_demand performance none minimal low medium high xhigh max adaptive
MINIMAL LOW MEDIUM HIGH ON_DEMAND PROVISIONED_THROUGHPUT
text json json_object json_schema image speech audio grammar regex
openai anthropic aws.bedrock azure.ai.openai azure.ai.inference gcp.gemini gcp.vertex_ai cohere deepseek groq
mistral_ai x_ai perplexity moonshot_ai ibm.watsonx.ai
chat text_completion generate_content embeddings
system developer user assistant tool function model chatbot prompt input USER SYSTEM CHATBOT TOOL MODEL
object string number integer boolean array null image_url input_text input_image input_file input_audio output_text
summary_text reasoning reasoning_text message function_call_output item_reference web_search web_search_preview
file_search code_interpreter computer_use mcp custom enabled disabled ephemeral tool_result thinking
redacted_thinking document base64 url file OBJECT STRING NUMBER INTEGER BOOLEAN ARRAY AUTO ANY NONE VALIDATED
required any list embedding chat.completion chat.completion.chunk response text_delta float in_progress`

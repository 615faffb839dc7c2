package sanitizer

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// kind makes one kind of secret or identity. All values are random: none is
// anybody's.
type kind struct {
	name string
	make func(r *rand.Rand) string
	// blind: no format tells it, so that the mode redact does not promise to
	// find it. The others keep no text.
	blind bool
}

const (
	lowers = "abcdefghijklmnopqrstuvwxyz"
	uppers = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
	alnums = lowers + uppers + digits
)

func random(r *rand.Rand, from string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = from[r.IntN(len(from))]
	}
	return string(b)
}

// prefixed is a key of an issuer: its prefix and n random letters and digits.
func prefixed(prefix string, n int) kind {
	return kind{name: prefix, make: func(r *rand.Rand) string { return prefix + random(r, alnums, n) }}
}

func plantedKinds() []kind {
	kinds := []kind{
		prefixed("sk-", 48), prefixed("sk-proj-", 74), prefixed("sk-svcacct-", 74), prefixed("sk-ant-api03-", 93),
		prefixed("sk-ant-admin01-", 93), prefixed("sk-or-v1-", 64), prefixed("AIza", 35), prefixed("ya29.", 60),
		prefixed("hf_", 34), prefixed("gsk_", 52), prefixed("xai-", 80), prefixed("pplx-", 48), prefixed("r8_", 37),
		prefixed("nvapi-", 64), prefixed("ghp_", 36), prefixed("github_pat_", 82), prefixed("glpat-", 20),
		prefixed("ABSK", 100), prefixed("xoxb-", 40), prefixed("sk_live_", 24), prefixed("SG.", 66),
		prefixed("npm_", 36), prefixed("Bearer ", 40),
		{name: "dop_v1_", make: func(r *rand.Rand) string { return "dop_v1_" + random(r, "0123456789abcdef", 64) }},
		{name: "org-", make: func(r *rand.Rand) string { return "org-" + random(r, alnums, 24) }, blind: true},
		{name: "aws key id", make: func(r *rand.Rand) string { return "AKIA" + random(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16) }},
		{name: "aws secret", make: func(r *rand.Rand) string { return random(r, alnums+"+/", 40) }, blind: true},
		{name: "jwt", make: func(r *rand.Rand) string {
			return "eyJ" + random(r, alnums, 33) + ".eyJ" + random(r, alnums, 60) + "." + random(r, alnums, 43)
		}},
		{name: "basic", make: func(r *rand.Rand) string {
			return "Basic " + base64.StdEncoding.EncodeToString([]byte(random(r, lowers, 8)+":"+random(r, alnums, 12)))
		}},
		{name: "pem", make: func(r *rand.Rand) string { return "-----BEGIN PRIVATE KEY-----\n" + random(r, alnums, 64) }},
		{name: "azure", make: func(r *rand.Rand) string { return "AccountKey=" + random(r, alnums, 86) + "==" }},
		{name: "url credentials", make: func(r *rand.Rand) string {
			return "postgres://" + random(r, lowers, 6) + ":" + random(r, alnums, 14) + "@db.internal/x"
		}},
		{name: "password", make: func(r *rand.Rand) string { return "password=" + random(r, alnums+"!#%^", 15) + random(r, digits, 1) }},
		{name: "hex", make: func(r *rand.Rand) string { return random(r, "0123456789abcdef", 32) }, blind: true},
		{name: "letters", make: func(r *rand.Rand) string { return random(r, lowers, 20) }, blind: true},
		{name: "uuid", make: func(r *rand.Rand) string {
			h := hex.EncodeToString([]byte(random(r, alnums, 16)))
			return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
		}, blind: true},
		{name: "e-mail", make: func(r *rand.Rand) string { return random(r, lowers, 7) + "." + random(r, lowers, 6) + "@example.com" }},
		{name: "phone", make: func(r *rand.Rand) string { return "+1-202-555-0" + random(r, digits, 3) }},
		{name: "card", make: func(r *rand.Rand) string {
			c := luhn("4111" + random(r, digits, 11))
			return c[:4] + " " + c[4:8] + " " + c[8:12] + " " + c[12:]
		}},
		{name: "card digits", make: func(r *rand.Rand) string { return luhn("4" + random(r, digits, 14)) }},
		{name: "iban", make: func(r *rand.Rand) string { return iban("GB", "BUKB"+random(r, digits, 14)) }},
		{name: "ipv4", make: func(r *rand.Rand) string { return fmt.Sprintf("203.0.113.%d", 100+r.IntN(150)) }},
		{name: "ipv6", make: func(r *rand.Rand) string { return "2001:db8::" + random(r, "0123456789abcdef", 4) }},
		{name: "mac", make: func(r *rand.Rand) string {
			return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256))
		}},
		{name: "ssn", make: func(r *rand.Rand) string {
			return random(r, "1234578", 3) + "-" + random(r, "12345678", 2) + "-" + random(r, digits, 4)
		}},
		{name: "fiscal code", make: func(r *rand.Rand) string {
			return fiscalCode(r)
		}},
		{name: "home path", make: func(r *rand.Rand) string { return "/home/" + random(r, lowers, 9) + "/notes" }},
		{name: "host", make: func(r *rand.Rand) string { return random(r, lowers, 9) + ".corp.example.com" }, blind: true},
		{name: "git remote", make: func(r *rand.Rand) string { return "git@" + random(r, lowers, 8) + ".example:team/repo" }},
		{name: "person", make: func(r *rand.Rand) string { return "Anna " + random(r, lowers, 9) }, blind: true},
	}
	return kinds
}

// luhn appends the check digit of ISO/IEC 7812-1.
func luhn(number string) string {
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return number + strconv.Itoa((10-sum%10)%10)
}

// iban puts the check digits of ISO 13616 before an account.
func iban(country, account string) string {
	rest := 0
	for _, c := range account + country + "00" {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return fmt.Sprintf("%s%02d%s", country, 98-rest, account)
}

// fiscalCode is an Italian codice fiscale with its check letter (decree of
// 12 March 1974).
func fiscalCode(r *rand.Rand) string {
	code := random(r, "BCDFGLMNPRSTVZ", 6) + random(r, "56789", 1) + random(r, digits, 1) + random(r, "ABCDEHLMPRST", 1) +
		fmt.Sprintf("%02d", 1+r.IntN(28)) + "H" + strconv.Itoa(100+r.IntN(800))
	odd := [...]int{1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23}
	sum := 0
	for i := range len(code) {
		v := int(code[i] - '0')
		if code[i] >= 'A' {
			v = int(code[i] - 'A')
		}
		if i%2 == 0 {
			v = odd[v]
		}
		sum += v
	}
	return code + string(rune('A'+sum%26))
}

// place puts a planted value somewhere into an exchange.
type place struct {
	name string
	put  func(x *trace.Exchange, v string)
}

func inReqHeader(name string) place {
	return place{"request header " + name, func(x *trace.Exchange, v string) {
		x.ReqHeader = append(x.ReqHeader, trace.Field{Name: name, Value: v})
	}}
}

func inRespHeader(name string) place {
	return place{"response header " + name, func(x *trace.Exchange, v string) {
		x.RespHeader = append(x.RespHeader, trace.Field{Name: name, Value: v})
	}}
}

// inBody puts the value where the JSON text has %s, JSON-escaped.
func inBody(name, format string) place {
	return place{"body " + name, func(x *trace.Exchange, v string) {
		quoted, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		x.ReqBody = []byte(strings.ReplaceAll(format, "%s", strings.Trim(string(quoted), `"`)))
	}}
}

// inSaid puts the value into a word of the API.
func inSaid(name string, field func(*trace.Said) *string) place {
	return place{"said " + name, func(x *trace.Exchange, v string) { *field(&x.Said) = v }}
}

func inAnswer(name string, kind trace.ChunkKind) place {
	return place{"answer " + name, func(x *trace.Exchange, v string) {
		x.Answer = []trace.AnswerText{{Kind: kind, Text: []byte("Here: " + v + ", as asked.")}}
	}}
}

func plantedPlaces() (places []place) {
	for name := range strings.FieldsSeq(`Authorization Proxy-Authorization Cookie X-Api-Key Api-Key X-Goog-Api-Key
		X-Tenant-Secret X-Forwarded-For From Referer Baggage Content-Type Accept User-Agent Content-Length
		Content-Encoding Anthropic-Version Anthropic-Beta OpenAI-Beta OpenAI-Organization Traceparent B3
		X-Request-Id Idempotency-Key X-Session-Id Mcp-Session-Id X-Amzn-Trace-Id Host Transfer-Encoding
		X-Goog-User-Project Ocp-Apim-Subscription-Key X-Amz-Security-Token X-Amz-Date X-Amz-Content-Sha256 OpenAI-Project
		Helicone-Auth Helicone-User-Id Helicone-Property-App X-Portkey-Config X-LiteLLM-Tags Cf-Aig-Authorization
		Cf-Access-Jwt-Assertion X-Vercel-Id Forwarded X-Real-Ip True-Client-Ip Cf-Connecting-Ip X-Envoy-External-Address
		Via X-Forwarded-User X-Forwarded-Email X-Forwarded-Client-Cert X-Auth-Request-Email X-User-Name Origin
		HTTP-Referer X-Title Tracestate X-Csrf-Token X-Client-Request-Id`) {
		places = append(places, inReqHeader(name))
	}
	for name := range strings.FieldsSeq(`Set-Cookie Location Www-Authenticate Retry-After Server-Timing
		OpenAI-Processing-Ms X-Queue-Time Content-Type Content-Encoding Grpc-Status Grpc-Message X-Request-Id Cf-Ray
		OpenAI-Organization OpenAI-Project Anthropic-Organization-Id Anthropic-Workspace-Id X-Amzn-Requestid
		Apim-Request-Id X-Ratelimit-Limit-Tokens X-Envoy-Upstream-Service-Time`) {
		places = append(places, inRespHeader(name))
	}
	for _, name := range slices.Sorted(maps.Keys(bodyFormats)) {
		places = append(places, inBody(name, bodyFormats[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(answerFormats)) {
		put := inBody(name, answerFormats[name]).put
		places = append(places, place{"answer body " + name, func(x *trace.Exchange, v string) {
			request := x.ReqBody
			put(x, v)
			x.ReqBody, x.RespBody = request, x.ReqBody
		}})
	}
	places = append(places, targetPlaces()...)
	places = append(places, saidPlaces()...)
	return append(places, answerPlaces()...)
}

var bodyFormats = map[string]string{
	"system":           `{"model":"m","messages":[{"role":"system","content":"Key: %s."}]}`,
	"content":          `{"model":"m","messages":[{"role":"user","content":"my key is %s, thanks (%s) gitleaks:allow"}]}`,
	"content part":     `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"%s"}]}]}`,
	"image":            `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://h/x?sig=%s"}}]}]}`,
	"tool arguments":   `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"k\":\"%s\"}"}}]}]}`,
	"tool result":      `{"model":"m","messages":[{"role":"tool","tool_call_id":"%s","content":"%s"}]}`,
	"tool description": `{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"%s","description":"%s"}}]}`,
	"tool headers":     `{"model":"m","messages":[],"tools":[{"type":"mcp","server_url":"https://%s","headers":{"Authorization":"%s"},"authorization":"%s"}]}`,
	"mcp servers":      `{"model":"m","messages":[],"mcp_servers":[{"authorization_token":"%s"}]}`,
	"data sources":     `{"model":"m","messages":[],"data_sources":[{"parameters":{"authentication":{"key":"%s"}}}]}`,
	"user":             `{"model":"m","messages":[{"role":"user","name":"%s","content":"a"}],"user":"%s","safety_identifier":"%s"}`,
	"metadata":         `{"model":"m","messages":[],"metadata":{"user_id":"%s","session_id":"%s","%s":"x"}}`,
	"session":          `{"model":"m","messages":[],"session_id":"%s","conversation":{"id":"%s"},"previous_response_id":"%s"}`,
	"cache salt":       `{"model":"m","messages":[{"role":"user","content":"a"}],"cache_salt":"%s","prompt_cache_key":"%s"}`,
	"member name":      `{"model":"m","messages":[],"%s":1,"logit_bias":{"%s":1}}`,
	"stop":             `{"model":"m","messages":[],"stop":["%s"],"response_format":{"type":"%s"}}`,
	"role":             `{"model":"%s","messages":[{"role":"%s","content":"a"}],"service_tier":"%s","reasoning_effort":"%s"}`,
	"cloud keys":       `{"model":"m","messages":[{"role":"user","content":"{'secretAccessKey': '%s'} aws_session_token=\"%s\""}]}`,
	"identity":         `{"model":"m","messages":[],"user_location":{"city":"%s"},"requestMetadata":{"team":"%s"},"labels":{"%s":"%s"}}`,
	"gateway":          `{"model":"m","messages":[],"api_key":"%s","extra_headers":{"X-Any":"%s"},"litellm_params":{"api_key":"%s"}}`,
	"guardrail":        `{"model":"m","messages":[],"guardrailConfig":{"trace":"%s"},"trace":{"guardrail":{"match":"%s"}}}`,
	"unknown":          `{"model":"m","messages":[{"role":"user","content":"a","note":"%s"}],"note":{"deep":[["%s"]]}}`,
	"file link":        `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"%s","filename":"%s"}}]}],"contents":[{"parts":[{"fileData":{"fileUri":"https://h/%s"}}]}]}`,
	"schema":           `{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"%s":{"enum":["%s"],"description":"%s","default":"%s"}},"required":["%s"]}}}]}`,
	"JSON in content":  `{"model":"m","messages":[{"role":"user","content":"{\"note\":\"%s\",\"%s\":[\"%s\"]}"}]}`,
	"broken":           `{"model":"m","messages":[{"role":"user","content":"%s"`,
}

// answerFormats are bodies of answers; what stands where repeats the text.
var answerFormats = map[string]string{
	"content":           `{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"%s"}}]}`,
	"reasoning":         `{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"a","reasoning_content":"%s","refusal":"%s"}}]}`,
	"tool call":         `{"model":"m","choices":[{"index":0,"message":{"tool_calls":[{"id":"%s","type":"function","function":{"name":"%s","arguments":"{\"k\":\"%s\"}"}}]}}]}`,
	"log probabilities": `{"choices":[{"logprobs":{"content":[{"token":"%s","bytes":[1],"top_logprobs":[{"token":"%s"}]}]}}],"prompt_logprobs":[{"5":{"decoded_token":"%s"}}]}`,
	"repeated text":     `{"generated_text":"%s","details":{"tokens":[{"id":1,"text":"%s"}]},"response":"a","context":[1]}`,
	"completed":         `{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"%s","annotations":[{"url":"%s"}]}]}],"instructions":"%s"}}`,
	"signature":         `{"content":[{"type":"thinking","thinking":"a","signature":"%s"}],"thoughtSignature":"%s","encrypted_content":"%s","citations":["%s"]}`,
	"echo":              `{"error":{"message":"Incorrect API key provided: %s","param":"%s","code":"%s","type":"%s"}}`,
	"ids":               `{"id":"%s","system_fingerprint":"%s","model":"%s","created":1,"usage":{"%s":1}}`,
}

func targetPlaces() []place {
	target := func(name, format string) place {
		return place{"target " + name, func(x *trace.Exchange, v string) {
			x.Target = strings.ReplaceAll(format, "%s", url.QueryEscape(v))
		}}
	}
	return []place{
		target("segment", "/v1/files/%s/content"), target("unknown route", "/%s"),
		target("deployment", "/openai/deployments/%s/chat/completions"), target("method", "/v1beta/models/%s:%s"),
		target("userinfo", "http://%s:%s@host/v1/models"), target("authority", "http://%s/v1/models"), target("connect", "%s:443"),
		target("credentials", "/v1/models?key=%s&api_key=%s&api-key=%s&access_token=%s&token=%s&sig=%s&signature=%s"),
		target("signed link", "/v1/f?X-Amz-Signature=%s&X-Amz-Credential=%s&X-Amz-Security-Token=%s&X-Goog-Signature=%s&X-Goog-Credential=%s"),
		target("shared access", "/v1/f?sv=%s&se=%s&sp=%s&sr=%s&code=%s&state=%s&id_token=%s&client_secret=%s"),
		target("arn", "/model/arn:aws:bedrock:eu-west-1:%s:x%%2f%s/converse"), target("project", "/v1/projects/%s/locations/%s/models/%s:predict"),
		target("key", "/v1/models?key=%s"), target("securityToken", "/v1/models?limit=5&securityToken=%s&sessionKey=%s"),
		target("allowed parameters", "/v1/models?alt=%s&api-version=%s&beta=%s"), target("parameter name", "/v1/models?%s=1"),
		target("fragment", "/v1/models#%s"), target("semicolon", "/v1/models;x=%s"),
		{"target raw", func(x *trace.Exchange, v string) { x.Target = "/v1/x/" + v + "?q=" + v }},
		{"method", func(x *trace.Exchange, v string) { x.Method = v }},
	}
}

func saidPlaces() []place {
	return []place{
		inSaid("request model", func(s *trace.Said) *string { return &s.RequestModel }),
		inSaid("response model", func(s *trace.Said) *string { return &s.ResponseModel }),
		inSaid("provider", func(s *trace.Said) *string { return &s.Provider }),
		inSaid("operation", func(s *trace.Said) *string { return &s.Operation }),
		inSaid("reasoning level", func(s *trace.Said) *string { return &s.ReasoningLevel }),
		inSaid("output type", func(s *trace.Said) *string { return &s.OutputType }),
		inSaid("service tier", func(s *trace.Said) *string { return &s.ServiceTier }),
		inSaid("error type", func(s *trace.Said) *string { return &s.ErrorType }),
		inSaid("error code", func(s *trace.Said) *string { return &s.ErrorCode }),
		{"said finish reason", func(x *trace.Exchange, v string) { x.Said.FinishReasons = []string{"stop", v} }},
		{"said fine-tune", func(x *trace.Exchange, v string) { x.Said.RequestModel = "ft:gpt-4o-mini:" + v + "::" + v }},
		{"said arn", func(x *trace.Exchange, v string) { x.Said.RequestModel = "arn:aws:bedrock:eu-west-1:" + v + ":x/" + v }},
		{"said path", func(x *trace.Exchange, v string) { x.Said.RequestModel = "/models/" + v + "/m.gguf" }},
		{"content encoding", func(x *trace.Exchange, v string) { x.Record.ContentEncoding = &v }},
		{"capture host", func(x *trace.Exchange, v string) { x.Record.CaptureHost = v }},
	}
}

func answerPlaces() []place {
	name := func(field func(x *trace.Exchange) *[]trace.Field) func(x *trace.Exchange, v string) {
		return func(x *trace.Exchange, v string) { *field(x) = append(*field(x), trace.Field{Name: v, Value: v}) }
	}
	return []place{
		inAnswer("text", trace.ChunkText), inAnswer("reasoning", trace.ChunkReasoning),
		inAnswer("tool arguments", trace.ChunkToolArgs), inAnswer("refusal", trace.ChunkRefusal),
		{"answer split over events", func(x *trace.Exchange, v string) {
			half := int32(len(v) / 2)
			x.Answer = []trace.AnswerText{{Kind: trace.ChunkText, Text: []byte(v), PieceBytes: []int32{half, int32(len(v)) - half}}}
			x.Said.JSONAsked = true
		}},
		{"answer body", func(x *trace.Exchange, v string) {
			x.RespBody = []byte(`{"error":{"message":"Incorrect API key provided: ` + v + `"}}`)
		}},
		{"request header name", name(func(x *trace.Exchange) *[]trace.Field { return &x.ReqHeader })},
		{"request trailer", name(func(x *trace.Exchange) *[]trace.Field { return &x.ReqTrailer })},
		{"response header name", name(func(x *trace.Exchange) *[]trace.Field { return &x.RespHeader })},
		{"response trailer", name(func(x *trace.Exchange) *[]trace.Field { return &x.RespTrailer })},
	}
}

// spellings are the forms in which a value could survive.
func spellings(v string) [][]byte {
	quoted, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	forms := []string{v, url.QueryEscape(v), strings.Trim(string(quoted), `"`), strings.ToLower(v)}
	// A value inside longer base64 shows in one of three phases, but for what it
	// shares a group of three bytes with.
	for phase := range 3 {
		n := (phase + len(v)) / 3
		enc := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", phase) + v))
		forms = append(forms, enc[min(1, phase)*4:max(min(1, phase), n)*4])
	}
	var list [][]byte
	for _, f := range forms {
		if len(f) >= 8 {
			list = append(list, []byte(f))
		}
	}
	return list
}

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
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// kind makes one kind of secret or identity. All values are random: none is
// anybody's.
type kind struct {
	name string
	make func(r *rand.Rand) string
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
	return kind{prefix, func(r *rand.Rand) string { return prefix + random(r, alnums, n) }}
}

func plantedKinds() []kind {
	kinds := []kind{
		prefixed("sk-", 48), prefixed("sk-proj-", 74), prefixed("sk-svcacct-", 74), prefixed("sk-ant-api03-", 93),
		prefixed("sk-ant-admin01-", 93), prefixed("sk-or-v1-", 64), prefixed("AIza", 35), prefixed("ya29.", 60),
		prefixed("hf_", 34), prefixed("gsk_", 52), prefixed("xai-", 80), prefixed("pplx-", 48), prefixed("r8_", 37),
		prefixed("nvapi-", 64), prefixed("ghp_", 36), prefixed("github_pat_", 82), prefixed("glpat-", 20),
		prefixed("ABSK", 100), prefixed("xoxb-", 40), prefixed("sk_live_", 24), prefixed("SG.", 66),
		prefixed("npm_", 36), prefixed("dop_v1_", 64), prefixed("org-", 24), prefixed("Bearer ", 40),
		{"aws key id", func(r *rand.Rand) string { return "AKIA" + random(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16) }},
		{"aws secret", func(r *rand.Rand) string { return random(r, alnums+"+/", 40) }},
		{"jwt", func(r *rand.Rand) string {
			return "eyJ" + random(r, alnums, 33) + ".eyJ" + random(r, alnums, 60) + "." + random(r, alnums, 43)
		}},
		{"basic", func(r *rand.Rand) string {
			return "Basic " + base64.StdEncoding.EncodeToString([]byte(random(r, lowers, 8)+":"+random(r, alnums, 12)))
		}},
		{"pem", func(r *rand.Rand) string { return "-----BEGIN PRIVATE KEY-----\n" + random(r, alnums, 64) }},
		{"azure", func(r *rand.Rand) string { return "AccountKey=" + random(r, alnums, 86) + "==" }},
		{"url credentials", func(r *rand.Rand) string {
			return "postgres://" + random(r, lowers, 6) + ":" + random(r, alnums, 14) + "@db.internal/x"
		}},
		{"password", func(r *rand.Rand) string { return "password=" + random(r, alnums+"!#%^", 16) }},
		{"hex", func(r *rand.Rand) string { return random(r, "0123456789abcdef", 32) }},
		{"letters", func(r *rand.Rand) string { return random(r, lowers, 20) }},
		{"uuid", func(r *rand.Rand) string {
			h := hex.EncodeToString([]byte(random(r, alnums, 16)))
			return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
		}},
		{"e-mail", func(r *rand.Rand) string { return random(r, lowers, 7) + "." + random(r, lowers, 6) + "@example.com" }},
		{"phone", func(r *rand.Rand) string { return "+1-202-555-0" + random(r, digits, 3) }},
		{"card", func(r *rand.Rand) string { return "4111 1111 " + random(r, digits, 4) + " " + random(r, digits, 4) }},
		{"card digits", func(r *rand.Rand) string { return "4" + random(r, digits, 15) }},
		{"iban", func(r *rand.Rand) string { return "GB33BUKB2020" + random(r, digits, 10) }},
		{"ipv4", func(r *rand.Rand) string { return fmt.Sprintf("203.0.113.%d", 100+r.IntN(150)) }},
		{"ipv6", func(r *rand.Rand) string { return "2001:db8::" + random(r, "0123456789abcdef", 4) }},
		{"mac", func(r *rand.Rand) string {
			return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256))
		}},
		{"ssn", func(r *rand.Rand) string {
			return random(r, "12345678", 3) + "-" + random(r, "12345678", 2) + "-" + random(r, digits, 4)
		}},
		{"fiscal code", func(r *rand.Rand) string {
			return random(r, uppers, 6) + random(r, digits, 2) + "A" + random(r, digits, 2) + "B" + random(r, digits, 3) + "C"
		}},
		{"home path", func(r *rand.Rand) string { return "/home/" + random(r, lowers, 9) + "/notes" }},
		{"host", func(r *rand.Rand) string { return random(r, lowers, 9) + ".corp.example.com" }},
		{"git remote", func(r *rand.Rand) string { return "git@" + random(r, lowers, 8) + ".example:team/repo" }},
		{"person", func(r *rand.Rand) string { return "Anna " + random(r, lowers, 9) }},
	}
	return kinds
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
		X-Request-Id Idempotency-Key X-Session-Id Mcp-Session-Id X-Amzn-Trace-Id Host Transfer-Encoding`) {
		places = append(places, inReqHeader(name))
	}
	for name := range strings.FieldsSeq(`Set-Cookie Location Www-Authenticate Retry-After Server-Timing
		OpenAI-Processing-Ms X-Queue-Time Content-Type Content-Encoding Grpc-Status Grpc-Message X-Request-Id Cf-Ray`) {
		places = append(places, inRespHeader(name))
	}
	for _, name := range slices.Sorted(maps.Keys(bodyFormats)) {
		places = append(places, inBody(name, bodyFormats[name]))
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
	"broken":           `{"model":"m","messages":[{"role":"user","content":"%s"`,
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
	// A value inside longer base64 shows in one of three phases.
	for phase := range 3 {
		enc := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", phase) + v))
		forms = append(forms, strings.Trim(enc[min(len(enc), (phase+1)*4):], "="))
	}
	var list [][]byte
	for _, f := range forms {
		if len(f) >= 8 {
			list = append(list, []byte(f))
		}
	}
	return list
}

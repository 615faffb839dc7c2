package sanitizer

import (
	"math"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// describeRequest overwrites the strings of the request, and drops numbers
// that no request would have.
func (s *Sanitizer) describeRequest(x *trace.Exchange) {
	rec, said := x.Record, &x.Said
	t := splitTarget(x.Target)
	if t.userinfo {
		s.tally.add("userinfo", "path_template", 1)
	}
	rec.APIKind = oneOf(s, "api_kind", rec.APIKind, trace.KindOther, apiKinds)
	rec.Provider = s.word("provider", said.Provider)
	rec.Operation = s.word("operation", said.Operation)
	rec.Method = ""
	if x.Method != "" {
		rec.Method = method(x.Method)
	}
	rec.PathTemplate = s.pathTemplate(t.path)
	rec.HTTPVersion = oneOf(s, "http_version", rec.HTTPVersion, "", httpVersions)
	rec.RequestModel = s.model("request_model", said.RequestModel)
	rec.ReasoningLevel = s.listed("reasoning_level", said.ReasoningLevel)
	rec.OutputType = s.listed("output_type", said.OutputType)
	rec.ServiceTier = s.listed("service_tier", said.ServiceTier)
	rec.Adapter = nil
	if _, tuned := fineTuned(said.RequestModel); tuned {
		rec.Adapter = new("adapter-" + s.keys.name("model", said.RequestModel))
	}
	if rec.ContentEncoding != nil {
		rec.ContentEncoding = new(oneOf(s, "content_encoding", *rec.ContentEncoding, otherWord, bodyCodings))
	}
	s.describeHost(x, t)
	s.limitNumbers(&rec.Request)
	var set fieldSet
	s.query(&set, t.query)
	s.headers(&set, "req_headers", x.ReqHeader)
	s.headers(&set, "req_headers", x.ReqTrailer)
	rec.ReqHeaders = set.toMap()
	s.describeCaller(x, t.query)
}

// describeHost names the host by a pseudonym and the captured target by a
// hash.
func (s *Sanitizer) describeHost(x *trace.Exchange, t target) {
	rec := x.Record
	host := t.authority
	if host == "" {
		host = headerValue(x.ReqHeader, "host")
	}
	s.targets.add(host, x.Server, rec.TLS)
	name, _ := splitHost(host)
	if name == "" && x.Server.IsValid() {
		name = x.Server.Addr().Unmap().String()
	}
	rec.HostPseudonym = ""
	if name != "" {
		rec.HostPseudonym = s.keys.name("host", name)
	}
}

// describeCaller sets tenant and explicit session, and marks retries.
func (s *Sanitizer) describeCaller(x *trace.Exchange, query string) {
	rec := x.Record
	body := s.readBody(x.ReqBody)
	s.salt = string(body[cacheSalt])
	tenant, _ := find(s.cfg.Policy.Tenant, x, query, body)
	if tenant != "" {
		rec.TenantID = new(s.keys.name("tenant", credential(tenant)))
	}
	if x.ReqBodyCut == 0 && rec.ReqComplete {
		s.retries.mark(rec, tenant, x.ReqBody)
	}
	id, place := find(s.cfg.Policy.Session, x, query, body)
	if id == "" {
		return
	}
	source := trace.SessionHeader
	if place == PlaceBody {
		source = trace.SessionBodyField
	}
	s.sessions.explicit(rec, s.keys.name("session", id), source)
}

// describeResult overwrites the strings of the answer.
func (s *Sanitizer) describeResult(x *trace.Exchange) {
	rec, said := x.Record, &x.Said
	var set fieldSet
	s.headers(&set, "resp_headers", x.RespHeader)
	s.headers(&set, "resp_headers", x.RespTrailer)
	rec.RespHeaders = set.toMap()
	rec.ResponseModel = s.model("response_model", said.ResponseModel)
	rec.FinishReasons = s.reasons(said.FinishReasons)
	rec.ErrorType = s.word("error_type", said.ErrorType)
	rec.ErrorCode = s.word("error_code", said.ErrorCode)
	rec.Outcome = oneOf(s, "outcome", rec.Outcome, trace.OutcomeUnknown, trace.Outcomes)
	if rec.OutcomeDetail != nil {
		if detail := oneOf(s, "outcome_detail", *rec.OutcomeDetail, "", details); detail == "" {
			rec.OutcomeDetail = nil
		}
	}
	s.limitCounts(rec)
	rec.TokenSource = oneOf(s, "token_source", rec.TokenSource, trace.TokensNone, tokenSources)
	rec.TokenizerID = nil
}

// describeCapture checks the recorder's own words.
func (s *Sanitizer) describeCapture(rec *trace.Record) {
	for _, field := range []struct {
		name string
		word *string
	}{
		{"capture_source", &rec.CaptureSource},
		{"capture_version", &rec.CaptureVersion},
		{"clock_source", &rec.ClockSource},
	} {
		if !madeOf(*field.word, "_.-+:") || len(*field.word) > 64 || suspect(*field.word) != trusted {
			s.tally.add("word", field.name, 1)
			*field.word = otherWord
		}
	}
	if rec.CaptureHost != "" {
		rec.CaptureHost = s.keys.name("capture_host", rec.CaptureHost)
	}
	rec.Vantage = oneOf(s, "vantage", rec.Vantage, "", vantages)
}

// maxParameter bounds sampling parameters: APIs take −2 to 2, or 0 to 1.
const maxParameter = 1000

// limitNumbers drops request numbers that are no parameters: a card number is
// a valid JSON number too.
func (s *Sanitizer) limitNumbers(r *trace.Request) {
	for _, f := range []struct {
		name  string
		value **float64
	}{
		{"temperature", &r.Temperature},
		{"top_p", &r.TopP},
		{"frequency_penalty", &r.FrequencyPenalty},
		{"presence_penalty", &r.PresencePenalty},
	} {
		if v := *f.value; v != nil && !(math.Abs(*v) <= maxParameter) {
			s.tally.add("number", f.name, 1)
			*f.value = nil
		}
	}
	if r.Seed != nil && looksLikeCard(*r.Seed) {
		s.tally.add("number", "seed", 1)
		r.Seed = nil
	}
}

// maxCount bounds counts of tokens, and maxServerUs times that a server says it
// took: larger ones are no measurement, whatever else they are.
const (
	maxCount    = 99_999_999
	maxServerUs = int64(100 * time.Hour / time.Microsecond)
)

// limitCounts drops numbers of the answer that nothing can have counted.
func (s *Sanitizer) limitCounts(rec *trace.Record) {
	for _, f := range []struct {
		name  string
		value **int64
		most  int64
	}{
		{"input_tokens", &rec.InputTokens, maxCount},
		{"output_tokens", &rec.OutputTokens, maxCount},
		{"cache_read_tokens", &rec.CacheReadTokens, maxCount},
		{"cache_write_tokens", &rec.CacheWriteTokens, maxCount},
		{"reasoning_tokens", &rec.ReasoningTokens, maxCount},
		{"raw_input_tokens", &rec.RawInputTokens, maxCount},
		{"raw_output_tokens", &rec.RawOutputTokens, maxCount},
		{"server_ttft_us", &rec.ServerTTFTUs, maxServerUs},
		{"server_queue_us", &rec.ServerQueueUs, maxServerUs},
		{"server_total_us", &rec.ServerTotalUs, maxServerUs},
	} {
		if v := *f.value; v != nil && (*v < 0 || *v > f.most) {
			s.tally.add("number", f.name, 1)
			*f.value = nil
		}
	}
}

// looksLikeCard reports 13 to 19 digits that begin like a payment card (3 to
// 6, or 2 for 2221–2720) and pass the check of Luhn (ISO/IEC 7812-1). A random
// 63-bit seed does so once in twenty times, and then loses nothing but its
// value.
func looksLikeCard(n int64) bool {
	if n < 1e12 {
		return false
	}
	sum, digits, last := int64(0), 0, int64(0)
	for ; n > 0; n /= 10 {
		last = n % 10
		d := last
		if digits%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		digits++
	}
	return sum%10 == 0 && last >= 2 && last <= 6
}

package datasets

import (
	"encoding/base64"
	"fmt"
	"math"
	"net/url"
	"strconv"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/trace"
)

// vegeta reads Vegeta's JSON targets (github.com/tsenart/vegeta,
// lib/target.schema.json): a request a line, without a time, so Config.PerS
// says how fast they come. Of a body only its shape is taken: numbers, sizes
// of messages, and tokens where Config.Tokenizer says how to count them.
// Header fields are not read.
func vegeta() format {
	return format{
		name:     "vegeta",
		license:  "as its owner says",
		timeBase: trace.TimeRelative,
		timeless: true,
		counts:   true,
		assumed:  "the source has no times: requests come evenly spaced at --rate; outcomes are unknown",
		scan: func(s *scan) error {
			n := int64(0)
			return jsonLines(s, readVegeta, func(in *vegetaTarget) (*trace.Record, string) {
				r, msg := vegetaRow(s, in)
				if r != nil {
					r.StartUnixNs = int64(math.Round(float64(n) / s.perS * 1e9))
					n++
				}
				return r, msg
			})
		},
	}
}

type vegetaTarget struct {
	method, url, body []byte
}

func readVegeta(in *jsonReader, to *vegetaTarget) {
	for name := range in.members() {
		switch string(name) {
		case "method":
			to.method = in.string()
		case "url":
			to.url = in.string()
		case "body":
			to.body = in.string()
		default:
			in.skip()
		}
	}
}

func vegetaRow(s *scan, in *vegetaTarget) (*trace.Record, string) {
	target, err := url.Parse(string(in.url))
	if err != nil || target.Host == "" || len(in.method) == 0 {
		return nil, "method or url: want both, the url with its host"
	}
	body, err := base64.StdEncoding.AppendDecode(nil, in.body)
	if err != nil {
		return nil, "body: want base64"
	}
	r := s.blank(0)
	r.Outcome = trace.OutcomeUnknown
	r.APIKind = llmwire.Recognize(string(in.method), target.Path, body)
	r.HostPseudonym = *s.pseudonym([]byte(target.Host))
	if port, err := strconv.ParseUint(target.Port(), 10, 16); err == nil {
		r.ServerPort = int32(port)
	}
	r.TLS = target.Scheme == "https"
	r.ReqWireBytes, r.ReqBodyBytes = int64(len(body)), int64(len(body))
	if r.APIKind == trace.KindOther {
		return r, ""
	}
	said := trace.Said{}
	if err := llmwire.ParseRequest(r.APIKind, target.Path, body, r, &said); err != nil {
		return nil, "body: no request of " + string(r.APIKind)
	}
	r.RequestModel = s.word([]byte(said.RequestModel))
	if s.tokenizer == "" {
		return r, ""
	}
	if err := countTokens(s.tokenizer, r, body); err != nil {
		return nil, fmt.Sprintf("body: %v", err)
	}
	return r, ""
}

// countTokens counts the content of a request.
func countTokens(tokenizer string, r *trace.Record, body []byte) error {
	vocabulary, err := tokens.Load(tokenizer)
	if err != nil {
		return err
	}
	n := int64(0)
	if err := llmwire.VisitText(r.APIKind, body, func(_ trace.Role, text []byte) {
		n += int64(vocabulary.Count(text))
	}); err != nil {
		return fmt.Errorf("no request of %s", r.APIKind)
	}
	r.InputTokens, r.TokenSource = &n, trace.TokensLocal
	return nil
}

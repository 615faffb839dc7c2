package datasets

import (
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
			return jsonLines(s, func(in *vegetaTarget) (*trace.Record, string) {
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
	Method string `json:"method"`
	URL    string `json:"url"`
	Body   []byte `json:"body"`
}

func vegetaRow(s *scan, in *vegetaTarget) (*trace.Record, string) {
	target, err := url.Parse(in.URL)
	if err != nil || target.Host == "" || in.Method == "" {
		return nil, "method or url: want both, the url with its host"
	}
	r := &trace.Record{Result: trace.Result{Outcome: trace.OutcomeUnknown}}
	r.APIKind = llmwire.Recognize(in.Method, target.Path, in.Body)
	r.HostPseudonym = *s.pseudonym(target.Host)
	if port, err := strconv.ParseUint(target.Port(), 10, 16); err == nil {
		r.ServerPort = int32(port)
	}
	r.TLS = target.Scheme == "https"
	r.ReqWireBytes, r.ReqBodyBytes = int64(len(in.Body)), int64(len(in.Body))
	if r.APIKind == trace.KindOther {
		return r, ""
	}
	said := trace.Said{}
	if err := llmwire.ParseRequest(r.APIKind, target.Path, in.Body, r, &said); err != nil {
		return nil, "body: no request of " + string(r.APIKind)
	}
	r.RequestModel = word(said.RequestModel)
	if s.tokenizer == "" {
		return r, ""
	}
	if err := countTokens(s.tokenizer, r, in.Body); err != nil {
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

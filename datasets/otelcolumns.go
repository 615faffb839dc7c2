package datasets

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/lambdac/lambdac/trace"
)

// otelColumn is one attribute of a span and the column that it is.
type otelColumn struct {
	name string
	// old are names that are read and never written.
	old []string
	// id: the value is an identifier, of which a pseudonym is kept.
	id bool
	// seconds: the attribute is in seconds, the column in microseconds.
	seconds bool
	// field points to the column: **string, **int64, **int32, **float64,
	// *bool, *int32, *[]string, *trace.APIKind, or *trace.Outcome.
	field func(*trace.Record) any
}

// Names of ours, for what the conventions have none.
const (
	attrAPIKind  = "lambdac.api_kind"
	attrOutcome  = "lambdac.outcome"
	attrDetail   = "lambdac.outcome_detail"
	attrTTFT     = "lambdac.time_to_first_token"
	attrVantage  = "lambdac.vantage"
	attrComplete = "lambdac.capture.complete"
)

// otelColumns is the table of GenAI names (open-telemetry/semantic-conventions-genai
// v0.1.0) that importer and exporter share.
func otelColumns() []otelColumn {
	type r = *trace.Record
	return []otelColumn{
		{name: "gen_ai.operation.name", field: func(x r) any { return &x.Operation }},
		{name: "gen_ai.provider.name", old: []string{"gen_ai.system", "llm.provider"}, field: func(x r) any { return &x.Provider }},
		{name: "gen_ai.conversation.id", old: []string{"session.id"}, id: true, field: func(x r) any { return &x.SessionID }},
		{name: "gen_ai.request.model", old: []string{"llm.model_name"}, field: func(x r) any { return &x.RequestModel }},
		{name: "gen_ai.request.stream", field: func(x r) any { return &x.Stream }},
		{name: "gen_ai.request.max_tokens", field: func(x r) any { return &x.MaxTokens }},
		{name: "gen_ai.request.choice.count", field: func(x r) any { return &x.N }},
		{name: "gen_ai.request.seed", old: []string{"gen_ai.openai.request.seed"}, field: func(x r) any { return &x.Seed }},
		{name: "gen_ai.request.top_k", field: func(x r) any { return &x.TopK }},
		{name: "gen_ai.request.temperature", field: func(x r) any { return &x.Temperature }},
		{name: "gen_ai.request.top_p", field: func(x r) any { return &x.TopP }},
		{name: "gen_ai.request.frequency_penalty", field: func(x r) any { return &x.FrequencyPenalty }},
		{name: "gen_ai.request.presence_penalty", field: func(x r) any { return &x.PresencePenalty }},
		{name: "gen_ai.request.reasoning.level", field: func(x r) any { return &x.ReasoningLevel }},
		{name: "gen_ai.output.type", field: func(x r) any { return &x.OutputType }},
		{name: "gen_ai.response.model", field: func(x r) any { return &x.ResponseModel }},
		{name: "gen_ai.response.finish_reasons", field: func(x r) any { return &x.FinishReasons }},
		{name: "gen_ai.response.time_to_first_chunk", seconds: true, field: func(x r) any { return &x.TFirstEventUs }},
		{name: "gen_ai.usage.input_tokens", old: []string{"gen_ai.usage.prompt_tokens", "llm.token_count.prompt"}, field: func(x r) any { return &x.InputTokens }},
		{name: "gen_ai.usage.output_tokens", old: []string{"gen_ai.usage.completion_tokens", "llm.token_count.completion"}, field: func(x r) any { return &x.OutputTokens }},
		{name: "gen_ai.usage.cache_read.input_tokens", old: []string{"gen_ai.usage.cache_read_input_tokens", "llm.token_count.prompt_details.cache_read"}, field: func(x r) any { return &x.CacheReadTokens }},
		{name: "gen_ai.usage.cache_write.input_tokens", old: []string{"gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens", "llm.token_count.prompt_details.cache_write"}, field: func(x r) any { return &x.CacheWriteTokens }},
		{name: "gen_ai.usage.reasoning.output_tokens", old: []string{"gen_ai.usage.reasoning_tokens", "llm.token_count.completion_details.reasoning"}, field: func(x r) any { return &x.ReasoningTokens }},
		{name: "openai.response.service_tier", field: func(x r) any { return &x.ServiceTier }},
		{name: "error.type", field: func(x r) any { return &x.ErrorType }},
		{name: "http.response.status_code", old: []string{"http.status_code"}, field: func(x r) any { return &x.StatusCode }},
		{name: "server.port", field: func(x r) any { return &x.ServerPort }},
		{name: attrTTFT, seconds: true, field: func(x r) any { return &x.TFirstTokenUs }},
		{name: attrAPIKind, field: func(x r) any { return &x.APIKind }},
		{name: attrOutcome, field: func(x r) any { return &x.Outcome }},
	}
}

// otelByName finds a column by its attribute, old names included.
func otelByName() map[string]*otelColumn {
	at := map[string]*otelColumn{}
	for _, c := range otelColumns() {
		at[c.name] = &c
		for _, old := range c.old {
			at[old] = &c
		}
	}
	return at
}

// read puts a value into its column. One of another kind than the conventions
// have leaves it as it was.
func (c *otelColumn) read(s *scan, rec *trace.Record, v *otelGot) {
	switch to := c.field(rec).(type) {
	case **string:
		if c.id && len(v.text) > 0 {
			*to = s.pseudonym(v.text)
		} else if w := s.word(v.text); w != nil {
			*to = w
		}
	case *[]string:
		*to = nil
		for _, text := range v.words {
			if w := s.word(text); w != nil { // what may be text is left out
				*to = append(*to, *w)
			}
		}
	case *bool:
		*to = v.yes
	case *trace.APIKind:
		if v.text != nil {
			*to = trace.APIKind(v.text)
		}
	case *trace.Outcome:
		if v.text != nil {
			*to = trace.Outcome(v.text)
		}
	default:
		c.number(s, to, v)
	}
}

func (c *otelColumn) number(s *scan, to any, v *otelGot) {
	whole := v.whole
	fraction := float64(whole.n)
	known := whole.known
	if v.double != nil {
		f, err := strconv.ParseFloat(string(v.double), 64)
		fraction, known = f, err == nil
	}
	small := whole.known && whole.n >= math.MinInt32 && whole.n <= math.MaxInt32
	switch to := to.(type) {
	case **int64:
		switch {
		case c.seconds && known && fraction >= 0 && fraction < maxNs/1e9:
			*to = s.number(int64(math.Round(fraction * 1e6)))
		case !c.seconds && whole.known:
			*to = s.number(whole.n)
		}
	case **int32:
		if small {
			*to = new(int32(whole.n))
		}
	case *int32:
		if small && whole.n >= 0 && whole.n <= math.MaxUint16 {
			*to = int32(whole.n)
		}
	case **float64:
		if known {
			*to = &fraction
		}
	}
}

// write is the attribute of a record; ok is false where it is unknown.
func (c *otelColumn) write(rec *trace.Record) (v otelValue, ok bool) {
	switch from := c.field(rec).(type) {
	case **string:
		return otelValue{String: *from}, *from != nil
	case *[]string:
		return otelStrings(*from), len(*from) > 0
	case *bool:
		return otelValue{Bool: from}, true
	case *trace.APIKind:
		return otelString(string(*from)), true
	case *trace.Outcome:
		return otelString(string(*from)), true
	case **int64:
		if *from == nil {
			return v, false
		}
		if c.seconds {
			return otelValue{Double: new(float64(**from) / 1e6)}, true
		}
		return otelInt(**from), true
	case **int32:
		if *from == nil {
			return v, false
		}
		return otelInt(int64(**from)), true
	case *int32:
		return otelInt(int64(*from)), *from > 0
	case **float64:
		return otelValue{Double: *from}, *from != nil
	}
	return v, false
}

func otelString(s string) otelValue { return otelValue{String: &s} }

func otelStrings(list []string) otelValue {
	v := otelValue{Array: &otelArray{}}
	for _, s := range list {
		v.Array.Values = append(v.Array.Values, otelString(s))
	}
	return v
}

// otelInt is a 64-bit integer, which is a string in OTLP JSON.
func otelInt(n int64) otelValue {
	return otelValue{Int: jsontext.Value(`"` + strconv.FormatInt(n, 10) + `"`)}
}

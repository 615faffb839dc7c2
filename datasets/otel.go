package datasets

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/lambdac/lambdac/trace"
)

// otel reads spans of the OpenTelemetry GenAI conventions as OTLP JSON: what
// the collector's file exporter writes, one object a line or one in all. Names
// are those of the conventions v0.1.0, their older spellings, and OpenInference's
// token counts. Spans that are no call of a model are counted and left out;
// attributes that hold content are not read.
func otel() format {
	return format{
		name:       "otel",
		license:    "as its owner says",
		timeBase:   trace.TimeUnix,
		resolution: time.Nanosecond,
		assumed:    "a span that names no provider is taken for openai.chat; the path is that of its API",
		scan:       func(s *scan) error { return documents(s, (&otelReader{scan: s, columns: otelByName()}).resource) },
	}
}

type otelReader struct {
	*scan
	nth     int64 // exchanges read
	columns map[string]*otelColumn
}

// resource reads from an object down to its spans.
func (o *otelReader) resource(in *jsonStream) error {
	return in.members(func(name string) error {
		switch name {
		case "resourceSpans", "scopeSpans", "instrumentationLibrarySpans":
			return in.elements(func() error { return o.resource(in) })
		case "spans":
			return in.elements(func() error { return o.span(in) })
		}
		return nil
	})
}

// otelSpan is a span of OTLP JSON. 64-bit integers are strings there, and some
// exporters write numbers.
type otelSpan struct {
	Start      jsontext.Value  `json:"startTimeUnixNano"`
	End        jsontext.Value  `json:"endTimeUnixNano"`
	Attributes []otelAttribute `json:"attributes"`
	Status     struct {
		Code jsontext.Value `json:"code"`
	} `json:"status"`
}

type otelAttribute struct {
	Key   string    `json:"key"`
	Value otelValue `json:"value"`
}

type otelValue struct {
	String *string        `json:"stringValue,omitzero"`
	Int    jsontext.Value `json:"intValue,omitzero"`
	Double *float64       `json:"doubleValue,omitzero"`
	Bool   *bool          `json:"boolValue,omitzero"`
	Array  *otelArray     `json:"arrayValue,omitzero"`
}

type otelArray struct {
	Values []otelValue `json:"values"`
}

func (o *otelReader) span(in *jsonStream) error {
	span := otelSpan{}
	line, msg, err := in.value(&span)
	if err != nil {
		return err
	}
	if msg != "" {
		return o.bad(line, msg)
	}
	r := &trace.Record{Result: trace.Result{Outcome: trace.OutcomeOK}}
	said := otelSaid{}
	for i := range span.Attributes {
		a := &span.Attributes[i]
		if c := o.columns[a.Key]; c != nil {
			c.read(o.scan, r, &a.Value)
		}
		said.take(a)
	}
	if !said.model && (r.Operation == nil || !modelCall(*r.Operation)) {
		o.skip()
		return nil
	}
	start, ok := wholeNumber(span.Start)
	end, okEnd := wholeNumber(span.End)
	if !ok || start < 0 || start > maxNs {
		return o.bad(line, "startTimeUnixNano: want nanoseconds since 1970")
	}
	r.StartUnixNs = start
	if okEnd && (end > start || end == start && !said.cut) {
		r.TEndUs = new((end - start) / 1000)
	}
	said.finish(r, string(span.Status.Code))
	o.nth++
	r.RequestID = fmt.Sprintf("span-%d", o.nth)
	return o.row(line, r)
}

// otelSaid is what attributes say beside the columns.
type otelSaid struct {
	model     bool // it is a call of a model, by names older than the operation's
	responses bool
	outcome   bool
	cut       bool // its end was not seen
}

func (s *otelSaid) take(a *otelAttribute) {
	switch a.Key {
	case "openai.api.type":
		s.responses = a.Value.String != nil && *a.Value.String == "responses"
	case "llm.model_name", "llm.request.type":
		s.model = true
	case attrOutcome:
		s.outcome = true
	case attrComplete:
		s.cut = a.Value.Bool != nil && !*a.Value.Bool
	}
}

// modelCall tells calls of a model from the other operations of the
// conventions, such as execute_tool and invoke_agent.
func modelCall(operation string) bool {
	switch operation {
	case "chat", "text_completion", "generate_content", "embeddings":
		return true
	}
	return false
}

// finish settles what several attributes decide.
func (s *otelSaid) finish(r *trace.Record, status string) {
	if kindPaths[r.APIKind] == "" {
		r.APIKind = s.kind(r)
	}
	failed := status == "2" || status == `"STATUS_CODE_ERROR"`
	switch {
	case s.outcome && slices.Contains(trace.Outcomes, r.Outcome):
	case r.StatusCode != nil && *r.StatusCode >= 400:
		r.Outcome = trace.OutcomeHTTPError
	case failed, r.ErrorType != nil:
		r.Outcome = trace.OutcomeFailedUnknown
	default:
		r.Outcome = trace.OutcomeOK
	}
	r.RawInputTokens, r.RawOutputTokens = r.InputTokens, r.OutputTokens
}

func (s *otelSaid) kind(r *trace.Record) trace.APIKind {
	provider, operation := "", ""
	if r.Provider != nil {
		provider = *r.Provider
	}
	if r.Operation != nil {
		operation = *r.Operation
	}
	switch {
	case operation == "embeddings":
		return trace.KindOpenAIEmbeddings
	case provider == "anthropic":
		return trace.KindAnthropicMessages
	case provider == "aws.bedrock":
		return trace.KindBedrockConverse
	case operation == "generate_content", provider == "gcp.gemini", provider == "gcp.vertex_ai":
		return trace.KindGemini
	case provider == "cohere":
		return trace.KindCohereChat
	case operation == "text_completion":
		return trace.KindOpenAICompletions
	case s.responses:
		return trace.KindOpenAIResponses
	}
	return trace.KindOpenAIChat
}

// wholeNumber reads a 64-bit integer of OTLP JSON.
func wholeNumber(v jsontext.Value) (int64, bool) {
	text := string(v)
	if len(text) > 1 && text[0] == '"' {
		text = text[1 : len(text)-1]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

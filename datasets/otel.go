package datasets

import (
	"slices"
	"strconv"
	"time"

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
	last    otelSpan
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

// otelSpan is what is read of a span of OTLP JSON: its attributes that are a
// column, or that otelSaid knows. 64-bit integers are strings there, and some
// exporters write numbers.
type otelSpan struct {
	start, end []byte
	status     []byte
	attributes []otelRead
}

// otelRead is an attribute and its value, as it is written.
type otelRead struct{ key, value []byte }

func (o *otelReader) span(in *jsonStream) error {
	line, msg, err := in.whole(o.read)
	if err != nil {
		return err
	}
	if msg != "" {
		return o.bad(line, msg)
	}
	span := &o.last
	r := o.blank(0)
	r.Outcome = trace.OutcomeOK
	said := otelSaid{}
	for _, a := range span.attributes {
		if c := o.columns[string(a.key)]; c != nil {
			v := otelGotOf(a.value)
			c.read(o.scan, r, &v)
		}
		said.take(a)
	}
	if !said.model && (r.Operation == nil || !modelCall(*r.Operation)) {
		o.skip()
		return nil
	}
	start, end := wholeNumber(span.start), wholeNumber(span.end)
	if !start.known || start.n < 0 || start.n > maxNs {
		return o.bad(line, "startTimeUnixNano: want nanoseconds since 1970")
	}
	r.StartUnixNs = start.n
	if end.known && (end.n > start.n || end.n == start.n && !said.cut) {
		r.TEndUs = o.scan.number((end.n - start.n) / 1000)
	}
	said.finish(r, string(span.status))
	o.nth++
	r.RequestID = numbered("span-", o.nth)
	return o.row(line, r)
}

// read takes a span.
func (o *otelReader) read(in *jsonReader) {
	o.last = otelSpan{attributes: o.last.attributes[:0]}
	for name := range in.members() {
		switch string(name) {
		case "startTimeUnixNano":
			o.last.start = in.value()
		case "endTimeUnixNano":
			o.last.end = in.value()
		case "attributes":
			for more := in.open('['); more && in.more(); {
				o.attribute(in)
			}
		case "status":
			for name := range in.members() {
				if value := in.value(); string(name) == "code" {
					o.last.status = value
				}
			}
		default:
			in.skip()
		}
	}
}

func (o *otelReader) attribute(in *jsonReader) {
	var a otelRead
	for name := range in.members() {
		switch string(name) {
		case "key":
			a.key = in.string()
		case "value":
			a.value = in.value()
		default:
			in.skip()
		}
	}
	o.last.attributes = append(o.last.attributes, a)
}

// otelGot is what is read of the value of an attribute. What its kind is not is
// unknown.
type otelGot struct {
	text    []byte // of a string
	whole   optional
	double  []byte // as it is written
	yes, no bool
	words   [][]byte // the strings of a list
}

func otelGotOf(text []byte) (v otelGot) {
	var in jsonReader
	in.reset(text)
	v.read(&in)
	return v
}

func (v *otelGot) read(in *jsonReader) {
	for kind := range in.members() {
		switch string(kind) {
		case "stringValue":
			v.text = in.string()
		case "intValue":
			v.whole = wholeNumber(in.value())
		case "doubleValue":
			v.double = in.number()
		case "boolValue":
			value, known := in.boolean()
			v.yes, v.no = known && value, known && !value
		case "arrayValue":
			v.readList(in)
		default:
			in.skip()
		}
	}
}

func (v *otelGot) readList(in *jsonReader) {
	for name := range in.members() {
		if string(name) != "values" {
			in.skip()
			continue
		}
		for more := in.open('['); more && in.more(); {
			if one := otelGotOf(in.value()); one.text != nil {
				v.words = append(v.words, one.text)
			}
		}
	}
}

// otelSaid is what attributes say beside the columns.
type otelSaid struct {
	model     bool // it is a call of a model, by names older than the operation's
	responses bool
	outcome   bool
	cut       bool // its end was not seen
}

func (s *otelSaid) take(a otelRead) {
	switch string(a.key) {
	case "openai.api.type":
		v := otelGotOf(a.value)
		s.responses = string(v.text) == "responses"
	case "llm.model_name", "llm.request.type":
		s.model = true
	case attrOutcome:
		s.outcome = true
	case attrComplete:
		v := otelGotOf(a.value)
		s.cut = v.no
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
func wholeNumber(text []byte) optional {
	if len(text) > 1 && text[0] == '"' {
		text = text[1 : len(text)-1]
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return optional{n, err == nil}
}

package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// spansPerLine bounds what a reader must hold at once.
const spansPerLine = 256

// otelOut is a span to write; see otelSpan.
type otelOut struct {
	TraceID    string          `json:"traceId"`
	SpanID     string          `json:"spanId"`
	Name       string          `json:"name"`
	Kind       int             `json:"kind"`
	Start      string          `json:"startTimeUnixNano"`
	End        string          `json:"endTimeUnixNano"`
	Attributes []otelAttribute `json:"attributes"`
	Status     otelStatus      `json:"status"`
}

type otelStatus struct {
	Code int `json:"code,omitzero"`
}

type otelScope struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type otelScopeSpans struct {
	Scope otelScope  `json:"scope"`
	Spans []*otelOut `json:"spans"`
}

type otelResource struct {
	Attributes []otelAttribute `json:"attributes"`
}

type otelResourceSpans struct {
	Resource otelResource     `json:"resource"`
	Scopes   []otelScopeSpans `json:"scopeSpans"`
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

// Values of OTLP's enums.
const (
	otelKindServer  = 2
	otelKindClient  = 3
	otelStatusError = 2
)

// exportOTel writes a span per exchange as lines of OTLP JSON, by the names of
// the GenAI conventions, without an attribute for content. Ids are hashes of
// the trace's own, the same at every export; a conversation is one trace.
func exportOTel(x *export) error {
	if x.dir.Manifest().TimeBase == trace.TimeRelative {
		x.warn("the trace has no dates: its spans begin in 1970")
	}
	columns := otelColumns()
	var spans []*otelOut
	flush := func() error {
		if len(spans) == 0 {
			return nil
		}
		line := struct {
			Resources []otelResourceSpans `json:"resourceSpans"`
		}{[]otelResourceSpans{{
			otelResource{[]otelAttribute{{"service.name", otelString("lambdac")}}},
			[]otelScopeSpans{{otelScope{"github.com/lambdac/lambdac", x.cfg.Version}, spans}},
		}}}
		spans = spans[:0]
		if err := json.MarshalWrite(x.out, line, jsontext.AllowInvalidUTF8(true)); err != nil {
			return err
		}
		return x.out.WriteByte('\n')
	}
	for r, err := range tracedir.Rows[otelRow](x.dir) {
		if err != nil {
			return err
		}
		if err := x.ctx.Err(); err != nil {
			return err
		}
		if r.StartUnixNs < 0 || r.StartUnixNs > maxNs { // a span's times have no sign
			x.leaveOut(noStart)
			continue
		}
		spans = append(spans, x.span(r.record(), columns))
		x.report.Rows++
		if len(spans) == spansPerLine {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// otelRow leaves out the columns that no span has, chunks above all.
type otelRow struct {
	trace.Identity
	trace.Arrival
	trace.Request
	trace.Usage
	trace.Result
	trace.Timing
	Vantage trace.Vantage `parquet:"vantage,dict"`
}

func (r *otelRow) record() *trace.Record {
	return &trace.Record{
		Identity: r.Identity, Arrival: r.Arrival, Request: r.Request, Usage: r.Usage,
		Result: r.Result, Timing: r.Timing, Capture: trace.Capture{Vantage: r.Vantage},
	}
}

func (x *export) span(r *trace.Record, columns []otelColumn) *otelOut {
	if r.Operation == nil {
		r.Operation = new(operationOf(r.APIKind))
	}
	whole := r.RequestID
	if r.SessionID != nil {
		whole = *r.SessionID
	}
	s := &otelOut{
		TraceID: x.hash("trace", whole, 16), SpanID: x.hash("span", r.RequestID, 8),
		Name: *r.Operation, Kind: otelKindClient,
		Start: strconv.FormatInt(r.StartUnixNs, 10),
	}
	if r.RequestModel != nil {
		s.Name += " " + *r.RequestModel
	}
	if r.Vantage == trace.VantageServer && r.Origin != trace.OriginReplay {
		s.Kind = otelKindServer
	}
	for i := range columns {
		if v, ok := columns[i].write(r); ok {
			s.Attributes = append(s.Attributes, otelAttribute{columns[i].name, v})
		}
	}
	if r.OutcomeDetail != nil {
		s.Attributes = append(s.Attributes, otelAttribute{attrDetail, otelString(string(*r.OutcomeDetail))})
	}
	s.Attributes = append(s.Attributes, otelAttribute{attrVantage, otelString(string(r.Vantage))})
	end := r.StartUnixNs
	ended := r.TEndUs != nil && *r.TEndUs >= 0 && *r.TEndUs < maxNs/1000
	if ended {
		end += *r.TEndUs * 1000
	}
	s.End = strconv.FormatInt(end, 10)
	class := r.Class()
	if class == trace.ClassError || class == trace.ClassShed {
		s.Status.Code = otelStatusError
	}
	if !ended || r.Outcome == trace.OutcomeCutByCapture || r.Outcome == trace.OutcomeUnknown {
		s.Attributes = append(s.Attributes, otelAttribute{attrComplete, otelValue{Bool: new(false)}})
	}
	return s
}

// hash names an id of this trace in n bytes.
func (x *export) hash(kind, id string, n int) string {
	sum := sha256.Sum256([]byte(x.dir.Manifest().TraceID + "\x00" + kind + "\x00" + id))
	return hex.EncodeToString(sum[:n])
}

// operationOf is gen_ai.operation.name of an API family.
func operationOf(kind trace.APIKind) string {
	switch kind {
	case trace.KindOpenAICompletions, trace.KindOllamaGenerate, trace.KindTGIGenerate,
		trace.KindTritonGenerate, trace.KindSGLangGenerate, trace.KindLlamaCppCompletion:
		return "text_completion"
	case trace.KindOpenAIEmbeddings:
		return "embeddings"
	case trace.KindGemini:
		return "generate_content"
	}
	return "chat"
}

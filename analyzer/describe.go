package analyzer

import (
	"fmt"
	"hash/maphash"
	"maps"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// describedRow is the part of a Record that a summary needs.
type describedRow struct {
	StartUnixNs         int64                `parquet:"start_unix_ns,delta"`
	ArrivalResolutionNs int64                `parquet:"arrival_resolution_ns"`
	APIKind             trace.APIKind        `parquet:"api_kind,dict"`
	Outcome             trace.Outcome        `parquet:"outcome,dict"`
	OutcomeDetail       *trace.OutcomeDetail `parquet:"outcome_detail,dict"`
	RequestModel        *string              `parquet:"request_model,dict"`
	SessionID           *string              `parquet:"session_id"`
	TenantID            *string              `parquet:"tenant_id"`
	InputTokens         *int64               `parquet:"input_tokens"`
	OutputTokens        *int64               `parquet:"output_tokens"`
	CacheReadTokens     *int64               `parquet:"cache_read_tokens"`
	TokenSource         trace.TokenSource    `parquet:"token_source,dict"`
	ReqWireBytes        int64                `parquet:"req_wire_bytes"`
	RespWireBytes       int64                `parquet:"resp_wire_bytes"`
	PrefixBlockSize     *int32               `parquet:"prefix_block_size"`
	PrefixBlockUnit     *trace.BlockUnit     `parquet:"prefix_block_unit,dict"`
	PrefixBlockIDs      []int64              `parquet:"prefix_block_ids,list,optional" parquet-element:",delta"`
}

// arrived reports whether the row has an arrival: an answer joined in its
// middle has none.
func (r *describedRow) arrived() bool {
	return r.OutcomeDetail == nil || *r.OutcomeDetail != trace.DetailLateJoin
}

// Describe reads a trace or run directory and returns what is in it. It reads
// rows in one pass; what it keeps is eight bytes per exchange (up to 33
// million, then the burstiness is nil with its reason), eight per session and
// one bit per prefix block.
//
// A row that cannot be read ends the pass: what was read before is returned
// with a warning.
func Describe(d *tracedir.Dir) (*Summary, error) {
	c := newCensus()
	var broken error
	for r, err := range tracedir.Rows[describedRow](d) {
		if err != nil {
			broken = err
			break
		}
		c.take(r)
	}
	if broken != nil && c.summary.Exchanges == 0 {
		return nil, fmt.Errorf("describe %q: %w", d.Path(), broken)
	}
	losses, err := lossesOf(d)
	if err != nil {
		return nil, fmt.Errorf("describe %q: %w", d.Path(), err)
	}
	s := c.finish(d.Manifest(), losses)
	s.Warnings = append(s.Warnings, append(d.Warnings(), d.Manifest().Warnings...)...)
	if broken != nil {
		s.Warnings = append(s.Warnings, fmt.Sprintf("only the first %d exchanges could be read: %v", s.Exchanges, broken))
	}
	marks, err := d.Marks()
	if err != nil {
		return nil, fmt.Errorf("describe %q: %w", d.Path(), err)
	}
	s.Marks = int64(len(marks))
	if !d.Manifest().Clean {
		s.Warnings = append(s.Warnings, cutShort(losses))
	}
	if missing := losses.ExchangesWritten - s.Exchanges; missing > 0 && broken == nil {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%d exchanges that were counted as written are not here", missing))
	}
	return s, nil
}

// lossesOf are the totals of the manifest; of a recording that had no time to
// write them, the sums of the capture table.
func lossesOf(d *tracedir.Dir) (*trace.LossTotals, error) {
	losses := d.Manifest().Losses
	if losses.ExchangesSeen > 0 || d.Manifest().Clean {
		return &losses, nil
	}
	var sums trace.LossTotals
	for w, err := range tracedir.Rows[trace.CaptureWindow](d) {
		if err != nil {
			return nil, err
		}
		sums.Add(w)
	}
	return &sums, nil
}

// cutShort says what is missing of a trace whose end was not clean.
func cutShort(l *trace.LossTotals) string {
	text := "the recording was cut short: what was open at its end is missing"
	if l.OpenAtEnd > 0 {
		text += fmt.Sprintf(" (%d exchanges in the last second that was accounted for)", l.OpenAtEnd)
	}
	return text
}

// census gathers a summary.
type census struct {
	summary  *Summary
	arrivals arrivals
	input    lengths
	output   lengths
	prefix   prefixes
	seed     maphash.Seed
	sessions map[uint64]struct{}
	tenants  map[uint64]struct{}
	wire     int64
}

func newCensus() *census {
	return &census{
		summary: &Summary{
			Schema: SummarySchema, Warnings: []string{}, Outcomes: map[string]int64{}, APIKinds: map[string]int64{},
			Losses: map[string]int64{}, Models: map[string]int64{}, Tokens: Tokens{Sources: map[string]int64{}},
		},
		seed: maphash.MakeSeed(), sessions: map[uint64]struct{}{}, tenants: map[uint64]struct{}{},
	}
}

func (c *census) take(r *describedRow) {
	s := c.summary
	s.Exchanges++
	s.Outcomes[string(r.Outcome)]++
	s.APIKinds[string(r.APIKind)]++
	s.Tokens.Sources[string(r.TokenSource)]++
	c.wire += r.ReqWireBytes + r.RespWireBytes
	if r.RequestModel != nil {
		s.Models[*r.RequestModel]++
	}
	if r.SessionID != nil {
		s.Sessions.InSession++
		c.sessions[maphash.String(c.seed, *r.SessionID)] = struct{}{}
	}
	if r.TenantID != nil {
		c.tenants[maphash.String(c.seed, *r.TenantID)] = struct{}{}
	}
	if r.InputTokens != nil {
		c.input.add(*r.InputTokens)
	}
	if r.OutputTokens != nil {
		c.output.add(*r.OutputTokens)
	}
	if r.arrived() {
		c.arrivals.add(r.StartUnixNs, r.ArrivalResolutionNs)
	}
	c.prefix.add(r)
}

func (c *census) finish(m *trace.Manifest, losses *trace.LossTotals) *Summary {
	s := c.summary
	s.Version, s.TimeBase = m.Version, string(m.TimeBase)
	s.FirstUnixNs, s.LastUnixNs = c.arrivals.ends()
	s.Bytes = bytesOf(m, losses, c.wire)
	maps.Copy(s.Losses, losses.LostByReason)
	s.Unpaired = losses.Unpaired
	if m.Seal != nil {
		s.Sealed = true
		s.Sanitizer = &SummarySanitizer{Mode: string(m.Seal.Mode), Version: m.Seal.Version, PolicyHash: m.Seal.PolicyHash}
	}
	s.Rates = c.arrivals.rates()
	s.Tokens.Input, s.Tokens.Output = c.input.summary(), c.output.summary()
	s.Sessions.Sessions, s.Sessions.Tenants = int64(len(c.sessions)), int64(len(c.tenants))
	s.Prefix = c.prefix.summary()
	return s
}

// bytesOf takes the capture's totals; of a run, which captured nothing and
// missed nothing, the bytes of the bodies.
func bytesOf(m *trace.Manifest, l *trace.LossTotals, bodies int64) SummaryBytes {
	switch {
	case m.Origin == trace.OriginImport:
		return SummaryBytes{Reason: "the source trace does not say"}
	case m.Origin != trace.OriginCapture:
		return SummaryBytes{Wire: &bodies, Captured: &bodies, Lost: new(int64(0))}
	case l.BytesSeen == 0 && !m.Clean:
		return SummaryBytes{Reason: "the recording was cut short before it was accounted for"}
	}
	return SummaryBytes{Wire: &l.BytesSeen, Captured: new(l.BytesSeen - l.BytesLost), Lost: &l.BytesLost}
}

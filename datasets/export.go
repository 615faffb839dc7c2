package datasets

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// ExportConfig says how a trace is written for other tools. Format is
// required.
type ExportConfig struct {
	// Format is one of [ExportFormats].
	Format string
	// Scale divides the times since the first arrival: 3 = three times the
	// rate; 0 = 1.
	Scale float64
	// Resolution is what arrivals are rounded to; 0 = the format's finest.
	// Each time is rounded, never a gap, so nothing drifts.
	Resolution time.Duration
	// BlockTokens is the size of a prefix block (mooncake); 0 = 512.
	BlockTokens int
	// Target is the URL, without a path, to which requests go (vegeta).
	Target string
	// Plain writes bodies as they are where the format encodes them (vegeta):
	// what an audit can read.
	Plain bool
	// Version is the version of the tool, for the report.
	Version string
}

// ExportSchema is the value of ExportReport.Schema.
const ExportSchema = "lambdac.export/v1"

// ExportReport is what an export did, and the document that `lambdac export
// --json` prints.
type ExportReport struct {
	Schema string `json:"schema"`
	// Version is the version of the tool.
	Version string `json:"version"`
	// Rows were written; LeftOut counts those that were not, by reason.
	Rows    int64            `json:"rows"`
	LeftOut map[string]int64 `json:"left_out"`
	// MergedStamps is the number of distinct arrivals less that of distinct
	// arrivals as written.
	MergedStamps int64 `json:"merged_stamps"`
	// SpanNs is the time from the first to the last arrival as written.
	SpanNs   int64    `json:"span_ns"`
	Warnings []string `json:"warnings"`
}

// ErrExport reports what a trace lacks for a format, or a wrong setting.
var ErrExport = errors.New("cannot be exported so")

// exporter is one format to write.
type exporter struct {
	name string
	// resolution is the finest that the format can hold.
	resolution time.Duration
	write      func(*export) error
}

// exporters is the table of formats to write.
func exporters() []exporter {
	return []exporter{
		{"azure", 100 * time.Nanosecond, exportAzure},
		{"mooncake", time.Nanosecond, exportMooncake},
		{"otel", time.Nanosecond, exportOTel},
		{"payload", time.Nanosecond, exportPayload},
		{"vegeta", time.Nanosecond, exportVegeta},
	}
}

// ExportFormats lists the names of the formats that can be written.
func ExportFormats() []string {
	var names []string
	for _, e := range exporters() {
		names = append(names, e.name)
	}
	return names
}

// export is one export under way.
type export struct {
	ctx    context.Context
	dir    *tracedir.Dir
	cfg    ExportConfig
	out    *bufio.Writer
	report ExportReport

	// first is the first arrival; before and last are those of the row that
	// was written last, as recorded and as written, from first.
	first        int64
	before, last int64
}

// Export writes a trace's exchanges to w. What a format cannot say is left
// out, and counted. Errors match [ErrExport] where the trace or the settings
// are the cause.
func Export(ctx context.Context, dir *tracedir.Dir, cfg ExportConfig, w io.Writer) (ExportReport, error) {
	i := slices.IndexFunc(exporters(), func(e exporter) bool { return e.name == cfg.Format })
	if i < 0 {
		return ExportReport{}, fmt.Errorf("format %q: %w: known are %s", cfg.Format, ErrExport, strings.Join(ExportFormats(), ", "))
	}
	format := exporters()[i]
	cfg.Scale, cfg.BlockTokens = cmp.Or(cfg.Scale, 1), cmp.Or(cfg.BlockTokens, mooncakeBlock)
	cfg.Resolution = max(cfg.Resolution, format.resolution)
	if !(cfg.Scale > 0 && cfg.Scale <= 1e6) || cfg.BlockTokens < 1 || cfg.BlockTokens > 1<<20 {
		return ExportReport{}, fmt.Errorf("scale %g, block of %d tokens: %w", cfg.Scale, cfg.BlockTokens, ErrExport)
	}
	x := &export{ctx: ctx, dir: dir, cfg: cfg, out: bufio.NewWriter(w)}
	x.report = ExportReport{Schema: ExportSchema, Version: cfg.Version, LeftOut: map[string]int64{}, Warnings: []string{}}
	if dir.Manifest().Run != nil {
		x.warn("this is a run: the arrivals of all its levels follow each other")
	}
	if err := format.write(x); err != nil {
		return x.report, fmt.Errorf("export as %s: %w", format.name, err)
	}
	if x.report.Rows == 0 {
		return x.report, fmt.Errorf("export as %s: no exchange has what the format needs (%s): %w", format.name, x.lacking(), ErrExport)
	}
	if x.report.MergedStamps > 0 {
		x.warn("%d arrivals were rounded to a time that another has", x.report.MergedStamps)
	}
	return x.report, x.out.Flush()
}

func (x *export) warn(text string, args ...any) {
	x.report.Warnings = append(x.report.Warnings, fmt.Sprintf(text, args...))
}

func (x *export) lacking() string {
	var reasons []string
	for reason, n := range x.report.LeftOut {
		reasons = append(reasons, fmt.Sprintf("%s: %d", reason, n))
	}
	slices.Sort(reasons)
	return cmp.Or(strings.Join(reasons, ", "), "it has none")
}

func (x *export) leaveOut(reason string) { x.report.LeftOut[reason]++ }

// Reasons why a row is left out.
const (
	noStart  = "start out of range"
	noMethod = "method unknown"
)

// lacks is what a row must have: a reason, or "". Counts are those that
// importers take, [0, 2³¹).
func lacks(input, output *int64) string {
	switch {
	case input == nil:
		return "input_tokens unknown"
	case output == nil:
		return "output_tokens unknown"
	case *input < 0 || *input > math.MaxInt32:
		return "input_tokens out of range"
	case *output < 0 || *output > math.MaxInt32:
		return "output_tokens out of range"
	}
	return ""
}

// arrival is the time of a row from the first one, as it is written: scaled,
// then rounded to the resolution. Rows come in order of start. ok is false, and
// nothing is counted, where it lies 146 years from the epoch or the first one.
func (x *export) arrival(startNs int64) (at int64, ok bool) {
	first := x.first
	if x.report.Rows == 0 {
		first = startNs
	}
	if startNs < -maxNs || startNs > maxNs || float64(startNs-first) >= maxNs*min(1, x.cfg.Scale) {
		return 0, false
	}
	if x.report.Rows == 0 {
		x.first, x.before, x.last = startNs, 0, 0
	}
	before := startNs - x.first
	at = before
	if x.cfg.Scale != 1 {
		at = int64(math.Round(float64(before) / x.cfg.Scale))
	}
	grid := int64(x.cfg.Resolution)
	at = (at + grid/2) / grid * grid
	if x.report.Rows > 0 && before != x.before && at == x.last {
		x.report.MergedStamps++
	}
	x.before, x.last = before, at
	x.report.Rows++
	x.report.SpanNs = at
	return at, true
}

// exportRow is what the formats of arrivals and lengths need of an exchange.
type exportRow struct {
	RequestID    string          `parquet:"request_id"`
	StartUnixNs  int64           `parquet:"start_unix_ns,delta"`
	SessionID    *string         `parquet:"session_id"`
	ThinkTimeUs  *int64          `parquet:"think_time_us"`
	APIKind      trace.APIKind   `parquet:"api_kind,dict"`
	Method       string          `parquet:"method,dict"`
	InputTokens  *int64          `parquet:"input_tokens"`
	OutputTokens *int64          `parquet:"output_tokens"`
	ReqBodyBytes int64           `parquet:"req_body_bytes"`
	Messages     []trace.Message `parquet:"messages,list,optional"`
	trace.Prefix
}

// rows reads the exchanges in order of start. They are held in memory: some
// 200 bytes each, and their block ids.
func (x *export) rows() ([]*exportRow, error) {
	var rows []*exportRow
	for row, err := range tracedir.Rows[exportRow](x.dir) {
		if err := cmp.Or(err, x.ctx.Err()); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b *exportRow) int { return cmp.Compare(a.StartUnixNs, b.StartUnixNs) })
	return rows, nil
}

// milliseconds appends a time as a decimal number, exactly.
func milliseconds(dst []byte, ns int64) []byte {
	dst = strconv.AppendInt(dst, ns/1e6, 10)
	part := ns % 1e6
	if part == 0 {
		return dst
	}
	digits := fmt.Appendf(nil, ".%06d", part)
	for digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return append(dst, digits...)
}

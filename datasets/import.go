// Package datasets reads other people's traces of LLM traffic into ours, one
// file per format. No surveyed public trace carries text or per-chunk times:
// what a source does not say stays NULL.
package datasets

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// Config says what to import. Format, Path and Out are required.
type Config struct {
	// Format is one of [Formats].
	Format string
	// Path is the source file; Out the trace directory to make.
	Path, Out string
	// Force replaces an existing trace directory at Out.
	Force bool
	// Strict stops at the first row that cannot be used.
	Strict bool
	// TimeUnit is the unit of a format's numeric times: "ns", "us", "ms" or
	// "s"; "" = the format's own.
	TimeUnit string
	// PerS is the rate, in requests per second, of a format without times; 0
	// = none was given.
	PerS float64
	// Tokenizer names the vocabulary in which the source counts, for the
	// column; of a format without counts it is the one to count with. "" = not
	// known.
	Tokenizer string
	// Version is the version of the tool, for the manifest.
	Version string
}

// ReportSchema is the value of Report.Schema.
const ReportSchema = "lambdac.import/v1"

// Report is what an import did, and the document that `lambdac import --json`
// prints.
type Report struct {
	Schema string `json:"schema"`
	// Version is the version of the tool.
	Version string `json:"version"`
	// Rows were written, Refused were not; Errors holds the first of the
	// latter.
	Rows    int64      `json:"rows"`
	Refused int64      `json:"refused"`
	Errors  []RowError `json:"errors"`
	// Skipped are entries that are no exchange, such as other spans.
	Skipped int64 `json:"skipped"`
	// SpanNs is the time from the first to the last arrival; RatePerS is
	// (rows − 1) ÷ span, nil where the span is 0.
	SpanNs   int64    `json:"span_ns"`
	RatePerS *float64 `json:"rate_per_s"`
	// ArrivalResolutionNs is the grid that the arrivals lie on.
	ArrivalResolutionNs int64    `json:"arrival_resolution_ns"`
	Warnings            []string `json:"warnings"`
}

// RowError is a row that could not be used. The others were kept.
type RowError struct {
	File string `json:"file"`
	// Line counts from 1.
	Line int64 `json:"line"`
	// Message says what is wrong with it.
	Message string `json:"message"`
}

// Error names file and line.
func (e *RowError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message) }

// ErrFormat reports a file that is not of the format, or a format that is not
// known: nothing was imported.
var ErrFormat = errors.New("not a file of this format")

// maxErrors bounds the row errors that a report lists; all are counted.
const maxErrors = 20

// suspectPerS is a mean rate above which the time unit is called in question:
// no public trace of one service reaches a tenth of it.
const suspectPerS = 1000

// format is one kind of source file.
type format struct {
	name string
	// license is what the publisher asks to be named.
	license  string
	timeBase trace.TimeBase
	// resolution is the grid of the arrivals; 0 = it must be measured.
	resolution time.Duration
	// unit is the default of Config.TimeUnit; "" = times are not numbers.
	unit string
	// timeless: arrivals come at Config.PerS. counts: it counts tokens itself.
	timeless, counts bool
	// assumed says what the rows do not tell but a replay needs.
	assumed string
	// scan passes over a file.
	scan func(*scan) error
	// clock passes over its arrivals only, where they must be measured and
	// scan has more to do; its records have nothing else.
	clock func(*scan) error
}

// formats is the table of importers.
func formats() []format {
	return []format{
		azure2023(), azure2024(), azure2025(), bailian(), burstGPT(), editor(),
		mooncake(), otel(), traceLab(), vegeta(), weka(),
	}
}

// Formats lists the names of the formats that can be imported.
func Formats() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// Import reads one file into a new trace directory, sealed as an import.
// Rows that cannot be used are counted and the first of them listed; with
// Strict the first one is the error, and nothing is left at Out. Errors match
// [ErrFormat], fs.ErrExist or fs.ErrNotExist where these are the cause.
func Import(ctx context.Context, cfg Config) (Report, error) {
	i := slices.IndexFunc(formats(), func(f format) bool { return f.name == cfg.Format })
	if i < 0 {
		return Report{}, fmt.Errorf("format %q: %w: known are %s", cfg.Format, ErrFormat, strings.Join(Formats(), ", "))
	}
	m := &importing{Config: cfg, format: formats()[i]}
	m.report = Report{Schema: ReportSchema, Version: cfg.Version, Errors: []RowError{}, Warnings: []string{}}
	var err error
	m.unit, err = timeUnit(cfg.TimeUnit, m.format)
	if err = cmp.Or(err, cfg.check(m.format)); err != nil {
		return Report{}, err
	}
	if err := m.measure(ctx); err != nil {
		return Report{}, err
	}
	return m.report, m.write(ctx)
}

// check holds rate and tokenizer against the format.
func (cfg *Config) check(f format) error {
	switch {
	case f.timeless && !(cfg.PerS > 0 && cfg.PerS <= 1e9):
		return fmt.Errorf("rate %g: %w: format %s has no times, so it needs a rate in (0, 1e9]", cfg.PerS, ErrFormat, f.name)
	case !f.timeless && cfg.PerS != 0:
		return fmt.Errorf("rate %g: %w: format %s has times of its own", cfg.PerS, ErrFormat, f.name)
	case cfg.Tokenizer != "" && !isWord(cfg.Tokenizer):
		return fmt.Errorf("tokenizer %q: %w: want a name such as cl100k_base", cfg.Tokenizer, ErrFormat)
	case cfg.Tokenizer != "" && f.counts:
		if _, err := tokens.Load(cfg.Tokenizer); err != nil {
			return fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
	return nil
}

func firstError(errs []RowError) error {
	if len(errs) == 0 {
		return ErrFormat
	}
	return fmt.Errorf("%w: %w", ErrFormat, &errs[0])
}

func timeUnit(name string, f format) (time.Duration, error) {
	if name == "" {
		name = f.unit
	} else if f.unit == "" {
		return 0, fmt.Errorf("time unit %q: format %s has dates, not numbers: %w", name, f.name, ErrFormat)
	}
	switch name {
	case "":
		return 0, nil
	case "ns":
		return time.Nanosecond, nil
	case "us":
		return time.Microsecond, nil
	case "ms":
		return time.Millisecond, nil
	case "s":
		return time.Second, nil
	}
	return 0, fmt.Errorf("time unit %q: %w: known are ns, us, ms, s", name, ErrFormat)
}

// importing is one import. The file is passed over twice, or three times where
// Strict: its checksum and the grid of its arrivals stand in every part and row
// and are known only at the end, and 16 million rows do not fit in memory.
type importing struct {
	Config
	format
	unit   time.Duration
	sha256 string
	grid   grid

	report      Report
	first, last int64
	disordered  int64
	out         *tracedir.Writer // nil until there is a row
}

// measure passes over the file for its checksum, the grid of its arrivals
// where the format does not say it, and with Strict for bad rows.
func (m *importing) measure(ctx context.Context) error {
	look := func(*scan) error { return nil }
	switch {
	case m.Strict:
		look = m.scan
	case m.resolution == 0 && !m.timeless && m.clock != nil:
		look = m.clock
	case m.resolution == 0 && !m.timeless:
		look = m.scan
	}
	sum := sha256.New()
	err := m.pass(ctx, look, sum, scan{
		row: func(_ int64, r *trace.Record) error { m.grid.add(r.StartUnixNs); return nil },
		bad: func(line int64, msg string) error {
			if m.Strict {
				return fmt.Errorf("import strictly: %w", &RowError{filepath.Base(m.Path), line, msg})
			}
			return nil
		},
		skip: func() {},
	})
	m.sha256 = hex.EncodeToString(sum.Sum(nil))
	m.report.ArrivalResolutionNs = int64(m.resolution)
	switch {
	case m.timeless:
		m.report.ArrivalResolutionNs = 1
	case m.resolution == 0:
		m.report.ArrivalResolutionNs = m.grid.width()
	}
	return err
}

// importPart is the size of a part: that of a recording would take 190 MiB to
// import with, this takes 110.
const importPart = 8 << 20

// write passes over the file for its rows. Without a good one nothing is made
// at Out, nor lost there.
func (m *importing) write(ctx context.Context) error {
	err := m.pass(ctx, m.scan, io.Discard, scan{
		key: []byte(rand.Text()),
		row: m.row,
		bad: func(line int64, msg string) error {
			m.report.Refused++
			if len(m.report.Errors) < maxErrors {
				m.report.Errors = append(m.report.Errors, RowError{filepath.Base(m.Path), line, msg})
			}
			return nil
		},
		skip: func() { m.report.Skipped++ },
	})
	if m.out == nil {
		return cmp.Or(err, fmt.Errorf("import %q: no usable row: %w", m.Path, firstError(m.report.Errors)))
	}
	m.finish()
	if err == nil {
		err = m.out.SetManifest(func(to *trace.Manifest) {
			to.Clean, to.Warnings = true, m.report.Warnings
			to.Source.Rows, to.Source.Refused = m.report.Rows, m.report.Refused
		})
	}
	return cmp.Or(err, m.out.Close())
}

// row writes one.
func (m *importing) row(line int64, r *trace.Record) error {
	if m.out == nil {
		w, err := tracedir.Create(m.Out, m.manifest(), tracedir.Options{Force: m.Force, MaxPartBytes: importPart})
		if err != nil {
			return err
		}
		m.out, m.first, m.last = w, r.StartUnixNs, r.StartUnixNs
	}
	if r.StartUnixNs < m.last {
		m.disordered++
	}
	m.first, m.last = min(m.first, r.StartUnixNs), max(m.last, r.StartUnixNs)
	m.report.Rows++
	r.ArrivalResolutionNs = m.report.ArrivalResolutionNs
	stamp(r, line, &m.Config, &m.format)
	return m.out.Write(r)
}

func (m *importing) manifest() *trace.Manifest {
	return &trace.Manifest{
		Schema: trace.ManifestSchema, Version: m.Version, SchemaVersion: trace.SchemaVersion,
		TraceID: rand.Text(), Origin: trace.OriginImport, TimeBase: m.timeBase,
		Seal:        &trace.Seal{Mode: trace.ModeImport, Version: m.Version},
		NullReasons: map[string]string{"*": "the source trace does not say"},
		Source:      &trace.Source{Format: m.name, File: filepath.Base(m.Path), SHA256: m.sha256, License: m.license},
	}
}

// finish says what the rows have in common, and warns.
func (m *importing) finish() {
	r := &m.report
	warn := func(text string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(text, args...)) }
	r.SpanNs = m.last - m.first
	if r.SpanNs > 0 {
		r.RatePerS = new(float64(r.Rows-1) / (float64(r.SpanNs) / 1e9))
		if *r.RatePerS > suspectPerS && m.format.unit != "" {
			warn("%.4g s, %.4g/s: are the times in another unit than %s? see --time-unit", float64(r.SpanNs)/1e9, *r.RatePerS, m.format.unit)
		}
		if float64(r.ArrivalResolutionNs) >= float64(r.SpanNs)/float64(r.Rows) {
			warn("arrivals lie on a grid of %v, wider than their mean gap: no burstiness can be read from them", time.Duration(r.ArrivalResolutionNs))
		}
	}
	if m.disordered > 0 {
		warn("%d rows are earlier than the row before them", m.disordered)
	}
	if r.Refused > 0 {
		warn("rows refused: %d", r.Refused)
	}
	if r.Skipped > 0 {
		warn("entries that are no exchange: %d", r.Skipped)
	}
	r.Warnings = append(r.Warnings, m.assumed)
}

// kindPaths are the paths of the API families that formats name.
var kindPaths = map[trace.APIKind]string{
	trace.KindOpenAIChat:        "/v1/chat/completions",
	trace.KindOpenAICompletions: "/v1/completions",
	trace.KindOpenAIEmbeddings:  "/v1/embeddings",
	trace.KindOpenAIResponses:   "/v1/responses",
	trace.KindAnthropicMessages: "/v1/messages",
	trace.KindGemini:            "/v1beta/models/{id}:generateContent",
	trace.KindBedrockConverse:   "/model/{id}/converse",
	trace.KindCohereChat:        "/v2/chat",
	trace.KindOther:             "/{id}",
}

// stamp sets what every imported row has in common, and what its format has
// not set. A format that names no API has its arrivals and lengths only, and
// is taken for a streamed chat.
func stamp(r *trace.Record, line int64, cfg *Config, f *format) {
	if r.RequestID == "" {
		r.RequestID = numbered("row-", line)
	}
	r.Origin, r.SessionSource = trace.OriginImport, trace.SessionNone
	if r.SessionID != nil {
		r.SessionSource = trace.SessionImport
	}
	if r.APIKind == "" {
		r.APIKind, r.Stream = trace.KindOpenAIChat, true
	}
	r.Method, r.PathTemplate = "POST", kindPaths[r.APIKind]
	r.TokenSource = cmp.Or(r.TokenSource, tokensOf(r))
	if cfg.Tokenizer != "" && r.TokenSource != trace.TokensNone {
		r.TokenizerID = &cfg.Tokenizer
	}
	r.SanitizerMode, r.SanitizerVersion, r.BodyState = trace.ModeImport, cfg.Version, trace.BodyDroppedPolicy
	r.CaptureSource, r.CaptureVersion, r.ClockSource = "import:"+f.name, cfg.Version, "import"
	r.Vantage, r.SampledWeight = cmp.Or(r.Vantage, trace.VantageServer), 1
	r.ImportRow = &line
}

func tokensOf(r *trace.Record) trace.TokenSource {
	if r.InputTokens == nil && r.OutputTokens == nil {
		return trace.TokensNone
	}
	return trace.TokensImport
}

// numbered is a name of our own with a number.
func numbered(name string, n int64) string {
	return string(strconv.AppendInt(append(make([]byte, 0, 32), name...), n, 10))
}

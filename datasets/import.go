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
	f := formats()[i]
	unit, err := timeUnit(cfg.TimeUnit, f)
	if err = cmp.Or(err, cfg.check(f)); err != nil {
		return Report{}, err
	}
	survey, err := surveyFile(ctx, &cfg, f, unit)
	if err != nil {
		return Report{}, err
	}
	if survey.report.Rows == 0 {
		return survey.report, fmt.Errorf("import %q: no usable row: %w", cfg.Path, firstError(survey.report.Errors))
	}
	if cfg.Strict && survey.report.Refused > 0 {
		return survey.report, fmt.Errorf("import strictly: %w", &survey.report.Errors[0])
	}
	if err := write(ctx, &cfg, f, unit, survey); err != nil {
		return survey.report, err
	}
	return survey.report, nil
}

// check holds rate and tokenizer against the format.
func (cfg *Config) check(f format) error {
	switch {
	case f.timeless && !(cfg.PerS > 0 && cfg.PerS <= 1e9):
		return fmt.Errorf("rate %g: %w: format %s has no times, so it needs a rate in (0, 1e9]", cfg.PerS, ErrFormat, f.name)
	case !f.timeless && cfg.PerS != 0:
		return fmt.Errorf("rate %g: %w: format %s has times of its own", cfg.PerS, ErrFormat, f.name)
	case cfg.Tokenizer != "" && word(cfg.Tokenizer) == nil:
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

// survey is what the first pass over a file finds: the second one writes. Two
// passes, since the grid of the arrivals stands in every row and is known
// only at the end, and a file of 16 million rows does not fit in memory.
type survey struct {
	report      Report
	sha256      string
	first, last int64
	disordered  int64
	grid        grid
}

func surveyFile(ctx context.Context, cfg *Config, f format, unit time.Duration) (*survey, error) {
	s := &survey{}
	s.report = Report{Schema: ReportSchema, Version: cfg.Version, Errors: []RowError{}, Warnings: []string{}}
	sum := sha256.New()
	err := scanFile(ctx, cfg, f, sum, scan{
		unit: unit,
		row:  func(_ int64, r *trace.Record) error { s.add(r.StartUnixNs); return nil },
		bad: func(line int64, msg string) error {
			s.report.Refused++
			if len(s.report.Errors) < maxErrors {
				s.report.Errors = append(s.report.Errors, RowError{filepath.Base(cfg.Path), line, msg})
			}
			return nil
		},
		skip: func() { s.report.Skipped++ },
	})
	if err != nil {
		return nil, err
	}
	s.sha256 = hex.EncodeToString(sum.Sum(nil))
	s.finish(f)
	return s, nil
}

func (s *survey) add(start int64) {
	if s.report.Rows == 0 {
		s.first, s.last = start, start
	}
	if start < s.last {
		s.disordered++
	}
	s.grid.add(start - s.last)
	s.first, s.last = min(s.first, start), max(s.last, start)
	s.report.Rows++
}

func (s *survey) finish(f format) {
	r := &s.report
	r.SpanNs = s.last - s.first
	r.ArrivalResolutionNs = int64(f.resolution)
	if f.resolution == 0 && !f.timeless {
		r.ArrivalResolutionNs = s.grid.width()
	}
	if f.timeless {
		r.ArrivalResolutionNs = 1
	}
	if r.SpanNs > 0 {
		r.RatePerS = new(float64(r.Rows-1) / (float64(r.SpanNs) / 1e9))
		if *r.RatePerS > suspectPerS && f.unit != "" {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%.4g s, %.4g/s: are the times in another unit than %s? see --time-unit", float64(r.SpanNs)/1e9, *r.RatePerS, f.unit))
		}
		if float64(r.ArrivalResolutionNs) >= float64(r.SpanNs)/float64(r.Rows) {
			r.Warnings = append(r.Warnings, fmt.Sprintf("arrivals lie on a grid of %v, wider than their mean gap: no burstiness can be read from them", time.Duration(r.ArrivalResolutionNs)))
		}
	}
	if s.disordered > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d rows are earlier than the row before them", s.disordered))
	}
	if r.Refused > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("rows refused: %d", r.Refused))
	}
	if r.Skipped > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("entries that are no exchange: %d", r.Skipped))
	}
	r.Warnings = append(r.Warnings, f.assumed)
}

// importPart is the size of a part: that of a recording would take 190 MiB to
// import with, this takes 110.
const importPart = 8 << 20

func write(ctx context.Context, cfg *Config, f format, unit time.Duration, s *survey) error {
	seal := trace.Seal{Mode: trace.ModeImport, Version: cfg.Version}
	m := &trace.Manifest{
		Schema: trace.ManifestSchema, Version: cfg.Version, SchemaVersion: trace.SchemaVersion,
		TraceID: rand.Text(), Origin: trace.OriginImport, TimeBase: f.timeBase, Seal: &seal,
		NullReasons: map[string]string{"*": "the source trace does not say"},
		Source: &trace.Source{
			Format: f.name, File: filepath.Base(cfg.Path), SHA256: s.sha256,
			License: f.license, Rows: s.report.Rows, Refused: s.report.Refused,
		},
		Warnings: s.report.Warnings,
	}
	w, err := tracedir.Create(cfg.Out, m, tracedir.Options{Force: cfg.Force, MaxPartBytes: importPart})
	if err != nil {
		return err
	}
	err = scanFile(ctx, cfg, f, io.Discard, scan{
		unit: unit,
		key:  []byte(rand.Text()),
		row: func(line int64, r *trace.Record) error {
			r.ArrivalResolutionNs = s.report.ArrivalResolutionNs
			stamp(r, line, cfg, f)
			return w.Write(r)
		},
		bad:  func(int64, string) error { return nil },
		skip: func() {},
	})
	if err == nil {
		err = w.SetManifest(func(m *trace.Manifest) { m.Clean = true })
	}
	return cmp.Or(err, w.Close())
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
func stamp(r *trace.Record, line int64, cfg *Config, f format) {
	if r.RequestID == "" {
		r.RequestID = fmt.Sprintf("row-%d", line)
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

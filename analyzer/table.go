package analyzer

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Table is the result of any load generator: one line per run or level. The
// zero value is a table without lines.
type Table struct {
	// Name is the file's, for messages.
	Name string
	// Closed: the load is a number in flight.
	Closed bool
	// Warnings name columns that are not known, and lines to doubt.
	Warnings []string

	rows      []tableRow
	quantiles []quantileColumn
}

// tableRow is one line. Unknown is negative, or NaN nowhere.
type tableRow struct {
	line              int
	load              float64
	run               string
	class             string
	n, errors, sheds  int64
	order             float64
	startS, dwellS    float64
	achievedPerS      float64
	inFlightAtEnd     float64
	clientInFlightMax float64
	tokensPerS        float64
	// ms are the values of Table.quantiles.
	ms []float64
}

// quantileColumn is a column METRIC_pNN_ms.
type quantileColumn struct {
	// metric is the name of a metric of ours where it is one: a bare p99_ms is
	// of e2e, ttft_p99_ms of ttft_user.
	metric   string
	quantile float64
}

// String is the name as in a comparison: ttft_user_p99.
func (q quantileColumn) String() string {
	return q.metric + "_p" + formatNumber(q.quantile*100)
}

// ErrTable reports a table that cannot be read.
var ErrTable = errors.New("not a table of results")

// maxTableRows is the most lines of a table.
const maxTableRows = 1_000_000

// ReadTable reads comma-separated values with a header line. It needs a column
// load_per_s (or offered_per_s, or concurrency), n and errors; it knows run,
// order, start_s, dwell_s, achieved_per_s, class, in_flight_at_end,
// client_in_flight_max, sheds, output_tokens_per_s and METRIC_pNN_ms. Lines of
// one load are its runs. An empty cell of any but the first three is unknown.
//
// Errors match [ErrTable] and name file, line, column and what is wrong there.
func ReadTable(r io.Reader, name string) (*Table, error) {
	p := &tableParser{Table: &Table{Name: name}, csv: csv.NewReader(r)}
	p.csv.TrimLeadingSpace, p.csv.ReuseRecord = true, true
	if err := p.header(); err != nil {
		return nil, fmt.Errorf("read %q: %w: %w", name, ErrTable, err)
	}
	for {
		record, err := p.csv.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = p.line(record)
		}
		if err != nil {
			return nil, fmt.Errorf("read %q: %w: %w", name, ErrTable, err)
		}
	}
	if len(p.rows) == 0 {
		return nil, fmt.Errorf("read %q: %w: it has a header and no line", name, ErrTable)
	}
	return p.Table, p.check()
}

// tableParser reads one table.
type tableParser struct {
	*Table

	csv *csv.Reader
	// set takes a cell of each column into a row; nil = the column is not known.
	set     []func(row *tableRow, cell string) error
	columns []string
}

// numberColumns are the columns of numbers that are known beside the quantiles,
// each with its place in a row and its least value.
func numberColumns() map[string]struct {
	at    func(*tableRow) *float64
	least float64
} {
	type column = struct {
		at    func(*tableRow) *float64
		least float64
	}
	return map[string]column{
		"order":                {func(r *tableRow) *float64 { return &r.order }, 0},
		"start_s":              {func(r *tableRow) *float64 { return &r.startS }, 0},
		"dwell_s":              {func(r *tableRow) *float64 { return &r.dwellS }, math.SmallestNonzeroFloat64},
		"achieved_per_s":       {func(r *tableRow) *float64 { return &r.achievedPerS }, 0},
		"in_flight_at_end":     {func(r *tableRow) *float64 { return &r.inFlightAtEnd }, 0},
		"client_in_flight_max": {func(r *tableRow) *float64 { return &r.clientInFlightMax }, 0},
		"output_tokens_per_s":  {func(r *tableRow) *float64 { return &r.tokensPerS }, 0},
	}
}

// loadColumns are the names of the load, of which a table has one.
var loadColumns = []string{"load_per_s", "offered_per_s", "concurrency"}

// header reads the names of the columns.
func (p *tableParser) header() error {
	record, err := p.csv.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty")
	}
	if err != nil {
		return err
	}
	for i, name := range record {
		if i == 0 {
			name = strings.TrimPrefix(name, "\ufeff")
		}
		name = strings.ToLower(strings.TrimSpace(name))
		if name != "" && slices.Contains(p.columns, name) {
			return p.at(i, "the column %q is there twice", name)
		}
		p.columns = append(p.columns, name)
		p.set = append(p.set, p.setter(name))
		if p.set[i] == nil {
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s: column %q is not known and was left out", p.Name, name))
		}
	}
	return p.needs()
}

// needs checks that the columns are there without which nothing can be said.
func (p *tableParser) needs() error {
	var loads, missing []string
	for _, name := range loadColumns {
		if slices.Contains(p.columns, name) {
			loads = append(loads, name)
		}
	}
	if len(loads) == 0 {
		missing = append(missing, strings.Join(loadColumns, " or "))
	}
	for _, name := range []string{"n", "errors"} {
		if !slices.Contains(p.columns, name) {
			missing = append(missing, name)
		}
	}
	switch {
	case len(missing) > 0:
		return fmt.Errorf("line 1: no column %s; the header has %s", strings.Join(missing, ", no column "), quoted(p.columns))
	case len(loads) > 1:
		return fmt.Errorf("line 1: two columns for the load, %s: keep one", strings.Join(loads, " and "))
	}
	p.Closed = loads[0] == "concurrency"
	return nil
}

// quoted lists names, no more than a line of them.
func quoted(names []string) string {
	text := fmt.Sprintf("%q", names)
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + " …"
	}
	return text
}

// at is an error in one cell of the line that was read last.
func (p *tableParser) at(field int, format string, args ...any) error {
	line, column := p.csv.FieldPos(field)
	return fmt.Errorf("line %d, column %d: %w", line, column, fmt.Errorf(format, args...))
}

// setter is what takes a cell of the named column; nil for a name that is not
// known.
func (p *tableParser) setter(name string) func(*tableRow, string) error {
	switch name {
	case "run":
		return func(r *tableRow, cell string) error { r.run = cell; return nil }
	case "class":
		return func(r *tableRow, cell string) error { r.class = cell; return nil }
	case "load_per_s", "offered_per_s", "concurrency":
		return func(r *tableRow, cell string) error {
			return number64(cell, math.SmallestNonzeroFloat64, &r.load)
		}
	case "n":
		return func(r *tableRow, cell string) error { return wholeNumber(cell, &r.n) }
	case "errors":
		return func(r *tableRow, cell string) error { return wholeNumber(cell, &r.errors) }
	case "sheds":
		return func(r *tableRow, cell string) error {
			return optional(cell, func() error { return wholeNumber(cell, &r.sheds) })
		}
	}
	if c, ok := numberColumns()[name]; ok {
		return func(r *tableRow, cell string) error {
			return optional(cell, func() error { return number64(cell, c.least, c.at(r)) })
		}
	}
	q, ok := parseQuantileColumn(name)
	if !ok {
		return nil
	}
	i := len(p.quantiles)
	p.quantiles = append(p.quantiles, q)
	return func(r *tableRow, cell string) error {
		return optional(cell, func() error { return number64(cell, 0, &r.ms[i]) })
	}
}

// optional leaves a value unknown where the cell says so.
func optional(cell string, set func() error) error {
	switch strings.ToLower(cell) {
	case "", "-", "na", "n/a", "nan", "null", "none":
		return nil
	}
	return set()
}

// number64 reads a finite number of at least least, which is 0 or just above.
func number64(cell string, least float64, to *float64) error {
	v, err := strconv.ParseFloat(cell, 64)
	switch {
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		return errors.New("is not a number")
	case v < least && least > 0:
		return errors.New("is not above 0")
	case v < least:
		return errors.New("is negative")
	}
	*to = v
	return nil
}

// wholeNumber reads a whole number; tools write 120.0 too.
func wholeNumber(cell string, to *int64) error {
	var v float64
	if err := number64(cell, 0, &v); err != nil {
		return err
	}
	if v != math.Trunc(v) || v > 1e15 {
		return errors.New("is not a whole number")
	}
	*to = int64(v)
	return nil
}

// parseQuantileColumn reads p99_ms, ttft_p50_ms, ttft_user_p99.9_ms.
func parseQuantileColumn(name string) (q quantileColumn, ok bool) {
	rest, ok := strings.CutSuffix(name, "_ms")
	if !ok {
		return q, false
	}
	at := strings.LastIndex("_"+rest, "_p")
	if at < 0 {
		return q, false
	}
	share, err := parseQuantile(rest[at:])
	if err != nil {
		return q, false
	}
	metric := strings.TrimSuffix(rest[:at], "_")
	switch metric {
	case "", "latency", "request_latency":
		metric = "e2e"
	case "ttft":
		metric = "ttft_user"
	}
	return quantileColumn{metric: metric, quantile: share}, true
}

// line takes one line of values.
func (p *tableParser) line(record []string) error {
	line, _ := p.csv.FieldPos(0)
	if len(p.rows) >= maxTableRows {
		return fmt.Errorf("line %d: more than %d lines", line, maxTableRows)
	}
	row := tableRow{line: line, order: -1, startS: -1, dwellS: -1, achievedPerS: -1, inFlightAtEnd: -1, clientInFlightMax: -1, tokensPerS: -1, sheds: -1}
	row.ms = slices.Repeat([]float64{-1}, len(p.quantiles))
	for i, cell := range record {
		if p.set[i] == nil {
			continue
		}
		cell = strings.TrimSpace(cell)
		if err := p.set[i](&row, cell); err != nil {
			return p.at(i, "%s %q %w", p.columns[i], short(cell), err)
		}
	}
	if err := p.consistent(&row); err != nil {
		return fmt.Errorf("line %d: %w", line, err)
	}
	p.rows = append(p.rows, row)
	return nil
}

// short is a cell as a message shows it.
func short(cell string) string {
	if len(cell) > 40 {
		return strings.ToValidUTF8(cell[:40], "") + "…"
	}
	return cell
}

// consistent checks the values of a line against each other.
func (p *tableParser) consistent(r *tableRow) error {
	switch {
	case r.n == 0:
		return errors.New("n is 0: a line without a request says nothing; leave it out")
	case r.errors > r.n:
		return fmt.Errorf("%d errors of %d requests", r.errors, r.n)
	case r.sheds > r.errors:
		return fmt.Errorf("%d sheds among %d errors: sheds are counted in errors too", r.sheds, r.errors)
	}
	for i, q := range p.quantiles {
		for k, other := range p.quantiles {
			if q.metric == other.metric && q.quantile < other.quantile && r.ms[k] >= 0 && r.ms[i] > r.ms[k] {
				return fmt.Errorf("quantiles out of order: %s %s ms is above %s %s ms", q, formatNumber(r.ms[i]), other, formatNumber(r.ms[k]))
			}
		}
	}
	return nil
}

// check looks for lines that say the same run twice, and names loads at which
// under half was answered.
func (p *tableParser) check() error {
	type key struct {
		load       float64
		run, class string
	}
	named := slices.Contains(p.columns, "run")
	seen := make(map[key]int, len(p.rows))
	for i := range p.rows {
		r := &p.rows[i]
		k := key{r.load, r.run, r.class}
		if first := seen[k]; named && first > 0 {
			return fmt.Errorf("read %q: %w: line %d repeats the load, run and class of line %d", p.Name, ErrTable, r.line, first)
		}
		seen[k] = r.line
		if 2*r.errors > r.n && len(p.quantiles) > 0 {
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s, line %d: %s %% failed: if its latencies are of all requests and not of the answered ones, fast refusals make them look good",
				p.Name, r.line, strconv.FormatFloat(100*float64(r.errors)/float64(r.n), 'f', 1, 64)))
		}
	}
	return nil
}

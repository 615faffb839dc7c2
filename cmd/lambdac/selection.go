package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// selection keeps the exchanges of a trace that meet every condition.
type selection []condition

// condition compares a column with a value.
type condition struct {
	column column
	op     string
	value  string
	number float64
}

// column is a column that can be selected by. A number or text of nil is
// unknown, which meets no condition.
type column struct {
	name   string
	text   func(*trace.Record) *string
	number func(*trace.Record) *float64
}

// columns are those whose meaning is the same in every trace.
var columns = []column{
	{name: "api_kind", text: func(r *trace.Record) *string { return new(string(r.APIKind)) }},
	{name: "path_template", text: func(r *trace.Record) *string { return &r.PathTemplate }},
	{name: "request_model", text: func(r *trace.Record) *string { return r.RequestModel }},
	{name: "tenant_id", text: func(r *trace.Record) *string { return r.TenantID }},
	{name: "outcome", text: func(r *trace.Record) *string { return new(string(r.Outcome)) }},
	{name: "stream", text: func(r *trace.Record) *string { return new(strconv.FormatBool(r.Stream)) }},
	{name: "status_code", number: func(r *trace.Record) *float64 { return float(r.StatusCode) }},
	{name: "input_tokens", number: func(r *trace.Record) *float64 { return float(r.InputTokens) }},
	{name: "output_tokens", number: func(r *trace.Record) *float64 { return float(r.OutputTokens) }},
}

func float[T int32 | int64](n *T) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

// operators are longest first: the first that begins a text is it.
var operators = []string{"<=", ">=", "!=", "=", "<", ">"}

// parseSelection reads "api_kind = 'openai.chat' and input_tokens < 4000"; ""
// keeps everything.
func parseSelection(text string) (selection, error) {
	var s selection
	rest := strings.TrimSpace(text)
	for rest != "" {
		var c condition
		var err error
		if c, rest, err = parseCondition(rest); err != nil {
			return nil, fmt.Errorf("selection %q: %w", text, err)
		}
		s = append(s, c)
		if rest == "" {
			break
		}
		word, after, _ := strings.Cut(rest, " ")
		if !strings.EqualFold(word, "and") || strings.TrimSpace(after) == "" {
			return nil, fmt.Errorf("selection %q: %q after a condition: want and, and another condition", text, word)
		}
		rest = strings.TrimSpace(after)
	}
	return s, nil
}

// parseCondition reads one condition and returns what comes after it.
func parseCondition(text string) (c condition, rest string, err error) {
	end := strings.IndexAny(text, " <>=!")
	if end < 0 {
		return c, "", errors.New("want COLUMN = 'VALUE'")
	}
	i := slices.IndexFunc(columns, func(k column) bool { return k.name == text[:end] })
	if i < 0 {
		return c, "", fmt.Errorf("unknown column %q: want one of %s", text[:end], columnNames())
	}
	c.column = columns[i]
	text = strings.TrimSpace(text[end:])
	i = slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(text, op) })
	if i < 0 {
		return c, "", fmt.Errorf("%s is compared with nothing: want one of %s", c.column.name, strings.Join(operators, " "))
	}
	c.op = operators[i]
	if c.value, rest, err = operand(strings.TrimSpace(text[len(c.op):])); err != nil {
		return c, "", err
	}
	return c, rest, c.check()
}

// operand reads a value, quoted or up to the next blank.
func operand(text string) (value, rest string, err error) {
	if quote, after, ok := cutQuote(text); ok {
		value, rest, ok = strings.Cut(after, quote)
		if !ok {
			return "", "", fmt.Errorf("%s opens a value that does not end", quote)
		}
		return value, strings.TrimSpace(rest), nil
	}
	value, rest, _ = strings.Cut(text, " ")
	if value == "" {
		return "", "", errors.New("a value is missing")
	}
	return value, strings.TrimSpace(rest), nil
}

func cutQuote(text string) (quote, rest string, ok bool) {
	for _, quote := range []string{"'", `"`} {
		if rest, ok := strings.CutPrefix(text, quote); ok {
			return quote, rest, true
		}
	}
	return "", text, false
}

func (c *condition) check() (err error) {
	switch {
	case c.column.number != nil:
		if c.number, err = strconv.ParseFloat(c.value, 64); err != nil {
			return fmt.Errorf("%s is compared with %q: want a number", c.column.name, c.value)
		}
	case c.op != "=" && c.op != "!=":
		return fmt.Errorf("%s is a word: compare it with = or !=", c.column.name)
	}
	return nil
}

// String is the selection as it is written.
func (s selection) String() string {
	parts := make([]string, len(s))
	for i, c := range s {
		parts[i] = fmt.Sprintf("%s %s '%s'", c.column.name, c.op, c.value)
	}
	return strings.Join(parts, " and ")
}

func columnNames() string {
	names := make([]string, len(columns))
	for i := range columns {
		names[i] = columns[i].name
	}
	return strings.Join(names, ", ")
}

// keep returns the records that meet every condition, in their order.
func (s selection) keep(records []*trace.Record) []*trace.Record {
	if len(s) == 0 {
		return records
	}
	return slices.DeleteFunc(slices.Clone(records), func(r *trace.Record) bool {
		return slices.ContainsFunc(s, func(c condition) bool { return !c.met(r) })
	})
}

func (c *condition) met(r *trace.Record) bool {
	if c.column.text != nil {
		v := c.column.text(r)
		return v != nil && (*v == c.value) == (c.op == "=")
	}
	v := c.column.number(r)
	if v == nil {
		return false
	}
	switch c.op {
	case "=":
		return *v == c.number
	case "!=":
		return *v != c.number
	case "<":
		return *v < c.number
	case "<=":
		return *v <= c.number
	case ">":
		return *v > c.number
	}
	return *v >= c.number
}

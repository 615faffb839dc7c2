package audit

import (
	"cmp"
	"slices"
)

// ReportSchema is the value of Report.Schema.
const ReportSchema = "lambdac.audit/v1"

// Report is what an audit found.
type Report struct {
	Schema string `json:"schema"`
	// Version is the version of the tool.
	Version string `json:"version"`
	// Clean: everything was read, and nothing found.
	Clean bool `json:"clean"`
	// Files, Texts and Bytes are what was read; Bytes are those of texts after
	// decoding.
	Files int   `json:"files"`
	Texts int64 `json:"texts"`
	Bytes int64 `json:"bytes"`
	// Rules are those of the table.
	Rules []string `json:"rules"`
	// Findings, sorted by file, place and rule; none = empty, never null.
	Findings []Finding `json:"findings"`
	Warnings []string  `json:"warnings"`
}

// Finding is one rule in one place, however often. It does not hold the value.
type Finding struct {
	// Rule is the row of the table, or "unreadable" for what could not be read.
	Rule string `json:"rule"`
	// File is the path below the directory; "*" stands for a part of it in
	// which something was found.
	File string `json:"file"`
	// Where is column, dictionary, bytes (of a Parquet file outside its pages),
	// member (of JSON), name (of a file), or text.
	Where string `json:"where"`
	// Column is the column, or the path of the member, such as
	// .run.target; "*" stands for a name in which something was found.
	Column string `json:"column,omitempty"`
	// Row is the first one, from 0: of the Parquet file, or the line of a text.
	Row *int64 `json:"row,omitempty"`
	// Count is how often, in values.
	Count int64 `json:"count"`
	// Why says what kept a file from being read.
	Why string `json:"why,omitempty"`
}

// place is what findings are gathered by.
type place struct{ rule, file, where, column string }

// gathering adds findings up.
type gathering struct {
	report *Report
	at     map[place]int
}

func (g *gathering) add(p place, row int64, why string) {
	i, seen := g.at[p]
	if !seen {
		i = len(g.report.Findings)
		g.at[p] = i
		f := Finding{Rule: p.rule, File: p.file, Where: p.where, Column: p.column, Why: why}
		if row >= 0 {
			f.Row = new(row)
		}
		g.report.Findings = append(g.report.Findings, f)
	}
	g.report.Findings[i].Count++
}

// finish sorts the findings.
func (g *gathering) finish() {
	r := g.report
	slices.SortFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule))
	})
	r.Clean = len(r.Findings) == 0
}

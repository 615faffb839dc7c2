package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/lambdac/lambdac/trace/tracedir"
)

// maxFile bounds a file that is read as a whole: anything but Parquet. A
// larger one is a finding.
const maxFile = 256 << 20

// Audit reads every file below dir. The error says that dir itself could not
// be read; what is wrong inside it is in the report.
func Audit(dir string) (*Report, error) {
	table, err := newTable()
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, errors.Join(fmt.Errorf("audit %q: it must be a directory", dir), err)
	}
	r := &Report{Schema: ReportSchema, Rules: table.names(), Findings: []Finding{}, Warnings: []string{}}
	a := &auditor{root: dir, table: table, report: r, found: gathering{report: r, at: make(map[place]int)}}
	if err := filepath.WalkDir(dir, a.entry); err != nil {
		return nil, fmt.Errorf("audit %q: %w", dir, err)
	}
	if r.Files == 0 {
		r.Warnings = append(r.Warnings, "the directory has no files")
	}
	a.found.finish()
	return r, nil
}

// auditor is one audit.
type auditor struct {
	root   string
	table  *table
	report *Report
	found  gathering
	file   string // below the root, as findings name it
}

// entry audits one file.
func (a *auditor) entry(path string, e fs.DirEntry, err error) error {
	if path == a.root {
		return err
	}
	name, relErr := filepath.Rel(a.root, path)
	if relErr != nil {
		return relErr
	}
	a.name(name)
	switch {
	case err != nil:
		a.unreadable("the folder cannot be listed")
		return fs.SkipDir
	case e.IsDir():
		return nil
	case !e.Type().IsRegular():
		a.report.Files++
		a.unreadable("it is no regular file")
		return nil
	}
	a.report.Files++
	a.content(path)
	return nil
}

// name audits the parts of a file's path, and takes it for the findings.
func (a *auditor) name(path string) {
	parts := strings.Split(path, string(filepath.Separator))
	last := len(parts) - 1
	var hits []int
	for i := range parts {
		if rules := a.table.find([]byte(parts[i])); len(rules) > 0 {
			if i == last {
				hits = rules
			}
			parts[i] = "*"
		}
	}
	a.file = strings.Join(parts, "/")
	for _, rule := range hits {
		a.found.add(place{a.table.rules[rule].name, a.file, "name", ""}, -1, "")
	}
}

func (a *auditor) unreadable(why string) {
	a.found.add(place{"unreadable", a.file, "text", ""}, -1, why)
}

// content audits what a file holds.
func (a *auditor) content(path string) {
	head, size, err := headOf(path)
	switch {
	case err != nil:
		a.unreadable("it cannot be opened")
		return
	case bytes.Equal(head, []byte("PAR1")), strings.HasSuffix(path, ".parquet") && size > 0:
		a.parquet(path)
		return
	case size > maxFile:
		a.unreadable(fmt.Sprintf("it has %d bytes, over the %d that are read", size, int64(maxFile)))
		return
	}
	data, err := os.ReadFile(path)
	switch {
	case err != nil:
		a.unreadable("it cannot be read")
	case strings.HasSuffix(path, ".json"):
		a.json(data)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		a.unreadable("it is neither Parquet nor JSON nor text")
		a.text(place{file: a.file, where: "bytes"}, -1, data)
	default:
		a.lines(data)
	}
}

// headOf reads a file's first four bytes.
func headOf(path string) (head []byte, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	head = make([]byte, 4)
	n, _ := f.ReadAt(head, 0) // a short file has a short head
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, 0, err
	}
	return head[:n], info.Size(), nil
}

// parquet audits a part.
func (a *auditor) parquet(path string) {
	_, err := tracedir.VisitTexts(path, func(at tracedir.TextPlace, text []byte) {
		a.text(place{file: a.file, where: at.Where, column: at.Column}, at.Row, text)
	})
	if err != nil {
		a.unreadable("its Parquet structure is damaged, unfinished or not supported")
	}
}

// lines audits text line by line.
func (a *auditor) lines(data []byte) {
	at := place{file: a.file, where: "text"}
	line := int64(0)
	seen := make([]bool, len(a.table.rules))
	for row := range bytes.Lines(data) {
		for _, rule := range a.text(at, line, row) {
			seen[rule] = true
		}
		line++
	}
	for _, rule := range a.table.find(data) { // what spans lines, such as PEM
		if !seen[rule] {
			at.rule = a.table.rules[rule].name
			a.found.add(at, -1, "")
		}
	}
}

// text audits one text and returns the rules that found something.
func (a *auditor) text(at place, row int64, text []byte) (rules []int) {
	a.report.Texts++
	a.report.Bytes += int64(len(text))
	rules = a.table.find(text)
	for _, rule := range rules {
		at.rule = a.table.rules[rule].name
		a.found.add(at, row, "")
	}
	return rules
}

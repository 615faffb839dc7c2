package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/analyzer/report"
)

// tableHint says how a table of another tool has to look.
const tableHint = "a header line with load_per_s (or concurrency), n and errors, then one line per run; lambdac analyze --help names all columns"

// readTable reads a CSV file; "-" is stdin.
func readTable(path string, stdin io.Reader) (*analyzer.Table, error) {
	if path == "-" {
		return tableError(analyzer.ReadTable(stdin, "stdin"))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	defer f.Close()
	return tableError(analyzer.ReadTable(f, path))
}

func tableError(t *analyzer.Table, err error) (*analyzer.Table, error) {
	if errors.Is(err, analyzer.ErrTable) {
		return nil, &exitError{exitUsage, err, tableHint}
	}
	return t, err
}

// analyzeTable analyzes the results of another tool. out is the folder to write
// analysis.json and report.html to; none where it is empty.
func analyzeTable(path, out string, stdin io.Reader, o analyzer.Options) (*analyzer.Analysis, error) {
	t, err := readTable(path, stdin)
	if err != nil {
		return nil, err
	}
	a, err := analyzer.AnalyzeTable(t, o)
	if err != nil || out == "" {
		return a, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return a, fmt.Errorf("make folder: %w", err)
	}
	return a, writeAnalysis(out, a)
}

// writeAnalysis writes analysis.json and report.html into a folder.
func writeAnalysis(dir string, a *analyzer.Analysis) error {
	return errors.Join(
		writeFile(filepath.Join(dir, "analysis.json"), func(w io.Writer) error { return printJSON(w, a) }),
		writeFile(filepath.Join(dir, "report.html"), func(w io.Writer) error { return report.HTML(w, a) }),
	)
}

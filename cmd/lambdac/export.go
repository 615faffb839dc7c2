package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/datasets"
	"github.com/lambdac/lambdac/sanitizer/audit"
	"github.com/lambdac/lambdac/trace/tracedir"
)

func newExport() *cobra.Command {
	var cfg datasets.ExportConfig
	var out string
	var force, asJSON bool
	c := &cobra.Command{
		Use:   "export DIR --format NAME -o FILE",
		Short: "Write a trace for other tools",
		Long: `Write a trace in a format of other tools:
  azure     CSV of the Azure LLM inference traces of 2023: arrivals and lengths
  mooncake  Mooncake's JSON lines as AIPerf extends them: sessions, prefix blocks
  otel      spans of the OpenTelemetry GenAI conventions, OTLP JSON, no content
  payload   AIPerf's JSON lines with the request bodies (kept by --mode filler or redact)
  vegeta    Vegeta's JSON targets with these bodies, for --target

What a format cannot say is left out, and counted. Arrivals are rounded one by
one, never gap by gap. What was written is audited before it gets its name, as
by lambdac sanitize --audit: with a finding nothing stays, and the exit code is 1.`,
		Example: `  lambdac export traces/tuesday --format mooncake -o tuesday.jsonl
  lambdac export traces/tuesday --format azure --scale 2 -o twice.csv`,
		Args: oneArg("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg.Version = version
			return exportTrace(c, args[0], out, cfg, force, asJSON)
		},
	}
	f := c.Flags()
	f.StringVar(&cfg.Format, "format", "", "format to write: "+strings.Join(datasets.ExportFormats(), ", "))
	f.StringVarP(&out, "out", "o", "", "file to write")
	f.Float64Var(&cfg.Scale, "scale", 1, "factor on the rate: times are divided by it")
	f.DurationVar(&cfg.Resolution, "resolution", 0, "round arrivals to this, such as 1ms (default: the format's finest)")
	f.IntVar(&cfg.BlockTokens, "block-tokens", 512, "tokens of a prefix block (mooncake); AIPerf's --isl-block-size")
	f.StringVar(&cfg.Target, "target", "", "where vegeta sends the requests, such as http://staging:8000")
	f.BoolVar(&force, "force", false, "replace an existing file")
	f.BoolVar(&asJSON, "json", false, "print the report as JSON")
	return c
}

func exportTrace(c *cobra.Command, path, out string, cfg datasets.ExportConfig, force, asJSON bool) error {
	if cfg.Format == "" || out == "" {
		return usage("see lambdac export --help", "--format and -o are needed")
	}
	if known := datasets.ExportFormats(); !slices.Contains(known, cfg.Format) {
		return usage("known are "+strings.Join(known, ", "), "--format %q is not known", cfg.Format)
	}
	if _, err := os.Lstat(out); err == nil && !force {
		return fmt.Errorf("write %q: %w", out, fs.ErrExist)
	}
	dir, err := tracedir.Open(path)
	if err != nil {
		return err
	}
	u := newUI(c)
	var report datasets.ExportReport
	err = auditedFile(c, out, func(w io.Writer, plain bool) (err error) {
		cfg.Plain = plain
		report, err = datasets.Export(c.Context(), dir, cfg, w)
		return err
	})
	if errors.Is(err, datasets.ErrExport) {
		return usage("see lambdac export --help for what each format needs", "%w", err)
	}
	if err != nil {
		return err
	}
	for _, warning := range report.Warnings {
		u.warn("%s", warning)
	}
	if asJSON {
		return printJSON(c.OutOrStdout(), report)
	}
	left := ""
	if len(report.LeftOut) > 0 {
		left = ", left out: " + counts(report.LeftOut)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %d rows%s; the audit found nothing\n", out, report.Rows, left)
	return err
}

// auditedFile writes a file that leaves this host. First it is written into a
// folder of its own beside it, with nothing encoded (plain), and audited; where
// that finds nothing, as it is to be, and then it gets its name.
func auditedFile(c *cobra.Command, path string, write func(w io.Writer, plain bool) error) (err error) {
	aside, err := os.MkdirTemp(filepath.Dir(path), ".lambdac-export-")
	if err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(aside)) }()
	if err := writeFile(filepath.Join(aside, "export"), func(w io.Writer) error { return write(w, true) }); err != nil {
		return err
	}
	found, err := audit.Audit(aside)
	if err != nil {
		return err
	}
	if !found.Clean {
		err := printAudit(c.ErrOrStderr(), found)
		return errors.Join(err, &exitError{exitMissed, errors.New("the audit has findings: nothing was exported"), "sanitize the trace again, to a stricter mode or by a policy that covers them"})
	}
	return writeFile(path, func(w io.Writer) error { return write(w, false) })
}

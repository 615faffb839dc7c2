package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/datasets"
)

func newImport() *cobra.Command {
	var cfg datasets.Config
	var asJSON bool
	c := &cobra.Command{
		Use:   "import FILE --format NAME -o DIR",
		Short: "Turn a public trace, spans or logs into ours",
		Long: `Import a trace of LLM traffic: a public one, or spans and logs of your own. What
the source does not say stays NULL, its texts are not read, and names of
sessions and users become pseudonyms. Rows that cannot be used are named with
file and line, and the others kept. Files may be gzip.
Formats: ` + strings.Join(datasets.Formats(), ", "),
		Example: "  lambdac import AzureLLMInferenceTrace_conv.csv --format azure2023 -o traces/azure",
		Args:    oneArg("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg.Path, cfg.Version = args[0], version
			return importTrace(c, cfg, asJSON)
		},
	}
	f := c.Flags()
	f.StringVar(&cfg.Format, "format", "", "format of the source: "+strings.Join(datasets.Formats(), ", "))
	f.StringVarP(&cfg.Out, "out", "o", "", "trace directory to make")
	f.StringVar(&cfg.TimeUnit, "time-unit", "", "unit of the source's times: ns, us, ms, s (default: the format's own)")
	f.Float64Var(&cfg.PerS, "rate", 0, "arrivals per second, evenly spaced, of a format without times (vegeta)")
	f.StringVar(&cfg.Tokenizer, "tokenizer", "", "vocabulary in which the source counts, such as cl100k_base; for vegeta, the one to count with")
	f.BoolVar(&cfg.Strict, "strict", false, "stop at the first row that cannot be used")
	f.BoolVar(&cfg.Force, "force", false, "replace an existing trace directory")
	f.BoolVar(&asJSON, "json", false, "print the report as JSON")
	return c
}

func importTrace(c *cobra.Command, cfg datasets.Config, asJSON bool) error {
	if cfg.Format == "" || cfg.Out == "" {
		return usage("see lambdac import --help", "--format and -o are needed")
	}
	if known := datasets.Formats(); !slices.Contains(known, cfg.Format) {
		return usage("known are "+strings.Join(known, ", "), "--format %q is not known", cfg.Format)
	}
	u := newUI(c)
	report, err := datasets.Import(c.Context(), cfg)
	for i := range report.Errors {
		u.say("%v", &report.Errors[i])
	}
	if more := report.Refused - int64(len(report.Errors)); more > 0 {
		u.say("and %d more", more)
	}
	if errors.Is(err, datasets.ErrFormat) {
		return &exitError{exitUsage, err, "check --format and its flags; known are " + strings.Join(datasets.Formats(), ", ")}
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
	rate := ""
	if report.RatePerS != nil {
		rate = fmt.Sprintf(", %.4g/s over %.4g s", *report.RatePerS, float64(report.SpanNs)/1e9)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %d rows, %d refused%s\n", cfg.Out, report.Rows, report.Refused, rate)
	return err
}

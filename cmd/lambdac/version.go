package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/trace"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  lambdac version",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(c.OutOrStdout(), versionLine())
			return err
		},
	}
}

// versionLine is what version and --version print.
func versionLine() string {
	return fmt.Sprintf("lambdac %s (%s %s/%s, schema v%d)\n",
		version, runtime.Version(), runtime.GOOS, runtime.GOARCH, trace.SchemaVersion)
}

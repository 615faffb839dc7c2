package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The help of a command with many flags lists each below a heading, and none
// with an empty default.
func TestHelpSections(t *testing.T) {
	root := newRoot()
	for _, c := range root.Commands() {
		if usage := c.UsageString(); strings.Contains(usage, "(default )") || strings.Contains(usage, "(default [])") {
			t.Errorf("%s: the help shows an empty default:\n%s", c.Name(), usage)
		}
	}
	for _, name := range []string{"record", "replay"} {
		c, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && len(f.Annotations[sectionKey]) == 0 {
				t.Errorf("%s: --%s stands in no section of the help", name, f.Name)
			}
		})
		checkListed(t, c)
	}
}

// checkListed fails where a flag is missing from the usage.
func checkListed(t *testing.T, c *cobra.Command) {
	t.Helper()
	usage := c.UsageString()
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !strings.Contains(usage, "--"+f.Name) {
			t.Errorf("%s: the help does not list --%s", c.Name(), f.Name)
		}
	})
}

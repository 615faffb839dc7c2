package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// sectionKey is where a flag's annotations hold the heading below which the
// help lists it.
const sectionKey = "lambdac_section"

// section adds the flags that bind adds to set, below a heading of their own in
// the help.
func section(set *pflag.FlagSet, heading string, bind func(*pflag.FlagSet)) {
	part := pflag.NewFlagSet(heading, pflag.ContinueOnError)
	bind(part)
	part.VisitAll(func(f *pflag.Flag) {
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[sectionKey] = []string{heading}
	})
	part.SortFlags = false
	set.SortFlags = false
	set.AddFlagSet(part)
}

// flagSections is the list of a command's own flags: each section, then those
// without one.
func flagSections(set *pflag.FlagSet) string {
	const rest = "Flags"
	var order []string
	parts := map[string]*pflag.FlagSet{}
	set.VisitAll(func(f *pflag.Flag) {
		heading := rest
		if named := f.Annotations[sectionKey]; len(named) > 0 {
			heading = named[0]
		}
		part := parts[heading]
		if part == nil {
			part = pflag.NewFlagSet(heading, pflag.ContinueOnError)
			part.SortFlags = set.SortFlags
			parts[heading] = part
			if heading != rest {
				order = append(order, heading)
			}
		}
		hideEmptyDefault(f)
		part.AddFlag(f)
	})
	var b strings.Builder
	for _, heading := range append(order, rest) {
		if parts[heading] != nil {
			b.WriteString("\n" + heading + ":\n" + parts[heading].FlagUsages())
		}
	}
	return strings.TrimRight(strings.TrimPrefix(b.String(), "\n"), " \n")
}

// hideEmptyDefault keeps "(default [])" out of the help: the library hides it of
// some kinds of lists, and of others where there is no default at all.
func hideEmptyDefault(f *pflag.Flag) {
	if f.DefValue == "[]" && f.Value.Type() == "float64Slice" {
		f.DefValue = ""
	}
}

// useSections makes the help of all commands list flags by section.
func useSections(root *cobra.Command) {
	cobra.AddTemplateFunc("flagSections", flagSections)
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(),
		"Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}", "{{flagSections .LocalFlags}}", 1))
}

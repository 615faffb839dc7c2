package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/lambdac/lambdac/analyzer"
)

// ChecksText writes the limits of an experiment for a terminal.
func ChecksText(w io.Writer, checks []analyzer.Check) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, c := range checks {
		fmt.Fprintf(t, "%s\t%s\t%s\n", c.Verdict, c.Name, c.Detail)
	}
	_ = t.Flush() // a strings.Builder does not fail
	return writeAll(w, b.String())
}

// ChecksMarkdown writes an experiment's result as a comment on a pull request:
// what was found, and the limits.
func ChecksMarkdown(w io.Writer, name string, a *analyzer.Analysis, checks []analyzer.Check) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### lambdac run %s: %s\n\n", cell(name), cell(headline(a)))
	if len(checks) > 0 {
		fmt.Fprint(&b, "| limit | verdict | measured |\n|---|---|---|\n")
	}
	for _, c := range checks {
		fmt.Fprintf(&b, "| %s | **%s** | %s |\n", cell(c.Name), c.Verdict, cell(c.Detail))
	}
	if line := control(a); line != "" {
		fmt.Fprintf(&b, "\ncontrol arm: %s\n", cell(line))
	}
	fmt.Fprintf(&b, "\nrun %s", a.Validity.Verdict)
	for _, reason := range a.Validity.Reasons {
		fmt.Fprintf(&b, "; %s", cell(reason))
	}
	fmt.Fprintln(&b)
	return writeAll(w, b.String())
}

// ChecksJUnit writes the limits as JUnit XML: one that is missed is a failure,
// one that cannot be judged an error, and so is a run that is not valid.
func ChecksJUnit(w io.Writer, a *analyzer.Analysis, checks []analyzer.Check) error {
	suite := junitSuite{Name: "lambdac run", class: "lambdac.run"}
	valid := junitCase{Name: "the run is valid"}
	if len(a.Validity.Reasons) > 0 {
		valid.Error = &junitMessage{strings.Join(a.Validity.Reasons, "; ")}
	}
	suite.add(valid)
	for _, c := range checks {
		one := junitCase{Name: c.Name, Out: c.Detail}
		switch c.Verdict {
		case analyzer.CheckMissed:
			one.Failure = &junitMessage{c.Detail}
		case analyzer.CheckUndecided:
			one.Error = &junitMessage{c.Detail}
		}
		suite.add(one)
	}
	return suite.write(w)
}

package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/lambdac/lambdac/analyzer"
)

// junitSuite is the root of a JUnit XML report, as Jenkins and GitLab read it
// (github.com/testmoapp/junitxml).
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
	class    string
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitMessage `xml:"failure"`
	Error   *junitMessage `xml:"error"`
	Skipped *junitMessage `xml:"skipped"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
}

// CompareJUnit writes a comparison as JUnit XML: one case per metric and one
// for the whole. Worse is a failure; what must be proven and is not, an error;
// any other metric without proof is skipped.
func CompareJUnit(w io.Writer, c *analyzer.Comparison) error {
	suite := junitSuite{Name: "lambdac compare", class: "lambdac.compare"}
	for i := range c.Metrics {
		suite.add(metricCase(&c.Metrics[i]))
	}
	whole := junitCase{Name: "verdict"}
	switch message := (&junitMessage{strings.Join(c.Reasons, "; ")}); c.Verdict {
	case analyzer.Regression:
		whole.Failure = message
	case analyzer.Undecided:
		whole.Error = message
	}
	suite.add(whole)
	return suite.write(w)
}

func (s *junitSuite) write(w io.Writer) error {
	out, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("make junit: %w", err)
	}
	return writeAll(w, xml.Header+string(out)+"\n")
}

func metricCase(m *analyzer.MetricVerdict) junitCase {
	c := junitCase{Name: m.Metric, Out: fmt.Sprintf("baseline %s, candidate %s, change %s (95 %% %s), n %d: %s",
		metricValue(m, m.Baseline), metricValue(m, m.Candidate), changePoint(m.Effect), changeInterval(m.Effect), m.N, metricVerdict(m))}
	switch {
	case m.Verdict == analyzer.Worse:
		c.Failure = &junitMessage{"worse: " + changePoint(m.Effect)}
	case m.Primary && !m.NoRegression:
		c.Error = &junitMessage{"no regression is not proven: needs " + m.Missing}
	case m.Verdict == analyzer.Unclear && !m.NoRegression:
		c.Skipped = &junitMessage{"not enough evidence: needs " + m.Missing}
	}
	return c
}

func (s *junitSuite) add(c junitCase) {
	c.Class = s.class
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

package report

import (
	"fmt"
	"strings"

	"github.com/lambdac/lambdac/analyzer"
)

// control relates the run to its control arm; empty where there is none.
func control(a *analyzer.Analysis) string {
	c := a.Control
	if c == nil {
		return ""
	}
	text := fmt.Sprintf("λc of the recorded trace %s, of the synthetic one %s: ", estimate(&a.LambdaC), estimate(&c.LambdaC))
	ends := ""
	if c.Low != nil || c.High != nil {
		ends = fmt.Sprintf(" %s (95 %% %s)", rate(c.Difference), interval(c.Low, c.High, rate))
	}
	switch c.Verdict {
	case analyzer.Found:
		return text + "they differ by" + ends + ", which is due to the content and order of the recorded traffic"
	case analyzer.NotFound:
		return text + "no difference is shown," + ends
	}
	return text + "insufficient: " + c.Reason
}

func estimate(c *analyzer.LambdaC) string {
	if c.Verdict != analyzer.Found {
		return strings.ReplaceAll(string(c.Verdict), "_", " ")
	}
	return fmt.Sprintf("%s (%s %s)", rate(c.Point), confidence(c.Confidence), interval(c.Low, c.High, rate))
}

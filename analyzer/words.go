package analyzer

import (
	"fmt"
	"strings"
)

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// countAre is a number with its noun and what follows.
func countAre(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return fmt.Sprintf("%d %ss are", n, noun)
}

// listLoads lists loads: 10, 20 and 30.
func listLoads(loads []float64) string {
	var parts []string
	for _, x := range loads {
		parts = append(parts, fmt.Sprintf("%.4g", x))
	}
	last := len(parts) - 1
	if last < 1 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

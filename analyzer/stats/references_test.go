package stats

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The table of known answers in the docs names the tests that hold them.
func TestReferencesAreTested(t *testing.T) {
	doc, err := os.ReadFile("../../docs/calibration.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`(?m)^\| (T\d+) \|.*\| ([^|]+) \|$`).FindAllStringSubmatch(string(doc), -1)
	if len(listed) == 0 {
		t.Fatal("no table")
	}
	for _, row := range listed {
		word := regexp.MustCompile(`\b` + row[1] + `\b`)
		for path := range strings.SplitSeq(row[2], ", ") {
			source, err := os.ReadFile("../../" + path)
			if err != nil {
				t.Errorf("%s: %v", row[1], err)
			} else if !word.Match(source) {
				t.Errorf("%s does not name %s", path, row[1])
			}
		}
	}
}

package audit

import (
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/sanitizer/detect"
)

// TestCalibrateAgainstDetectors takes the detectors' findings out of ordinary
// text and counts what the audit finds in the rest: each such text would be
// kept by the redact mode and stopped at the gate. Folders beside Go's sources
// come from LAMBDAC_CORPUS.
func TestCalibrateAgainstDetectors(t *testing.T) {
	testenv.Calibration(t)
	scanner, err := detect.New(detect.Config{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := newTable()
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range append([]string{filepath.Join(build.Default.GOROOT, "src")}, strings.Fields(os.Getenv("LAMBDAC_CORPUS"))...) {
		size, left := 0, 0
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || size > 4e6 || !slices.Contains([]string{".go", ".py", ".txt", ".md", ".html"}, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			size += len(text)
			for _, f := range slices.Backward(scanner.Find(nil, text)) {
				text = slices.Replace(text, f.Start, f.End, []byte("lorem ipsum")...)
			}
			for line := range strings.Lines(string(text)) {
				for _, rule := range table.find([]byte(line)) {
					left++
					t.Logf("%s in %.120q", table.rules[rule].name, line)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s: %.1f MB, %d lines of which only the audit finds something\n", root, float64(size)/1e6, left)
	}
}

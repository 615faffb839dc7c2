package report

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	nethtml "golang.org/x/net/html"

	"github.com/lambdac/lambdac/analyzer"
)

var update = flag.Bool("update", false, "write the golden reports anew")

// TestGolden holds each form of the report to a file in testdata; after a wanted
// change, go test ./analyzer/report -update writes them, to be read as a diff.
func TestGolden(t *testing.T) {
	a := wholeRun()
	checks := analyzer.Checks(a, []analyzer.Floor{{Metric: "lambda_c", MinPerS: 20}})
	forms := map[string]func(io.Writer) error{
		"report.txt":  func(w io.Writer) error { return Text(w, a) },
		"report.html": func(w io.Writer) error { return HTML(w, a) },
		"report.md":   func(w io.Writer) error { return ChecksMarkdown(w, "chat", a, checks) },
		"report.json": func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(a)
		},
	}
	for _, c := range Charts(a) {
		forms[c.Name+".svg"] = c.SVG
	}
	for name, write := range forms {
		var got strings.Builder
		if err := write(&got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s is another (-want +got); -update writes it anew:\n%.2000s", name, diff)
		}
	}
}

// TestWellFormed: every element that is opened is closed in its place, nothing
// runs, and nothing is fetched.
func TestWellFormed(t *testing.T) {
	a := wholeRun()
	a.Warnings = []string{`"><img src=http://example.com/x.png>`}
	z := nethtml.NewTokenizer(strings.NewReader(html(t, a)))
	alone := map[string]bool{"meta": true, "br": true}
	var open []string
	for {
		kind := z.Next()
		token := z.Token()
		switch kind {
		case nethtml.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) || len(open) > 0 {
				t.Errorf("ends with %q open: %v", open, z.Err())
			}
			return
		case nethtml.StartTagToken:
			if !alone[token.Data] {
				open = append(open, token.Data)
			}
		case nethtml.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != token.Data {
				t.Fatalf("</%s> where %q are open", token.Data, open)
			}
			open = open[:len(open)-1]
		}
		switch token.Data {
		case "script", "img", "link", "iframe", "object", "embed", "image", "use", "a":
			if kind != nethtml.TextToken {
				t.Errorf("the page has <%s>", token.Data)
			}
		}
		for _, attribute := range token.Attr {
			if k := attribute.Key; strings.HasPrefix(k, "on") || k == "src" || k == "href" || strings.Contains(attribute.Val, "url(") {
				t.Errorf("<%s %s=%q>", token.Data, k, attribute.Val)
			}
		}
	}
}

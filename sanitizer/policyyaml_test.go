package sanitizer

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/jsonschema"
	"github.com/lambdac/lambdac/internal/yamlfile"
)

var _ = flag.Bool("update", false, "write the published schema")

// parsePolicy is [ReadPolicy] of a text.
func parsePolicy(file string, text []byte) (Policy, error) {
	var p Policy
	f, err := yamlfile.Decode(file, text, &p)
	if err != nil {
		return Policy{}, err
	}
	return p.from(f)
}

// What is printed is what is read.
func TestPolicyYAMLRoundTrip(t *testing.T) {
	for _, name := range BuiltinPolicies() {
		p, ok := BuiltinPolicy(name)
		if !ok || p.Name != name {
			t.Fatalf("policy %q is called %q", name, p.Name)
		}
		got, err := parsePolicy(name, []byte(p.YAML()))
		if err != nil {
			t.Fatal(err)
		}
		want, err := p.Hash()
		if err != nil {
			t.Fatal(err)
		}
		if hash, err := got.Hash(); err != nil || hash != want {
			t.Errorf("%s: read back as another policy (%v): %s", name, err, cmp.Diff(p.sorted(), got))
		}
	}
}

const header = "schema: lambdac.policy/v1\nname: ours\n"

func TestPolicyExtends(t *testing.T) {
	p, err := parsePolicy("ours.yaml", []byte(header+`extends: default
headers: {x-tier: flag, retry-after: integer}
query: {limit: integer}
path_words: [special]
models: [acme-chat]
body:
  keep: {priority: integer}
tenant:
  - {place: body, name: metadata.team}
`))
	if err != nil {
		t.Fatal(err)
	}
	base := DefaultPolicy()
	if p.Headers["x-tier"] != GrammarFlag || p.Headers["retry-after"] != GrammarInteger || p.Headers["accept"] != GrammarMediaList {
		t.Errorf("headers %v", p.Headers)
	}
	if p.Body.Keep["priority"] != GrammarInteger || len(p.Body.Keep) != len(base.Body.Keep)+1 {
		t.Errorf("body.keep %v", p.Body.Keep)
	}
	if p.Tenant[0] != (Source{PlaceBody, "metadata.team"}) || len(p.Tenant) != len(base.Tenant)+1 {
		t.Errorf("tenant %v", p.Tenant)
	}
	if len(p.PathWords) != len(base.PathWords)+1 || p.Models[0] != "acme-chat" || p.Query["limit"] != GrammarInteger {
		t.Errorf("path words %d, models %v, query %v", len(p.PathWords), p.Models, p.Query)
	}
	if strings.Contains(DefaultPolicy().YAML(), "x-tier") {
		t.Error("the default policy was changed")
	}
}

// Every mistake is told with file, line, column and what to try.
func TestPolicyMistakes(t *testing.T) {
	for _, tc := range []struct {
		name, yaml  string
		line, col   int
		problem, to string
	}{
		{"unknown rule", header + "headerz: {}\n", 3, 1, `unknown field "headerz"`, ""},
		{"unknown rule in body", header + "body:\n  texts: []\n", 4, 3, `unknown field "texts"`, ""},
		{"rule twice", header + "words: [a]\nwords: [b]\n", 4, 1, "already defined", ""},
		{"no YAML", header + "words: [a\n", 3, 8, "", ""},
		{"wrong type", header + "words: {a: b}\n", 3, 8, "", ""},
		{"anchor", header + "words: &w [a]\nmodels: *w\n", 3, 8, "anchors and aliases are not read", "write the value out"},
		{"bomb", header + "words: [&a x, *a, *a]\n", 3, 9, "anchors and aliases are not read", "write the value out"},
		{"two documents", header + "---\nname: b\n", 4, 1, "a second document", "want one"},
		{"nothing", "", 1, 1, "schema", "write schema: lambdac.policy/v1"},
		{"no schema", "name: a\n", 1, 1, "schema", "write schema: lambdac.policy/v1"},
		{"other schema", "schema: lambdac.policy/v9\nname: a\n", 1, 1, `"lambdac.policy/v9" is not known`, "write schema: lambdac.policy/v1"},
		{"no name", "schema: lambdac.policy/v1\n", 1, 1, "no name", "write name:"},
		{"unknown base", header + "extends: lax\n", 3, 1, `no policy is called "lax"`, "use one of default, strict"},
		{"unknown grammar", header + "headers:\n  x-a: regexp\n", 4, 3, `unknown grammar "regexp"`, "use one of beta, coding"},
		{"regular expression as a header", header + "headers:\n  accept: media\n  x-.*: word\n", 5, 3, `"x-.*" is not a lower-case field name`, "names are literal"},
		{"regular expression as a word", header + "words:\n  - stop\n  - \"^len(gth)?$\"\n", 5, 5, `"^len(gth)?$" looks like a pattern`, "give each one for itself"},
		{"a path as a segment", header + "path_words: [ask, v1/ask]\n", 3, 19, `"v1/ask" has no effect`, "give each segment for itself"},
		{"regular expression as a model", header + "models: [gpt-4o, 'gpt-[0-9]+']\n", 3, 18, "looks like a pattern", "give each one for itself"},
		{"regular expression as a parameter", header + "query: {'a|b': flag}\n", 3, 9, "looks like a pattern", "give each one for itself"},
		{"regular expression as a place", header + "body:\n  text: ['messages[0-9].content']\n", 4, 10, "more than names", "[] for the elements"},
		{"empty place", header + "body: {drop: ['a..b']}\n", 3, 15, "empty name", "names with dots"},
		{"upper case", header + "link_headers: [X-A]\n", 3, 16, `"X-A" is not a lower-case`, "literal"},
		{"two treatments of a header", header + "link_headers: [b3]\nheaders: {b3: number}\n", 4, 11, "both in headers and in link_headers", "take it out of one"},
		{"a dropped header kept", header + "extends: default\nheaders: {x-portkey-config: name}\n", 4, 11, `in drop_headers too, by "x-portkey-*"`, "take it out of one"},
		{"a dropped parameter kept", header + "drop_query: [sig]\nquery: {sig: flag}\n", 4, 9, "in drop_query too", "take it out of one"},
		{"two treatments of a place", header + "body:\n  drop: ['tools[].headers']\n  text: ['tools[].headers']\n", 5, 10, `body.drop "tools[].headers" covers it`, "take one of them out"},
		{"a place covered", header + "extends: default\nbody: {keep: {'metadata.api_key': name}}\n", 4, 15, `body.drop "**.*apikey*" covers it`, "take one of them out"},
		{"two words in one", header + "name_parts: [max_tokens]\n", 3, 14, "not one word", "in lower case"},
		{"unknown place", header + "tenant:\n  - {place: cookie, name: a}\n", 4, 6, `unknown place "cookie"`, "header, query or body"},
		{"source without a name", header + "session:\n  - {place: body}\n", 4, 5, "has no name", "add name"},
	} {
		_, err := parsePolicy("ours.yaml", []byte(tc.yaml))
		wrong, ok := errors.AsType[*yamlfile.Error](err)
		if !ok {
			t.Errorf("%s: %v, want a fault with its place", tc.name, err)
			continue
		}
		if wrong.File != "ours.yaml" || wrong.Line != tc.line || wrong.Column != tc.col {
			t.Errorf("%s: at %s:%d:%d, want %d:%d (%v)", tc.name, wrong.File, wrong.Line, wrong.Column, tc.line, tc.col, err)
		}
		if !strings.Contains(err.Error(), tc.problem) || !strings.Contains(err.Error(), tc.to) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q, want one line with %q and %q", tc.name, err, tc.problem, tc.to)
		}
	}
}

// The policy that the documentation shows can be used.
func TestDocumentedPolicy(t *testing.T) {
	page, err := os.ReadFile("../docs/sanitizer.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	p, err := parsePolicy("docs/sanitizer.md", []byte(text))
	if err != nil || !found {
		t.Fatalf("found %v: %v", found, err)
	}
	if !newVocabulary(p).plainModel("acme-llama-70b") {
		t.Error("its model parts are not followed")
	}
}

func TestReadPolicy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ours.yaml")
	if _, err := ReadPolicy(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for text, want := range map[string]string{
		header: "", header + "extends: default\n": "",
		header + "words: ['a|b']\n":       "line 3, column 9: check policy: words[0]",
		string(make([]byte, maxPolicy+1)): "larger than 1048576 bytes",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPolicy(path); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

func TestPolicySchema(t *testing.T) {
	jsonschema.PublishedInput(t, "../docs/schema/policy.v1.json", PolicySchema, Policy{}, ".")
}

// FuzzParsePolicy: any text gives a policy that can be used, or a fault with its
// place.
func FuzzParsePolicy(f *testing.F) {
	f.Add(header + "extends: strict\n")
	f.Add(header + "body: {keep: {'a[].b': word}, drop: ['**.c*']}\n")
	f.Add("a: &a [*a]\n")
	f.Add("? [x\n: {")
	f.Add("schema: !!binary x\n---\n")
	f.Add(header + "drop_headers: ! ")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePolicy("f", []byte(text))
		if err != nil {
			if _, ok := errors.AsType[*yamlfile.Error](err); !ok {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		again, err := parsePolicy("f", []byte(p.YAML()))
		if err != nil {
			t.Fatalf("what was printed cannot be read: %v\n%s", err, p.YAML())
		}
		before, _ := p.Hash()
		if after, _ := again.Hash(); before != after {
			t.Errorf("printed and read back as another policy:\n%s", p.YAML())
		}
	})
}

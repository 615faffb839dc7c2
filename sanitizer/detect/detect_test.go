package detect

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// row is a text with what is to be found in it, as "rule=text".
type row struct {
	name string
	text string
	want []string
}

func scanner(t testing.TB, cfg Config) *Scanner {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// check runs rows.
func check(t *testing.T, rows []row) {
	t.Helper()
	s := scanner(t, Config{})
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range s.Find(nil, []byte(tt.text)) {
				got = append(got, f.Rule+"="+tt.text[f.Start:f.End])
			}
			if len(got) != len(tt.want) {
				t.Fatalf("in %q: found %q, want %q", tt.text, got, tt.want)
			}
			for i := range got {
				if got[i] != tt.want[i] {
					t.Errorf("in %q: found %q, want %q", tt.text, got, tt.want)
				}
			}
		})
	}
}

func only(found ...string) []string { return found }

func TestTerms(t *testing.T) {
	s := scanner(t, Config{Terms: []string{"Blue Heron", "unit4711", "9"}})
	text := "the BLUE heron of Unit4711 and unit4712 and bluehero; no 9"
	var got []string
	for _, f := range s.Find(nil, []byte(text)) {
		got = append(got, text[f.Start:f.End])
	}
	if d := cmp.Diff([]string{"BLUE heron", "Unit4711", "9"}, got); d != "" {
		t.Error(d)
	}
}

func TestConfig(t *testing.T) {
	for _, cfg := range []Config{{Off: []string{"emails"}}, {Terms: []string{""}}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("New(%+v): no error", cfg)
		}
	}
	s := scanner(t, Config{Off: []string{"email"}})
	if got := s.Find(nil, []byte("ann@example.com")); len(got) > 0 {
		t.Errorf("a rule that is off found %v", got)
	}
}

// TestOverlap: one finding remains, which covers all.
func TestOverlap(t *testing.T) {
	key := "ghp_" + invent(40, 36, alnum62)
	check(t, []row{
		{"name and format", "token=" + key, only("github_token=" + key)},
		{"scheme and format", "Bearer " + key + ".x", only("github_token=" + key + ".x")},
		{"in a URL", "https://x:" + key + "@h.example", only("github_token=x:" + key + "@h.example")},
	})
}

// TestTable: names are unique, and each class has its own.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.Name] || r.What == "" || r.Class.String() == "" || r.Class < Secret || r.Class > Opaque {
			t.Errorf("rule %+v", r)
		}
		seen[r.Name] = true
	}
	if len(seen) < 80 {
		t.Errorf("%d rules", len(seen))
	}
}

// TestKeepsWhatIsThere: findings are appended.
func TestKeepsWhatIsThere(t *testing.T) {
	mine := []Finding{{Rule: "mine", Start: 900, End: 901}}
	got := scanner(t, Config{}).Find(mine, []byte("ann@example.com"))
	if len(got) != 2 || got[0] != mine[0] || got[1].Rule != "email" {
		t.Errorf("found %v", got)
	}
}

func FuzzFind(f *testing.F) {
	for _, seed := range sentences {
		f.Add("user", seed)
	}
	f.Add("password", "ghp_")
	f.Add("ssn", "219-09-9999 4111 1111 1111 1111 DE89 3704")
	f.Add("", "-----BEGIN X-----\nAAAA eyJa.eyJb ://a:b@ \\Users\\ arn:aws:::1 bc1q 0x %40 1::2 12:34:56:78:90:ab")
	s := scanner(f, Config{Terms: []string{"heron"}})
	f.Fuzz(func(t *testing.T, member, text string) {
		before := 0
		for _, found := range s.FindNamed(nil, []byte(member), []byte(text)) {
			if found.Start < before || found.End <= found.Start || found.End > len(text) {
				t.Fatalf("%+v in %d bytes, after %d", found, len(text), before)
			}
			before = found.End
		}
		if steps := stepsOf(s, []byte(text)); steps > 100*len(text)+1000 {
			t.Errorf("%d steps for %d bytes", steps, len(text))
		}
	})
}

// TestDocumented: the page for users names every rule.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/sanitizer.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Rules() {
		if !bytes.Contains(page, []byte("`"+r.Name+"`")) {
			t.Errorf("docs/sanitizer.md does not name the rule %s", r.Name)
		}
	}
}

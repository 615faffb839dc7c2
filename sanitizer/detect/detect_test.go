package detect

import (
	"testing"
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

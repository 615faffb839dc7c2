package detect_test

import (
	"strings"
	"testing"

	"github.com/lambdac/lambdac/sanitizer/detect"
)

// What is written otherwise than it reads is found where it stands, and no more
// than that.
func TestEscapedIsFoundWhereItStands(t *testing.T) {
	s, err := detect.New(detect.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"percent", "to anna%2Eb%40example.com now", "anna%2Eb%40example.com"},
		{"percent twice", "a=4111%25201111%25201111%25201111&b", "4111%25201111%25201111%25201111"},
		{"entities", "<i>anna&#64;example&period;com</i>", "anna&#64;example&period;com"},
		{"JSON escapes", `"anna\u0040example.com"`, `anna\u0040example.com`},
		{"escapes of escapes", `\"anna\\\\u0040example.com\"`, `anna\\\\u0040example.com`},
		{"zero width", "anna\u200b@exa\u00admple.com!", "anna\u200b@exa\u00admple.com"},
		{"full width", "号码４１１１ １１１１ １１１１ １１１１。", "４１１１ １１１１ １１１１ １１１１"},
		{"Persian digits", "شماره ۴۱۱۱۱۱۱۱۱۱۱۱۱۱۱۱", "۴۱۱۱۱۱۱۱۱۱۱۱۱۱۱۱"},
		{"percent of UTF-8", "anna%E2%80%8B%40example.com", "anna%E2%80%8B%40example.com"},
		{"hyphens", "ssn 536\u201190\u20114399.", "536\u201190\u20114399"},
		{"over a window", strings.Repeat("é word ", 2340) + "anna&#64;example.com " + strings.Repeat("word ", 9), "anna&#64;example.com"},
		{"mail", "to anna=2Eb=40example=\r\n.com now", "anna=2Eb=40example=\r\n.com"},
		{"Markdown", `to anna\_b@example\.com now`, `anna\_b@example\.com`},
		{"octal", `anna\100example\056com`, `anna\100example\056com`},
		{"braces", `"anna\u{40}example.com"`, `anna\u{40}example.com`},
		{"colours", "to \x1b[1manna\x1b[0m@example.com", "anna\x1b[0m@example.com"},
		{"colours, printed", `to \x1b[1manna\x1b[0m@example.com`, `anna\x1b[0m@example.com`},
		{"tags", "hi \U000E0061\U000E0040\U000E0062\U000E002E\U000E0063\U000E006F", "\U000E0061\U000E0040\U000E0062\U000E002E\U000E0063\U000E006F"},
		{"accents", "to a\u0301nna@example.com", "a\u0301nna@example.com"},
		{"no mail", "limit=40&page=20 x==y a=3d", ""},
		{"an escape cut", "100% of \\u00 &# &; %4 =\\n= =4 \x1b[ \\u{ \\u{} \\07", ""},
		{"no escape", "rate%20 R&D &nbsp; \\server\\x \u2014 \u201cyes\u201d", ""},
	} {
		var got []string
		for _, f := range s.Find(nil, []byte(c.text)) {
			got = append(got, c.text[f.Start:f.End])
		}
		if strings.Join(got, " | ") != c.want {
			t.Errorf("%s: found %q, want %q", c.name, got, c.want)
		}
	}
}

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
		{"an escape cut", "100% of \\u00 &# &; %4", ""},
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

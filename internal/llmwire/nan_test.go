package llmwire

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestWithoutNaN: what is read is JSON of the same length, and strings stay.
func TestWithoutNaN(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{`[NaN]`, `["" ]`},
		{`{"a":-Infinity,"b":Infinity}`, `{"a":""       ,"b":""      }`},
		{`{"NaN":"Infinity \" NaN \\\\","c":NaN}`, `{"NaN":"Infinity \" NaN \\\\","c":"" }`},
		{`{"a":"NaN"}`, ""},
		{`{"a":1}`, ""},
		{`{"a":"NaN`, ""},
		{`"\\`, ""},
	} {
		got, some := withoutNaN([]byte(row.text))
		switch {
		case !some && row.want == "":
		case string(got) != row.want || !some:
			t.Errorf("%s: got %s, %v, want %s", row.text, got, some, row.want)
		case !jsontext.Value(got).IsValid():
			t.Errorf("%s: %s is no JSON", row.text, got)
		}
	}
}

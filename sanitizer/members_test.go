package sanitizer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMembers(t *testing.T) {
	for _, tc := range []struct {
		body string
		want map[string]string
	}{
		{`{"a":1,"b":"x\"y","c":{"d":[1,{"e":"}"}]} , "f" : null}`, map[string]string{"a": "1", "b": `"x\"y"`, "c": `{"d":[1,{"e":"}"}]}`, "f": "null"}},
		{`{"a":"\\","b":2}`, map[string]string{"a": `"\\"`, "b": "2"}},
		{`{}`, map[string]string{}},
		{`[1]`, map[string]string{}},
		{``, map[string]string{}},
		{`{"a":"cut`, map[string]string{"a": `"cut`}},
		{`{"a`, map[string]string{}},
		{`{"a":1 "b":2}`, map[string]string{"a": `1 "b"`}},
	} {
		got := make(map[string]string)
		for name, value := range members([]byte(tc.body)) {
			got[string(name)] = string(value)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.body, diff)
		}
	}
}

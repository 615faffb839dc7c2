package sanitizer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cases.md 13: values are kept by allow-list only, and a name that no list
// knows is no exception.
func TestQuery(t *testing.T) {
	s := start(t, Config{Key: testKey}, &memory{})
	name := func(raw string) string { return "?name-" + s.keys.name("name", raw) }
	for _, tc := range []struct {
		query string
		want  map[string]string
	}{
		{"limit=5&securityToken=8c1f&sessionKey=abc123", map[string]string{"?limit": "len:1", "?securityToken": "len:4", "?sessionKey": "len:6"}},
		{"alt=sse&api-version=2024-10-21&beta=true", map[string]string{"?alt": "sse", "?api-version": "2024-10-21", "?beta": "true"}},
		{"alt=sk-abcdefgh&api-version=secret", map[string]string{"?alt": "len:11", "?api-version": "len:6"}},
		{"sk-abcdefgh=1&%73ecret=1", map[string]string{name("sk-abcdefgh"): "len:1", name("%73ecret"): "len:1"}},
		{"a=1;b=22&&c", map[string]string{"?a": "len:1", "?b": "len:2", "?c": "len:0"}},
		{"", nil},
	} {
		var set fieldSet
		s.query(&set, tc.query)
		if diff := cmp.Diff(tc.want, set.toMap()); diff != "" {
			t.Errorf("%q: %s", tc.query, diff)
		}
	}
}

func TestQueryIsBounded(t *testing.T) {
	s := start(t, Config{}, &memory{})
	var query strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&query, "p%d=1&", i)
	}
	var set fieldSet
	s.query(&set, query.String())
	if len(set.fields) > maxParams {
		t.Errorf("%d parameters kept, want at most %d", len(set.fields), maxParams)
	}
}

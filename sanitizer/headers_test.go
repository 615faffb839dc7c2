package sanitizer

import (
	"crypto/hmac"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

func TestHeaders(t *testing.T) {
	x := chat(1, 0, messages("a"))
	x.ReqHeader = []trace.Field{
		{Name: "CONTENT-TYPE", Value: "application/json"},
		{Name: "X-Tenant-Secret", Value: "12345"},
		{Name: "Cookie", Value: "a=b"},
		{Name: "cookie", Value: "c=d"},
		{Name: "Accept", Value: "text/html"},
		{Name: "accept", Value: "application/json"},
		{Name: "User-Agent", Value: "sk-abcdefgh"},
		{Name: "X-0123456789abcdef0123456789abcdef", Value: "v"},
		{Name: "not a token", Value: "v"},
		{Name: strings.Repeat("long-", 20), Value: "v"},
		{Name: "Traceparent", Value: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		{Name: "X-Request-Id", Value: "4bf92f3577b34da6a3ce929d0e0e4736"},
	}
	got := one(t, x)
	link := got.ReqHeaders["traceparent"]
	unknown := "name-" + (&keyring{mac: hmac.New(sha256.New, testKey)}).name("name", "x-0123456789abcdef0123456789abcdef")
	want := map[string]string{
		"content-type": "application/json", "x-tenant-secret": "len:5", "cookie": "len:6",
		"accept": "text/html, application/json", "user-agent": "len:11", "x-other": "len:2", unknown: "len:1",
		"traceparent": link, "x-request-id": link,
	}
	if diff := cmp.Diff(want, got.ReqHeaders); diff != "" {
		t.Error(diff)
	}
	if len(link) != len("id-")+16 {
		t.Errorf("link %q", link)
	}
	counts := make(map[string]int32)
	for _, r := range got.Redactions {
		counts[r.Rule] = r.Count
	}
	if diff := cmp.Diff(map[string]int32{"credential": 3, "header_value": 1, "header_name": 3, "header_grammar": 1, "pseudonym": 2}, counts); diff != "" {
		t.Errorf("redactions: %s", diff)
	}
}

func TestHeaderCountIsBounded(t *testing.T) {
	x := chat(1, 0, messages("a"))
	for i := range 500 {
		x.ReqHeader = append(x.ReqHeader, trace.Field{Name: "h-" + strings.Repeat("a", i%50) + strings.Repeat("e", i/50), Value: "v"})
	}
	if got := one(t, x); len(got.ReqHeaders) > maxFields {
		t.Errorf("%d names kept, want at most %d", len(got.ReqHeaders), maxFields)
	}
}

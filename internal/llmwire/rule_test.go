package llmwire

import (
	"strings"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

func TestParseRule(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Rule
		err  string
	}{
		{"/my/path=openai.chat", Rule{"/my/path", trace.KindOpenAIChat}, ""},
		{"/a=b/*=other", Rule{"/a=b/*", trace.KindOther}, ""},
		{"/my/path", Rule{}, "PATH=KIND"},
		{"/my/path=openai", Rule{}, "openai.chat"},
		{"my/path=openai.chat", Rule{}, "pattern"},
		{"/[=openai.chat", Rule{}, "pattern"},
		{"", Rule{}, "PATH=KIND"},
	} {
		got, err := ParseRule(tt.in)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %v, %v; want %v, %q", tt.in, got, err, tt.want, tt.err)
		}
	}
}

func TestRecognizeBy(t *testing.T) {
	rules := []Rule{{"/v1/chat/completions", trace.KindOther}, {"/gw/*/ask", trace.KindOpenAIChat}, {"/gw/b/ask", trace.KindOther}}
	for _, tt := range []struct {
		method, path string
		want         trace.APIKind
	}{
		{"POST", "/v1/chat/completions", trace.KindOther},
		{"POST", "/gw/b/ask", trace.KindOpenAIChat},
		{"GET", "/gw/b/ask", trace.KindOther},
		{"POST", "/gw/b/c/ask", trace.KindOther},
		{"POST", "/v1/completions", trace.KindOpenAICompletions},
	} {
		if got := RecognizeBy(rules, tt.method, tt.path, nil); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.method, tt.path, got, tt.want)
		}
	}
}

package sanitizer

import "testing"

func TestGrammars(t *testing.T) {
	for _, tc := range []struct {
		grammar     Grammar
		value, want string // "" = refused
	}{
		{GrammarMedia, "application/json", "application/json"},
		{GrammarMedia, "Application/JSON; charset=UTF-8", "application/json; charset=utf-8"},
		{GrammarMedia, `multipart/form-data; boundary="sk-abcdef"`, "multipart/form-data"},
		{GrammarMedia, "application/vnd.amazon.eventstream", "application/vnd.amazon.eventstream"},
		{GrammarMedia, "text/event-stream;charset=x-secret", "text/event-stream"},
		{GrammarMedia, "sk-abcdefgh", ""},
		{GrammarMedia, "application/sk-abcdefgh", ""},
		{GrammarMedia, "secret/json", ""},
		{GrammarMedia, "application/4111111111111111", ""},
		{GrammarMediaList, "text/html, application/json;q=0.9, */*;q=0.1", "text/html, application/json, */*"},
		{GrammarMediaList, "text/html, mine", ""},
		{GrammarCoding, "gzip, BR", "gzip, br"},
		{GrammarCoding, "gzip, secret", ""},
		{GrammarInteger, "16384", "16384"},
		{GrammarInteger, "078051120", ""}, // nine digits
		{GrammarInteger, "-1", ""},
		{GrammarNumber, "12.345678", "12.3456"},
		{GrammarNumber, "4111111111111111", ""},
		{GrammarNumber, "1.", ""},
		{GrammarNumber, ".5", ""},
		{GrammarRetryAfter, "20", "20"},
		{GrammarRetryAfter, "Mon, 30 Nov 2026 10:00:00 GMT", "date"},
		{GrammarRetryAfter, "soon", ""},
		{GrammarProduct, "OpenAI/Python 1.99.1", "OpenAI/Python"},
		{GrammarProduct, "python-httpx/0.28.1", "python-httpx/0.28.1"},
		{GrammarProduct, "Mozilla/5.0 (X11; someone@example.com)", "Mozilla/5.0"},
		{GrammarProduct, "curl", "curl"},
		{GrammarProduct, "sk-abcdefgh/1.0", ""},
		{GrammarProduct, "tool/0123456789abcdef0123", ""},
		{GrammarVersion, "2024-10-01-preview", "2024-10-01-preview"},
		{GrammarVersion, "2024-13-01", ""},
		{GrammarVersion, "v1beta2", "v1beta2"},
		{GrammarVersion, "v1-secret", ""},
		{GrammarBeta, "prompt-caching-2024-07-31,assistants=v2", "prompt-caching-2024-07-31, assistants=v2"},
		{GrammarBeta, "assistants=secret", ""},
		{GrammarBeta, "a,b,c,d,e,f,g,h,i", ""},
		{GrammarTiming, `prefill;dur=31.5;desc="for someone", total`, "prefill;dur=31.5, total"},
		{GrammarTiming, "a;dur=NaN", "a"},
		{GrammarTiming, "a;dur=536904399, b;dur=0.536904399", "a, b;dur=0.537"},
		{GrammarProduct, "curl/53690439", ""},
		{GrammarBeta, "prompt-caching-53690439", ""},
		{GrammarTiming, "sk-abcdefgh;dur=1", "other;dur=1"},
		{GrammarFlag, "sse", "sse"},
		{GrammarFlag, "yes", ""},
	} {
		got, ok := newVocabulary(DefaultPolicy()).grammars()[tc.grammar](tc.value)
		if ok != (tc.want != "") || ok && got != tc.want {
			t.Errorf("%s %q = %q, %v; want %q", tc.grammar, tc.value, got, ok, tc.want)
		}
	}
}

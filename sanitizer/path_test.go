package sanitizer

import "testing"

func TestPathTemplate(t *testing.T) {
	s := start(t, Config{}, &memory{})
	for _, tc := range []struct{ target, want string }{
		{"/v1/chat/completions", "/v1/chat/completions"},
		{"/v1/chat/completions/", "/v1/chat/completions/"},
		{"/", "/"},
		{"*", "*"},
		{"", ""},
		{"/openai/deployments/chat/chat/completions?api-version=1", "/openai/deployments/{id}/chat/completions"},
		{"/v1/projects/acme/locations/europe/publishers/google/models/gemini-2:streamGenerateContent", "/v1/projects/{id}/locations/{id}/publishers/{id}/models/{id}:streamGenerateContent"},
		{"/v1beta/models/gemini:secretMethod", "/v1beta/models/{id}"},
		{"/model/arn%3Aaws%3Abedrock%3Aus%3A123456789012%3Ax/converse-stream", "/model/{id}/converse-stream"},
		{"/v2/models/llama/generate_stream", "/v2/models/{id}/generate_stream"},
		{"/v1/files/file-abc123/content", "/v1/files/{id}/content"},
		{"/v1/threads/thread_9/runs/run_8/steps", "/v1/threads/{id}/runs/{id}/steps"},
		{"/v1/responses/resp_67/cancel", "/v1/responses/{id}/cancel"},
		{"/customers/johnsmith", "/{id}/{id}"},
		{"http://user:pass@host:8000/v1/models", "/v1/models"},
		{"http://host", "/"},
		{"host:443", "{id}"},
		{"/v1/models#secret", "/v1/models"},
		{"/v100/models", "/{id}/models"},
		{"/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r", "/{id}/{id}/{id}/{id}/{id}/{id}/{id}/{id}/{id}/{id}/{id}/{id}/{id}/{id}/{id}/{id}/{more}"},
	} {
		if got := s.pathTemplate(splitTarget(tc.target).path); got != tc.want {
			t.Errorf("template of %q = %q, want %q", tc.target, got, tc.want)
		}
	}
}

func TestMethod(t *testing.T) {
	for raw, want := range map[string]string{"POST": "POST", "post": "other", "SECRET": "other"} {
		if got := method(raw); got != want {
			t.Errorf("method(%q) = %q, want %q", raw, got, want)
		}
	}
}

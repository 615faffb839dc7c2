package sanitizer

import (
	"math/rand/v2"
	"testing"
)

func TestSuspect(t *testing.T) {
	for _, tc := range []struct {
		text string
		want suspicion
	}{
		{"gpt-4o-mini", trusted},
		{"gpt-4o-2024-08-06", trusted},
		{"claude-3-5-sonnet-20241022-v2:0", trusted},
		{"meta-llama/Llama-3.3-70B-Instruct-Turbo", trusted},
		{"gemma-3-270m-it-Q4_K_M.gguf", trusted},
		{"Qwen2.5-Coder-32B-Instruct-AWQ", trusted},
		{"mixtral-8x22b-instruct-v0.1", trusted},
		{"deepseek-r1-distill-qwen-32b", trusted},
		{"text-embedding-ada-002", trusted},
		{"anthropic.claude-sonnet-4-20250514-v1:0", trusted},
		{"publishers/google/models/gemini-2.0-flash-001", trusted},
		{"claude-opus-4@20250514", trusted},
		{"gpt-4.1-2025-04-14", trusted},
		{"o3-2025-04-16", trusted},
		{"EngineDeadError", trusted},
		{"InternalServerErrorException", trusted},
		{"AsyncOpenAI", trusted},
		{"x-ratelimit-remaining-requests", trusted},
		{"disk-usage-monitor", trusted}, // "sk-" inside a word

		{"sk-abc123", suspectKey},
		{"model/sk-abcdef", suspectKey},
		{"eyJhbGciOiJIUzI1NiJ9", suspectKey},
		{"hf_abcdefghijklmnop", suspectKey},
		{"someone@example.com", suspectMail},
		{"10.0.0.17", suspectAddress},
		{"fe80::1", suspectAddress},
		{"00:1a:2b:3c:4d:5e", suspectAddress},
		{"gpu7.corp.example.com", suspectAddress},
		{"/home/someone/model", suspectAddress},
		{`C:\models`, suspectAddress},
		{"4111-1111-1111-1111", suspectDigits},
		{"078-05-1120", suspectDigits},
		{"gpt-4o-53690439", suspectDigits},
		{"+1-202-555-0101", suspectDigits},
		{"4111-2099-99-99-1111", suspectDigits},
		{"1789000000007", suspectDigits},
		{"0123abcd4567ef", suspectRandom},
		{"550e8400-e29b", suspectRandom},
		{"tzaekomxrr", suspectRandom},
		{"qwXkzPvbNmRt", suspectRandom},
		{"GB33BUKB2020155", suspectRandom},
		{"ABCDE1234F", suspectRandom},
		{"3f9a61c07b", suspectRandom},
	} {
		if got := suspect(tc.text); got != tc.want {
			t.Errorf("suspect(%q) = %q, want %q", tc.text, got, tc.want)
		}
	}
}

// Every kind of secret is suspect, or cannot be spelled with the bytes of a
// model name; random letters slip through once in about a hundred times.
func TestKindsAreSuspect(t *testing.T) {
	s := newVocabulary(DefaultPolicy())
	r := rand.New(rand.NewPCG(7, 8))
	const rounds = 400
	for _, kind := range plantedKinds() {
		var missed int
		for range rounds {
			if s.plainModel(kind.make(r)) {
				missed++
			}
		}
		limit := 0
		if kind.name == "letters" {
			limit = rounds / 40
		}
		if missed > limit {
			t.Errorf("%s: %d of %d pass for model names", kind.name, missed, rounds)
		}
	}
}

func TestRandomLetters(t *testing.T) {
	for _, tc := range []struct {
		run  string
		want bool
	}{
		{"authentication", false},
		{"HypertextTransferProtocol", false},
		{"forwarded", false},
		{"kubernetes", false},
		{"xqzjkvwp", true},
		{"aBcDeFgHiJkL", true},
		{"short", false}, // too short to tell
	} {
		if got := randomLetters(tc.run); got != tc.want {
			t.Errorf("randomLetters(%q) = %v, want %v", tc.run, got, tc.want)
		}
	}
}

package sanitizer

import "testing"

func TestModel(t *testing.T) {
	s := start(t, Config{Key: testKey}, &memory{})
	pseudonym := func(name string) string { return "model-" + s.keys.name("model", name) }
	for _, tc := range []struct{ name, want string }{
		{"gpt-4o-mini", "gpt-4o-mini"},
		{"gemma-3-270m-it-Q4_K_M.gguf", "gemma-3-270m-it-Q4_K_M.gguf"},
		{"ft:gpt-4o-mini:acme::Ab12", "ft:gpt-4o-mini:{id}"},
		{"ft:sk-abcdefgh:acme::Ab12", pseudonym("ft:sk-abcdefgh:acme::Ab12")},
		{"arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude", "arn:eu.anthropic.claude"},
		{"/home/someone/models/gemma.gguf", "gemma.gguf"},
		{`C:\Users\someone\gemma.gguf`, "gemma.gguf"},
		{"someone@example.com", pseudonym("someone@example.com")},
		{"my model", pseudonym("my model")},
	} {
		if got := s.model("request_model", tc.name); *got != tc.want {
			t.Errorf("model(%q) = %q, want %q", tc.name, *got, tc.want)
		}
	}
	if s.model("request_model", "") != nil {
		t.Error("no model became one")
	}
}

// What our own reader of the API families calls their operations stays as it
// is: spans that other tools read are known by it.
func TestOperationsStay(t *testing.T) {
	for name, policy := range map[string]Policy{"default": DefaultPolicy(), "strict": StrictPolicy()} {
		s := start(t, Config{Policy: policy, Key: testKey}, &memory{})
		for _, operation := range []string{"chat", "text_completion", "embeddings", "generate_content"} {
			if got := s.word("operation", operation); *got != operation {
				t.Errorf("%s: %q became %q", name, operation, *got)
			}
		}
	}
}

func TestWord(t *testing.T) {
	s := start(t, Config{Key: testKey}, &memory{})
	pseudonym := func(word string) string { return "other-" + s.keys.name("word", word) }
	for _, tc := range []struct{ value, want string }{
		{"stop", "stop"},
		{"MAX_TOKENS", "MAX_TOKENS"},
		{"aws.bedrock", "aws.bedrock"},
		{"429", "429"},
		{"EngineDeadError", "EngineDeadError"},
		{"someone@example.com", pseudonym("someone@example.com")},
		{"sk-abcdefgh", pseudonym("sk-abcdefgh")},
		{"4111111111111111", pseudonym("4111111111111111")},
		{"two words", pseudonym("two words")},
		{"12345", pseudonym("12345")},
	} {
		if got := s.word("error_type", tc.value); *got != tc.want {
			t.Errorf("word(%q) = %q, want %q", tc.value, *got, tc.want)
		}
	}
	if s.word("error_type", "") != nil || s.reasons(nil) != nil {
		t.Error("nothing became a word")
	}
}

func TestNumbersThatAreNone(t *testing.T) {
	x := chat(1, 0, messages("a"))
	x.Record.Seed = new(int64(4111111111111111)) // test number of a card issuer, passes Luhn
	x.Record.Temperature = new(4111111111111111.0)
	x.Record.TopP = new(0.9)
	got := one(t, x)
	if got.Seed != nil || got.Temperature != nil || got.TopP == nil {
		t.Errorf("seed %v, temperature %v, top_p %v", got.Seed, got.Temperature, got.TopP)
	}
	for n, want := range map[int64]bool{
		378282246310005: true, 6011000990139424: true, // test numbers of card issuers
		1789000000007: false, // passes Luhn, but no issuer begins with 1
		42:            false, -4111111111111111: false, 4111111111111112: false,
	} {
		if looksLikeCard(n) != want {
			t.Errorf("looksLikeCard(%d) = %v, want %v", n, !want, want)
		}
	}
}

// What the client writes is kept only where it is known; what nothing can have
// counted is no count.
func TestClientWordsAndImpossibleCounts(t *testing.T) {
	x := chat(1, 0, messages("a"))
	x.Said.ServiceTier, x.Said.ReasoningLevel, x.Said.OutputType = "correct-horse-battery", "high", "mother-of-anna"
	x.Record.InputTokens, x.Record.OutputTokens = new(int64(4111111111111111)), new(int64(maxCount))
	x.Record.ServerQueueUs = new(int64(9286563199000))
	rec := one(t, x)
	if *rec.ServiceTier != otherWord || *rec.ReasoningLevel != "high" || *rec.OutputType != otherWord {
		t.Errorf("words %q %q %q", *rec.ServiceTier, *rec.ReasoningLevel, *rec.OutputType)
	}
	if rec.InputTokens != nil || *rec.OutputTokens != maxCount || rec.ServerQueueUs != nil {
		t.Errorf("numbers %v %v %v", rec.InputTokens, rec.OutputTokens, rec.ServerQueueUs)
	}
}

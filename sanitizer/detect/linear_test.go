package detect

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// stepsOf is how many bytes the rules look at in a text, beside the one look
// of the automaton.
func stepsOf(s *Scanner, text []byte) int {
	j := job{s: s, text: text}
	j.scan()
	j.unfolded(nil)
	return j.steps
}

// TestLinear: a text twice as long costs twice as much, whatever it repeats.
// Each rule's own food is repeated, and its openings without their ends.
func TestLinear(t *testing.T) {
	s := scanner(t, Config{Terms: []string{"aa"}})
	var foods []string
	for _, l := range s.table {
		foods = append(foods, l.text, l.text+"a", l.text+" ", " "+l.text+"=", l.text+`"`, l.text+".", "/"+l.text)
	}
	foods = append(foods, "eyJabcdefghijk.", "-----BEGIN X-----\n", "-----BEGIN X-----", "-----BEGIN X-----AAAAAAAAAAAAAAAAAAAA\n", "://a:", "a@", "a@b.", "1 ", "1.", "12-", "1234 ",
		"+1", "(1", "DE89", "DE8 ", "a:", "ab:", "::", "0:", "password=", `password="`, "password is ", "token=a1", `"name":"token","value":`, "Bearer a", "Basic QQ==",
		"arn:aws:", "/home/", "/home/a", ".local", "a.local", "-.local", "\\", "\\n", `\"`, "%3D", "aB3", "a", "A", "1", "/", "+", "=", "born 1 ", "ssn 123-", "é", "\x00", "1\xc2\xa0", "bc1q", "0x0", "%", "%2", "%31", "%2531", "&", "&#", "&#x", "&#49;", "&amp;#49;", `\u`, `\u0031`, `\\\\`, `\/`, "\u200b", "1\u200b", "a\u00ad", "\uff11", "\u0661 ")
	const small, factor = 2 << 10, 8
	for _, food := range foods {
		n := small / len(food)
		one, many := stepsOf(s, []byte(strings.Repeat(food, n))), stepsOf(s, []byte(strings.Repeat(food, n*factor)))
		if many > factor*one*5/4+factor*small {
			t.Errorf("%q: %d steps for %d bytes, %d for %d times as many", food, one, n*len(food), many, factor)
		}
		if per := many / (n * factor * len(food)); per > 64 {
			t.Errorf("%q: %d steps per byte", food, per)
		}
	}
}

// TestNoAllocation: with room for the findings nothing is allocated.
func TestNoAllocation(t *testing.T) {
	s := scanner(t, Config{})
	text := []byte(chat(64 << 10))
	found := s.Find(nil, text)
	if len(found) == 0 {
		t.Fatal("nothing found: the test proves nothing")
	}
	found = append(found, make([]Finding, 4096)...)
	if n := testing.AllocsPerRun(10, func() { found = s.Find(found[:0], text) }); n > 0 {
		t.Errorf("%v allocations per text", n)
	}
}

// sentences are rich in what starts rules: names of secrets without values,
// numbers, hosts, addresses.
var sentences = []string{
	"The token is read from the environment, and the API key must not be logged. ",
	"Please rotate the password every 90 days; see section 4.2.1 of the policy. ",
	"In 2024-10-22T10:00:00Z the request took 1,234.56 ms and used 812 tokens. ",
	"def get_secret(name: str) -> str:\\n    return client.secrets.get(name)\\n",
	"Authorization is by bearer token; basic authentication was removed in v2.3.1. ",
	"She said that the meeting is on Tuesday, so we should call the office before. ",
	"curl -H \\\"X-Api-Key: $KEY\\\" https://api.example.com/v1/models?limit=10\\n",
	"Contact support@example.com or +1 415 555 2671 if the card is declined. ",
	"The max_tokens, prompt_tokens and completion_tokens fields are numbers. ",
	"path/to/file-name_v2.txt has user-id=42, session: none, cookie: none. ",
}

// chat makes about n bytes of chat JSON.
func chat(n int) string {
	rng := rand.New(rand.NewPCG(5, 5))
	var b strings.Builder
	b.WriteString(`{"model":"m","messages":[`)
	for b.Len() < n {
		b.WriteString(`{"role":"user","content":"`)
		for range 12 {
			b.WriteString(sentences[rng.IntN(len(sentences))])
		}
		b.WriteString(`"},`)
	}
	b.WriteString(`{}]}`)
	return b.String()
}

package audit

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// invent makes n letters of an alphabet, the same for a seed. Nothing here is
// or was a credential.
func invent(seed uint64, n int, letters string) string {
	rng := rand.New(rand.NewPCG(seed, 3))
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[rng.IntN(len(letters))]
	}
	return string(b)
}

const (
	hex16    = "0123456789abcdef"
	alnum62  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base64ch = alnum62 + "+/"
)

// found are the names of the rules that match in a text.
func found(t *testing.T, text string) []string {
	t.Helper()
	table, err := newTable()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, id := range table.find([]byte(text)) {
		names = append(names, table.rules[id].name)
	}
	slices.Sort(names)
	if len(names) > 1 { // what a closer rule finds, these find too
		names = slices.DeleteFunc(names, func(n string) bool { return n == "random" || n == "sk_key" })
	}
	return names
}

func TestRules(t *testing.T) {
	key := invent(1, 44, alnum62)
	tests := []struct {
		name string
		text string
		want []string
	}{
		{"Anthropic", "key sk-ant-api03-" + key + ", thanks", []string{"anthropic_key"}},
		{"in JSON in JSON", `{\"k\":\"ghp_` + key[:36] + `\"}`, []string{"github_token"}},
		{"after an escape", `\nAIza` + key[:35] + `\n`, []string{"google_api_key"}},
		{"AWS", "AKIA" + "Q3EXAMPLA7J2K5TQ", []string{"aws_key_id"}},
		{"inside a word", "xhf_" + strings.ToLower(key[:28]), nil},
		{"placeholder", "sk-ant-xxxxxxxxxxxxxxxxxxxxxxxx", nil},
		{"JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.sig", []string{"jwt"}},
		{"PEM", "-----BEGIN EC PRIVATE KEY-----\n" + invent(2, 64, base64ch), []string{"pem"}},
		{"PEM's name", "-----BEGIN EC PRIVATE KEY-----", nil},
		{"URL", "amqp://ann:hunter2@mq/x", []string{"url_password"}},
		{"URL with variables", "amqp://${USER}:${PASS}@mq/x", nil},
		{"bearer", "Bearer " + key[:20], []string{"bearer"}},
		{"basic", "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:hunter2")), []string{"basic"}},
		{"password", `"password": "hunter22"`, []string{"named_password"}},
		{"password's name", `"password": "required"`, nil},
		{"secret", "client_secret=" + invent(3, 24, hex16), []string{"named_secret"}},
		{"count", `"max_tokens": 1024, "token": "next"`, nil},
		{"mail", "to ann@mail.example.org.", []string{"email"}},
		{"mail of nobody", "a7@pseudonym.invalid icon@2x.png", nil},
		{"card", "4111 1111 1111 1111", []string{"card"}},
		{"card as a number", "4111111111111111", []string{"card"}},
		{"second number is a card", "1234567890123 4111111111111111", []string{"card"}},
		{"epoch", "1789000000007", nil},
		{"SSN", "is 219-09-9999.", []string{"us_ssn"}},
		{"phone", "+49 30 901820", []string{"phone"}},
		{"American phone", "(415) 555-2671", []string{"phone"}},
		{"IBAN", "DE89 3704 0044 0532 0130 00", []string{"iban"}},
		{"IBAN, wrong", "DE89 3704 0044 0532 0130 01", nil},
		{"NIR", "255081416802538", []string{"fr_nir"}},
		{"MAC", "00:1b:44:11:3a:b7", []string{"mac"}},
		{"IP", "from 203.0.113.7:80", []string{"ip"}},
		{"loopback", "127.0.0.1:8080", nil},
		{"object id", "2.5.29.46", nil},
		{"home", "/home/annlee/x", []string{"home_path"}},
		{"Windows", `C:\\Users\\annlee\\x`, []string{"home_path_windows"}},
		{"nobody's home", "/home/user/x", nil},
		{"git", "git@git.example.com:team/x.git", []string{"email", "git_remote"}},
		{"cloud", "https://contoso.openai.azure.com/", []string{"cloud_host"}},
		{"ARN", "arn:aws:iam::123456789012:role/x", []string{"cloud_account"}},
		{"random", invent(4, 40, alnum62), []string{"random"}},
		{"hash", invent(5, 64, hex16), nil},
		{"name", "TestHandlerServesBase64EncodedResponsesOfVersion2", nil},
		{"opaque", invent(6, 2000, base64ch), []string{"opaque"}},
		{"prose", "The quick brown fox jumps over the lazy dog, 42 times in 2024-10-22T10:00:00Z.", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := found(t, tt.text)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("in %q: %s", tt.text, d)
			}
		})
	}
}

func FuzzFind(f *testing.F) {
	f.Add([]byte("ann@example.com 4111 1111 1111 1111 password=hunter22 eyJ"))
	table, err := newTable()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		seen := map[int]bool{}
		for _, id := range table.find(text) {
			if seen[id] {
				t.Errorf("rule %d twice", id)
			}
			seen[id] = true
		}
	})
}

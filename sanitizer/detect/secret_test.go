package detect

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"
)

// invent makes n letters of an alphabet, the same for a seed. Nothing in this
// file is or was a credential; what scanners of pushes know is put together
// when the test runs.
func invent(seed uint64, n int, alphabet string) string {
	rng := rand.New(rand.NewPCG(seed, 7))
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return string(b)
}

const (
	digits10 = "0123456789"
	hex16    = "0123456789abcdef"
	base32   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	alnum62  = digits10 + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base64ch = alnum62 + "+/"
	url64    = alnum62 + "-_"
)

// tailOf invents the tail of a key as its format has it.
func tailOf(f keyFormat, seed uint64, n int) string {
	var letters strings.Builder
	for c := range 128 {
		if f.tail.in(byte(c)) && alnum.in(byte(c)) {
			letters.WriteString(string(rune(c)))
		}
	}
	return invent(seed, n, letters.String())
}

// surroundings are what stands around a key in text.
var surroundings = []string{
	"%s", "my key is %s, thanks", "(%s)", "%s.", "\"%s\"", "'%s'", "`%s`", "<%s>", "key=%s&x=1", "key:%s;", "{%s}",
	`\"%s\"`, `\n%s\n`, `\\"%s\\"`, "%%3D%s%%26", "用%s吧", "é%sé", "\t%s\r\n", "[%s]", "|%s|", "*%s*", "export K=%s", "$%s", "%s\x00", "“%s”",
}

// TestKeyFormats finds a key of every format in every surrounding, and
// nothing but its prefix in none.
func TestKeyFormats(t *testing.T) {
	s := scanner(t, Config{Off: []string{"random", "named_secret"}})
	for i, f := range keyFormats {
		if f.rule == "azure_secret" {
			continue // its mark stands inside: TestSecrets
		}
		key := f.prefix + tailOf(f, uint64(i), max(f.min, 36))
		for _, around := range surroundings {
			text := fmt.Sprintf(around, key)
			at := strings.Index(text, key)
			got := s.Find(nil, []byte(text))
			if len(got) != 1 || got[0].Start > at || got[0].End < at+len(key) || got[0].Class != Secret {
				t.Errorf("%s in %q: found %v", f.prefix, around, got)
			}
		}
		for _, miss := range []string{f.prefix, f.prefix + "…", f.prefix + "x", "a" + key, f.prefix + strings.Repeat("x", 40), f.prefix + "your-key-goes-here"} {
			for _, found := range s.Find(nil, []byte(miss)) {
				if found.Rule == f.rule && found.Start == strings.Index(miss, f.prefix) {
					t.Errorf("%s: found in %q", f.prefix, miss)
				}
			}
		}
	}
}

func TestChecksumOfGitHub(t *testing.T) {
	s := scanner(t, Config{})
	dull := strings.Repeat("a", 30)
	sum := crc32.ChecksumIEEE([]byte(dull))
	var tail [6]byte
	for i := len(tail) - 1; i >= 0; i-- {
		tail[i] = alnum62[sum%62]
		sum /= 62
	}
	key := "ghp_" + dull + string(tail[:])
	if got := s.Find(nil, []byte(key)); len(got) != 1 || got[0].Rule != "github_token" {
		t.Errorf("with its checksum: %v", got)
	}
}

func TestSecrets(t *testing.T) {
	jwt := "eyJhbGciOiJIUzI1NiJ9." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"1234567890"}`)) + "." + invent(1, 43, url64)
	basic := base64.StdEncoding.EncodeToString([]byte("ann:open sesame 42"))
	inside := strings.Repeat(invent(2, 64, base64ch)+"\n", 4)
	pem := "-----BEGIN RSA PRIVATE KEY-----\n" + inside + "-----END RSA PRIVATE KEY-----"
	headed := "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123\n\n" + inside + "-----END RSA PRIVATE KEY-----"
	cut := "-----BEGIN PRIVATE KEY-----\n" + inside
	oneLine := strings.ReplaceAll(pem, "\n", `\n`)
	entra := invent(9, 3, alnum62) + "8Q~" + invent(10, 34, alnum62)
	random := invent(11, 40, base64ch)
	check(t, []row{
		{"JWT", "token " + jwt + ", valid", only("jwt=" + jwt)},
		{"JWT without signature", jwt[:40], only("jwt=" + jwt[:40])},
		{"not a JWT", "eyJ.eyJ.x and eyJust.a.word", nil},
		{"PEM", "key:\n" + pem + "\nend", only("pem=" + pem)},
		{"PEM on one line", `"` + oneLine + `"`, only("pem=" + oneLine)},
		{"PEM that is cut", cut + "\nthat was it", only("pem=" + strings.TrimSpace(cut))},
		{"PEM with headers", headed, only("pem=" + headed)},
		{"PEM's first line", `"-----BEGIN PUBLIC KEY-----\n" + key`, nil},
		{"PEM's name", "a line with BEGIN RSA PRIVATE KEY in it", nil},
		{"URL", "postgres://ann:hunter2@db/x", only("url_password=ann:hunter2")},
		{"URL with an @ in the password", "redis://:p@ss:w0rd@10.0.0.1:6379", only("url_password=:p@ss:w0rd", "ip=10.0.0.1")},
		{"URL with a token", "https://" + invent(3, 24, alnum62) + "@git.example.com/x", only("url_password=" + invent(3, 24, alnum62) + "@git.example.com")},
		{"URL with variables", "postgres://$USER:${PASSWORD}@db/x postgres://%s:%s@db", nil},
		{"URL with a port", "http://db:5432/a@b", nil},
		{"bearer", "Authorization: Bearer " + invent(4, 24, alnum62), only("auth_scheme=" + invent(4, 24, alnum62))},
		{"bearer of bad news", "the bearer of uncomfortable-tidings", nil},
		{"basic", "-H 'Authorization: Basic " + basic + "'", only("auth_scheme=" + basic)},
		{"basic authentication", "Basic authentication is basic knowledge12", nil},
		{"Entra", "secret " + entra, only("azure_secret=" + entra)},
		{"random word", "use " + random + " for it", only("random=" + random)},
		{"hexadecimal word", invent(12, 40, hex16), nil},
		{"hexadecimal word with a prefix", "toolu_fa282ca228ccfde5098ce6aa", nil},
		{"digest", "sha512-" + invent(15, 86, base64ch) + "== h1:" + invent(16, 43, base64ch) + "=", nil},
		{"UUID", "123e4567-e89b-42d3-a456-426614174000", nil},
		{"name in a program", "TestHandlerServesBase64EncodedV2Responses", nil},
		{"path", "src/internal/Handler2/TestServer3/v4/Endpoint", nil},
		{"a comment that silences another tool", "hf_" + invent(17, 34, alnum62) + " # gitleaks:allow", only("huggingface_token=hf_" + invent(17, 34, alnum62))},
		{"Azure account key", "AccountKey=" + invent(13, 86, base64ch) + "==", only("named_secret=" + invent(13, 86, base64ch) + "==")},
		{"SAS", "?sv=2024&sig=" + invent(14, 43, alnum62) + "%3D", only("named_secret=" + invent(14, 43, alnum62) + "%3D")},
	})
}

// TestNamedSecrets: names that no list knows, in every way of writing one.
func TestNamedSecrets(t *testing.T) {
	key40 := "Zk" + invent(20, 38, base64ch)
	hex32 := invent(21, 32, hex16)
	check(t, []row{
		{"camel case in single quotes", `{'secretAccessKey': '` + key40 + `'}`, only("named_secret=" + key40)},
		{"snake case", `aws_session_token="` + key40 + `"`, only("named_secret=" + key40)},
		{"query", "GET /v1/models?limit=5&securityToken=8c1f90ab7e21&sessionKey=abc123def456", only("named_secret=8c1f90ab7e21", "named_secret=abc123def456")},
		{"header", "X-Tenant-Secret: 9f86d081884c7d65", only("named_secret=9f86d081884c7d65")},
		{"JSON in JSON", `{\"api_key\":\"` + hex32 + `\"}`, only("named_secret=" + hex32)},
		{"JSON in JSON in JSON", `{\\\"api_key\\\":\\\"` + hex32 + `\\\"}`, only("named_secret=" + hex32)},
		{"YAML", "apiKey: " + hex32, only("named_secret=" + hex32)},
		{"environment", "export AZURE_OPENAI_API_KEY=" + hex32, only("named_secret=" + hex32)},
		{"member of a list", `{"name": "DB_PASSWORD", "value": "open-sesame"}`, only("named_secret=open-sesame")},
		{"XML", "<password>hunter22</password>", only("named_secret=hunter22")},
		{"option", "mysql --password hunter22 -u x", only("named_secret=hunter22")},
		{"index", `os.environ["API_KEY"] = "` + hex32 + `"`, only("named_secret=" + hex32)},
		{"prose", "my password is hunter22.", only("named_secret=hunter22")},
		{"German", "Passwort: Sesam2024!", only("named_secret=Sesam2024!")},
		{"Chinese", "密码：", nil},
		{"with marks", `"password":"p@$$w0rd"`, only("named_secret=p@$$w0rd")},
		{"word in quotes", `password = "opensesame"`, only("named_secret=opensesame")},
		{"client secret", "client-secret: 'a1b2c3d4e5f6'", only("named_secret=a1b2c3d4e5f6")},
		{"YAML block", "password: |-\n  hunter22", only("named_secret=hunter22")},
		{"YAML folded", "password: >\n  hunter22", only("named_secret=hunter22")},
		{"YAML type", "password: !!str hunter22", only("named_secret=hunter22")},
		{"list", "passwords: [x]\npassword: [hunter22, other]", only("named_secret=hunter22")},
		{"three quotes", `password = """hunter22"""`, only("named_secret=hunter22")},
		{"no value and another", `password = "", user = "hunter22"`, nil},
		{"Chinese", "密码是 hunter22", only("named_secret=hunter22")},
		{"Chinese, words", "密码是错误的", nil},
		{"header of another scheme", "Authorization: Token " + invent(4, 40, "0123456789abcdef"), only("named_secret=" + invent(4, 40, "0123456789abcdef"))},
		{"alternative", "password: | token", nil},
		{"hint", `"password_hint": "my first dog 123"`, nil},
		{"count", `"token_count": 12345678, "max_tokens": 1024`, nil},
		{"count of usage", `"completion_tokens": 120, "prompt_tokens":1234567890123`, nil},
		{"type", "password: string; token: Token", nil},
		{"placeholder", `password="<your password>" token=${TOKEN} password=****`, nil},
		{"call", "token = lexer.next_token1234567(x)", nil},
		{"attribute", "self.password = password", nil},
		{"sentence", "the secret is to listen; the key: patience", nil},
		{"label", `"password": "Enter your password"`, nil},
		{"key of a map", "key: abcdefgh12345678", nil},
		{"monkey", "monkey=abcdefgh12345678", nil},
	})
}

func TestFindNamed(t *testing.T) {
	s := scanner(t, Config{})
	tests := []struct {
		member, text, want string
	}{
		{"secretAccessKey", invent(30, 32, hex16), "named_secret"},
		{"authorization_token", "abcd1234efgh", "named_secret"},
		{"password", "hunter22", "named_secret"},
		{"ssn", "219099999", "us_ssn"},
		{"phone_number", "5552671990", "phone"},
		{"user", "hunter22", ""},
		{"tokens", "12345678", ""},
		{"created", "1789000000", ""},
	}
	for _, tt := range tests {
		var got strings.Builder
		for _, f := range s.FindNamed(nil, []byte(tt.member), []byte(tt.text)) {
			got.WriteString(f.Rule)
			if f.Start != 0 || f.End != len(tt.text) {
				t.Errorf("%s: found %v in %d bytes", tt.member, f, len(tt.text))
			}
		}
		if got.String() != tt.want {
			t.Errorf("%s: %q, want %q", tt.member, got.String(), tt.want)
		}
	}
}

// TestAWSSecret: forty letters beside a key id, whatever they look like.
func TestAWSSecret(t *testing.T) {
	id := "AKIA" + "Q3" + invent(50, 14, base32)
	secret := "wordslikethisone/and" + invent(51, 20, base64ch)
	check(t, []row{
		{"after", id + "\n" + secret + "\n", only("aws_key_id="+id, "aws_secret="+secret)},
		{"before", secret + "," + id, only("aws_secret="+secret, "aws_key_id="+id)},
		{"alone", secret, nil},
		{"39 letters", id + " " + secret[1:], only("aws_key_id=" + id)},
	})
}

// TestRandom measures the last tier: how many random words of a length it
// finds. It is no promise that it finds all.
func TestRandom(t *testing.T) {
	s := scanner(t, Config{})
	for _, tt := range []struct {
		letters string
		length  int
		atLeast int
	}{
		{alnum62, 24, 700},
		{alnum62, 32, 900},
		{alnum62, 40, 950},
		{base64ch, 40, 900},
		{base64ch, 64, 900},
		{"0123456789abcdefghijklmnopqrstuvwxyz", 32, 850},
		{hex16, 64, 0},
	} {
		found := 0
		for seed := range uint64(1000) {
			found += len(s.Find(nil, []byte(" "+invent(seed, tt.length, tt.letters)+" ")))
		}
		t.Logf("%d of 1000 words of %d letters out of %d", found, tt.length, len(tt.letters))
		if found < tt.atLeast {
			t.Errorf("%d of 1000 words of %d letters out of %d, want %d", found, tt.length, len(tt.letters), tt.atLeast)
		}
	}
}

package gitleaks

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/sanitizer/audit"
	ours "github.com/lambdac/lambdac/sanitizer/detect"
)

// invent makes n letters, the same for a seed.
func invent(rng *rand.Rand, n int, letters string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[rng.IntN(len(letters))]
	}
	return string(b)
}

const (
	hex16   = "0123456789abcdef"
	alnum62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	url64   = alnum62 + "-_"
	base32  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	std64   = alnum62 + "+/"
)

// kinds invent credentials as their issuers make them.
var kinds = map[string]func(r *rand.Rand) string{
	"anthropic": func(r *rand.Rand) string { return "sk-ant-api03-" + invent(r, 93, url64) + "AA" },
	"openai": func(r *rand.Rand) string {
		return "sk-proj-" + invent(r, 74, url64) + "T3BlbkFJ" + invent(r, 74, url64)
	},
	"openai old": func(r *rand.Rand) string { return "sk-" + invent(r, 20, alnum62) + "T3BlbkFJ" + invent(r, 20, alnum62) },
	"openrouter": func(r *rand.Rand) string { return "sk-or-v1-" + invent(r, 64, hex16) },
	"google":     func(r *rand.Rand) string { return "AIza" + invent(r, 35, url64) },
	"hf":         func(r *rand.Rand) string { return "hf_" + invent(r, 34, alnum62) },
	"groq":       func(r *rand.Rand) string { return "gsk_" + invent(r, 52, alnum62) },
	"xai":        func(r *rand.Rand) string { return "xai-" + invent(r, 80, alnum62) },
	"github":     func(r *rand.Rand) string { return "ghp_" + invent(r, 36, alnum62) },
	"github pat": func(r *rand.Rand) string {
		return "github_pat_" + invent(r, 22, alnum62) + "_" + invent(r, 59, alnum62)
	},
	"gitlab": func(r *rand.Rand) string { return "glpat-" + invent(r, 20, url64) },
	"aws":    func(r *rand.Rand) string { return "AKIA" + invent(r, 16, base32) },
	"slack": func(r *rand.Rand) string {
		return "xoxb-" + invent(r, 12, "123456789") + "-" + invent(r, 13, "123456789") + "-" + invent(r, 24, alnum62)
	},
	"stripe":   func(r *rand.Rand) string { return "sk_live_" + invent(r, 24, alnum62) },
	"sendgrid": func(r *rand.Rand) string { return "SG." + invent(r, 22, url64) + "." + invent(r, 43, url64) },
	"npm":      func(r *rand.Rand) string { return "npm_" + invent(r, 36, alnum62) },
	"digital":  func(r *rand.Rand) string { return "dop_v1_" + invent(r, 64, hex16) },
	"jwt": func(r *rand.Rand) string {
		return "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"`+invent(r, 20, hex16)+`"}`)) + "." + invent(r, 43, url64)
	},
	"pem": func(r *rand.Rand) string {
		var b strings.Builder
		for range 6 {
			b.WriteString(invent(r, 64, std64) + "\n")
		}
		return "-----BEGIN RSA PRIVATE KEY-----\n" + b.String() + "-----END RSA PRIVATE KEY-----"
	},
	"url": func(r *rand.Rand) string { return "postgres://svc:" + invent(r, 12, alnum62) + "@db7/orders" },
	"password": func(r *rand.Rand) string {
		return "password: " + invent(r, 10, alnum62+"!#") + invent(r, 2, "0123456789")
	},
	"api key": func(r *rand.Rand) string { return "api_key=" + invent(r, 32, hex16) },
}

var surroundings = []string{
	"my key is %s, thanks", "(%s)", "%s.", `"%s"`, "'%s'", "`%s`", `{\"k\":\"%s\"}`, `\n%s\n`, "用%s吧", "use %s instead of the old one",
}

const prose = "Please explain why the request fails when I run this against the staging service. "

// TestSecondOpinion: in texts from which the detectors' findings are taken,
// neither gitleaks nor the audit finds anything; and how many of the planted
// values each finds by itself.
func TestSecondOpinion(t *testing.T) {
	scanner, err := ours.New(ours.Config{})
	if err != nil {
		t.Fatal(err)
	}
	second := newGitleaks(t)
	rng := rand.New(rand.NewPCG(11, 11))
	dir := t.TempDir()
	planted, byOurs, bySecond := 0, map[string]int{}, map[string]int{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		for i, around := range surroundings {
			value := kinds[kind](rng)
			text := prose + fmt.Sprintf(around, value) + " " + prose
			planted++
			found := oursIn(scanner, text)
			if covers(found, text, value) {
				byOurs[kind]++
			}
			if covers(gitleaksIn(second, text), text, value) {
				bySecond[kind]++
			}
			clean := []byte(text)
			for _, f := range slices.Backward(found) {
				clean = slices.Replace(clean, f.Start, f.End, []byte("lorem ipsum")...)
			}
			for _, f := range second.DetectString(string(clean)) {
				t.Errorf("%s in %q: gitleaks still finds %s", kind, around, f.RuleID)
			}
			name := fmt.Sprintf("%s-%d.txt", strings.ReplaceAll(kind, " ", "-"), i)
			if err := os.WriteFile(filepath.Join(dir, name), clean, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	report, err := audit.Audit(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		t.Errorf("the audit still finds %s in %s", f.Rule, f.File)
	}
	ourSum, theirSum := 0, 0
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Printf("%-10s lambdac %2d, gitleaks %2d of %d\n", kind, byOurs[kind], bySecond[kind], len(surroundings))
		ourSum, theirSum = ourSum+byOurs[kind], theirSum+bySecond[kind]
	}
	fmt.Printf("all        lambdac %d, gitleaks %d of %d\n", ourSum, theirSum, planted)
}

// covers reports that findings cover the secret part of a planted value: all
// of it, but for the names before it and what stands around a password.
func covers(found []span, text, value string) bool {
	secret := value
	for _, name := range []string{"password: ", "api_key=", "postgres://svc:"} {
		secret = strings.TrimPrefix(secret, name)
	}
	secret, _, _ = strings.Cut(secret, "@db7")
	at := strings.Index(text, secret)
	return slices.ContainsFunc(found, func(f span) bool { return f.Start <= at && f.End >= at+len(secret) })
}

package sanitizer

import "strings"

// suspicion names the rule by which a string must not be kept.
type suspicion string

const (
	trusted        suspicion = ""
	suspectKey     suspicion = "key_format"
	suspectMail    suspicion = "email"
	suspectAddress suspicion = "address"
	suspectDigits  suspicion = "digits"
	suspectRandom  suspicion = "random"
)

// suspect reports why a string that would be kept by its form looks like a
// secret or an identity. It errs towards suspicion: the price is a pseudonym.
// Time is linear.
func suspect(s string) suspicion {
	switch {
	case hasKeyFormat(s):
		return suspectKey
	case hasMail(s):
		return suspectMail
	case hasAddress(s):
		return suspectAddress
	case hasLongDigits(s):
		return suspectDigits
	case hasRandomRun(s):
		return suspectRandom
	}
	return trusted
}

// keyPrefix starts a credential when tail or more letters, digits, '-' or '_'
// follow, and no such byte stands before it.
type keyPrefix struct {
	text string
	tail int
}

// keyPrefixes are those of well-known issuers. Tails are shorter than real
// keys have, so that a cut key is found too, and long enough to leave words
// alone.
var keyPrefixes = [...]keyPrefix{
	{"sk-", 6},
	{"sk_", 6},
	{"rk_", 6},
	{"pk_live_", 6},
	{"AIza", 16},
	{"ya29.", 8},
	{"hf_", 12},
	{"gsk_", 12},
	{"xai-", 16},
	{"pplx-", 12},
	{"r8_", 12},
	{"nvapi-", 8},
	{"ghp_", 8},
	{"gho_", 8},
	{"ghu_", 8},
	{"ghs_", 8},
	{"ghr_", 8},
	{"github_pat_", 6},
	{"glpat-", 6},
	{"AKIA", 12},
	{"ASIA", 12},
	{"ABIA", 12},
	{"ACCA", 12},
	{"ABSK", 12},
	{"xoxa-", 6},
	{"xoxb-", 6},
	{"xoxp-", 6},
	{"xoxr-", 6},
	{"xoxs-", 6},
	{"SG.", 12},
	{"npm_", 12},
	{"dop_v1_", 8},
	{"eyJ", 12},
	{"org-", 12},
	{"proj_", 12},
	{"user-", 12},
	{"sess-", 8},
	{"-----BEGIN", 0},
	{"Bearer ", 6},
	{"Basic ", 6},
}

// hasKeyFormat looks at the beginnings of words only.
func hasKeyFormat(s string) bool {
	for at := range len(s) {
		if at > 0 && isWordByte(s[at-1]) {
			continue
		}
		for _, p := range keyPrefixes {
			if rest, ok := strings.CutPrefix(s[at:], p.text); ok && wordLen(rest) >= p.tail {
				return true
			}
		}
	}
	return false
}

// wordLen is the number of leading letters, digits, '-' and '_'.
func wordLen(s string) int {
	for i := range len(s) {
		if !isWordByte(s[i]) {
			return i
		}
	}
	return len(s)
}

// hasMail reports "a@b.c". Model versions such as "name@20241022" are none.
func hasMail(s string) bool {
	_, host, ok := strings.Cut(s, "@")
	return ok && strings.Contains(host, ".") || strings.Count(s, "@") > 1
}

// privateSuffixes end host names.
var privateSuffixes = [...]string{".com", ".net", ".org", ".internal", ".local", ".lan", ".corp", ".home", ".arpa"}

// hasAddress reports URLs, home folders, host names, IP and MAC addresses.
func hasAddress(s string) bool {
	if !strings.ContainsAny(s, `.:/\~`) {
		return false
	}
	lower := strings.ToLower(s)
	for _, mark := range [...]string{"://", "/home/", "/users/", "/root/", `:\`, `\\`, "~/"} {
		if strings.Contains(lower, mark) {
			return true
		}
	}
	for _, suffix := range privateSuffixes {
		if _, rest, ok := strings.Cut(lower, suffix); ok && (rest == "" || !isAlnum(rest[0])) {
			return true
		}
	}
	return strings.Count(s, ":") >= 4 || strings.Contains(s, "::") || hasDottedQuad(s)
}

// hasDottedQuad reports four groups of one to three digits with dots between.
func hasDottedQuad(s string) bool {
	groups, digits := 0, 0
	for i := range len(s) {
		switch {
		case isDigit(s[i]):
			digits++
		case s[i] == '.' && digits > 0 && digits <= 3:
			groups, digits = groups+1, 0
		default:
			groups, digits = 0, 0
		}
		if groups >= 3 && digits > 0 {
			return true
		}
	}
	return false
}

// maxDigits is the longest number that is kept: a social security number has 9
// digits, phone, card and account numbers more. maxNamed is the longest in a
// name, single separators inside it left out and dates aside: customers and
// accounts are numbered longer.
const (
	maxDigits = 8
	maxNamed  = 7
)

func hasLongDigits(s string) bool {
	digits := 0
	for i := 0; i < len(s); {
		if !isDigit(s[i]) {
			if i == 0 || !isDigit(s[i-1]) || strings.IndexByte("-. _/()", s[i]) < 0 {
				digits = 0
			}
			i++
			continue
		}
		n := len(s[i:]) - len(strings.TrimLeft(s[i:], "0123456789"))
		if date := dateLen(s[i:], n); date > 0 {
			i, digits = i+date, 0
			continue
		}
		if digits += n; digits > maxNamed {
			return true
		}
		i += n
	}
	return false
}

// dateLen is the length of the date that s starts with, 20250514 or
// 2025-05-14, whose first run of digits has length n; 0 = none. Models are
// named so, after a version: "gpt-4.1-2025-04-14".
func dateLen(s string, n int) int {
	if n == 8 && isDate(s) {
		return 8
	}
	if n == 4 && len(s) >= 10 && s[4] == '-' && s[7] == '-' && (len(s) == 10 || !isDigit(s[10])) &&
		isDate(s[:4]+s[5:7]+s[8:10]) {
		return 10
	}
	return 0
}

// hasRandomRun tests each run of letters and digits, and long runs of base64.
func hasRandomRun(s string) bool {
	for run := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '-' || r == '.' || r == '_' || r == ':' }) {
		if len(run) >= 32 && caseChanges(run)*4 > len(run) {
			return true
		}
	}
	for len(s) > 0 {
		n := 0
		for n < len(s) && isAlnum(s[n]) {
			n++
		}
		if n >= 8 && randomRun(s[:n]) {
			return true
		}
		s = s[min(n+1, len(s)):]
	}
	return false
}

// randomRun judges one run of 8 or more letters and digits.
func randomRun(run string) bool {
	var digits, turns, longest, current int
	lower, hexOnly := false, true
	letters := 0 // start of the current run of letters
	for i := range len(run) {
		c := run[i]
		digit := isDigit(c)
		if i > 0 && digit != isDigit(run[i-1]) {
			turns++
		}
		if digit {
			if randomLetters(run[letters:i]) {
				return true
			}
			digits, current, letters = digits+1, current+1, i+1
			longest = max(longest, current)
			continue
		}
		current = 0
		lower = lower || c >= 'a'
		hexOnly = hexOnly && c|0x20 <= 'f'
	}
	switch {
	case randomLetters(run[letters:]):
		return true
	case digits == 0 || digits == len(run):
		return false
	case isDate(run) && len(run) <= 10: // 20241022v2
		return false
	case len(run) >= 20, turns >= 4 && len(run) >= 10, longest >= 5:
		return true
	case hexOnly && digits >= 3 && turns >= 2:
		return true
	}
	return !lower && digits >= 4
}

// isDate reports a run that starts with a year, month and day of this century.
func isDate(run string) bool {
	if len(run) < 8 || run[:2] != "20" {
		return false
	}
	for i := range 8 {
		if !isDigit(run[i]) {
			return false
		}
	}
	month, day := run[4:6], run[6:8]
	return month >= "01" && month <= "12" && day >= "01" && day <= "31"
}

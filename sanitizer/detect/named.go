package detect

import (
	"bytes"
	"unicode/utf8"
)

// secretName is the part of a name that says that its value is a secret.
type secretName struct {
	stem string
	// password says that people choose the value: it may be a word.
	password bool
	// needs says that a name is one only with one of keyOwners before the stem
	// ("key"), or where the stem is the whole word ("pass").
	needs needs
}

type needs uint8

const (
	nothing needs = iota
	anOwner
	wholeWord
)

// secretNames are the stems; case, '_' and '-' make no difference.
var secretNames = [...]secretName{
	{"password", true, nothing},
	{"passwd", true, nothing},
	{"passwort", true, nothing},
	{"passphrase", true, nothing},
	{"passcode", true, nothing},
	{"contraseña", true, nothing},
	{"mot de passe", true, nothing},
	{"kennwort", true, nothing},
	{"密码", true, nothing},
	{"pwd", true, nothing},
	{"pass", true, wholeWord},
	{"secret", false, nothing},
	{"token", false, nothing},
	{"key", false, anOwner},
	{"credential", false, nothing},
	{"credentials", false, nothing},
	{"authorization", false, nothing},
	{"cookie", false, nothing},
	{"signature", false, nothing},
	{"jwt", false, wholeWord},
	{"sig", false, wholeWord},
	{"otp", false, wholeWord},
	{"auth", false, wholeWord},
}

// keyOwners make a secret of a key: "api_key", "secretAccessKey".
var keyOwners = [...]string{
	"api", "access", "secret", "private", "account", "auth", "session", "encryption", "encrypt", "decryption",
	"signing", "sign", "master", "shared", "license", "licence", "storage", "subscription", "service", "client", "app",
	"application", "openai", "anthropic", "azure", "aws", "gcp", "google", "gemini", "stripe", "deploy", "functions",
	"host", "rsa", "ssh", "hmac", "aes", "webhook", "admin", "root", "security", "integration", "project", "write", "read",
	"server", "publishable", "restricted",
}

// nameTails may follow a stem: "secretValue", "token_b64". Any other word
// makes the name one of something else: "token_count", "password_hint".
var nameTails = [...]string{"value", "key", "token", "secret", "hash", "b64", "base64", "string", "str", "text", "plain", "data", "header", "raw"}

// maxName and maxValue bound what is looked at around a stem.
const (
	maxName  = 64
	maxValue = 512
)

// named judges a name that holds a stem at [start, end), and the value after
// it: name: value, "name": "value", name=value, --name value, <name>value<,
// "name", "value": "…", name is value.
func (j *job) named(n *secretName, start, end int) {
	if j.s.off["named_secret"] || start < j.valueEnd {
		return
	}
	stop := j.run(ident|dash, end, maxName)
	after := j.text[end:stop]
	if !isNameTail(after) {
		return
	}
	value, said, ok := j.separator(stop)
	if !ok && (j.byteAt(stop) != ' ' || !j.isFlag(start)) {
		return
	}
	if !ok {
		value = stop + 1
	}
	if isSecretName(n, j.owner(start)) {
		j.value(value, n.password, said)
	}
}

// owner is the part of a name before its stem.
func (j *job) owner(start int) []byte {
	from := (ident | dash).back(j.text, start, maxName)
	if from < start && from > 0 && j.text[from-1] == '\\' { // the letter of "\n"
		from++
	}
	j.steps += start - from
	return j.text[from:start]
}

// isFlag reports that the name that holds at is an option: --name.
func (j *job) isFlag(at int) bool {
	from := (ident | dash).back(j.text, at, maxName)
	return j.has(from, "--") || j.has(from, "-p")
}

// isNameTail reports what may follow a stem, up to the name's end.
func isNameTail(after []byte) bool {
	for len(after) > 0 && (dash | under).in(after[0]) {
		after = after[1:]
	}
	for len(after) > 0 && (dash | under | digit).in(after[len(after)-1]) {
		after = after[:len(after)-1]
	}
	if len(after) == 0 {
		return true
	}
	for _, tail := range nameTails {
		if len(tail) == len(after) && tail[0] == fold(after[0]) && bytes.EqualFold(after, []byte(tail)) {
			return true
		}
	}
	return false
}

// isSecretName judges what stands before a stem.
func isSecretName(n *secretName, before []byte) bool {
	switch n.needs {
	case anOwner:
		for len(before) > 0 && (dash | under).in(before[len(before)-1]) {
			before = before[:len(before)-1]
		}
		return hasOwner(before)
	case wholeWord:
		return len(before) == 0 || !letters.in(before[len(before)-1])
	}
	return true
}

// hasOwner reports that a name ends with the owner of a key.
func hasOwner(before []byte) bool {
	for _, owner := range keyOwners {
		if n := len(before) - len(owner); n >= 0 && bytes.EqualFold(before[n:], []byte(owner)) {
			return true
		}
	}
	return false
}

// separator is where the value after a name begins. said reports that words
// say so, "is", which weak evidence does not follow.
func (j *job) separator(at int) (value int, said, ok bool) {
	at = j.quotes(at)
	if j.byteAt(at) == ']' || j.byteAt(at) == ')' {
		at++
	}
	at = j.run(blank, at, 4)
	switch c := j.byteAt(at); {
	case c == ':' || c == '=' || c == '>':
		at++
		for ; at < len(j.text) && (j.text[at] == '=' || j.text[at] == '>' || j.text[at] == ':'); at++ {
		}
	case c == ',' && j.valueMember(at) > 0: // {"name": "TOKEN", "value": "…"}
		at = j.valueMember(at)
	case c == '%' && (j.has(at, "%3D") || j.has(at, "%3A")):
		at += 3
	case j.hasWord(at, "is "), j.hasWord(at, "was "):
		at, said = j.run(letters, at, len("was")), true
	case j.has(at, "是"), j.has(at, "为"): // the letters of a sentence are no value
		at, said = j.run(blank, at+len("是"), 8), true
		return at, said, at < len(j.text) && j.text[at] < utf8.RuneSelf
	default:
		return 0, false, false
	}
	return j.lead(j.run(blank, at, 8)), said, true
}

// lead skips what stands between a separator and a value: the mark of a YAML
// block or type, the bracket of a list, the scheme of a header.
func (j *job) lead(at int) int {
	switch c := j.byteAt(at); c {
	case '|', '>':
		next := at + 1
		if j.byteAt(next) == '-' || j.byteAt(next) == '+' {
			next++
		}
		if j.byteAt(next) == '\n' {
			return j.run(blank, next, 16)
		}
	case '!':
		if next := j.run(letters, at+2, 8); j.has(at, "!!") && j.byteAt(next) == ' ' {
			return next + 1
		}
	case '[':
		return at + 1
	case 'T', 't', 'A', 'a':
		for _, scheme := range [...]string{"token ", "apikey "} {
			if j.hasWord(at, scheme) {
				return at + len(scheme)
			}
		}
	}
	return at
}

// quotes skips a closing quote, or an escaped one, of any depth.
func (j *job) quotes(at int) int {
	end := at
	for end < len(j.text) && end < at+8 && j.text[end] == '\\' {
		end++
	}
	if c := j.byteAt(end); c == '"' || c == '\'' || c == '`' {
		return end + 1
	}
	return at
}

// hasWord reports that an ASCII word stands at at, in any case.
func (j *job) hasWord(at int, w string) bool {
	return at+len(w) <= len(j.text) && bytes.EqualFold(j.text[at:at+len(w)], []byte(w))
}

// valueMember is where the value of `, "value":` begins, 0 if none follows.
func (j *job) valueMember(at int) int {
	at = j.run(blank, at+1, 16)
	at = j.quotes(at)
	if !j.hasWord(at, "value") {
		return 0
	}
	at = j.quotes(at + len("value"))
	at = j.run(blank, at, 4)
	if j.byteAt(at) != ':' {
		return 0
	}
	return at + 1
}

// value judges the value of a secret's name.
func (j *job) value(start int, password, said bool) {
	open := j.quotes(start)
	quoted := open > start
	if quoted && j.byteAt(open) == j.text[open-1] && j.byteAt(open+1) == j.text[open-1] { // three
		start, open = open+1, open+2
	}
	end := open
	for ; end < len(j.text) && end < open+maxValue && !j.endsValue(start, open, end); end++ {
	}
	j.steps += end - start
	for !quoted && end > open && (j.text[end-1] == '.' || j.text[end-1] == ':') {
		end--
	}
	v := j.text[open:end]
	call := !quoted && (j.byteAt(end) == '(' || j.byteAt(end) == '[')
	if !call && isSecretValue(v, password, quoted && !said) {
		j.valueEnd = max(j.valueEnd, end)
		j.add("named_secret", Secret, open, end)
	}
}

// endsValue reports that the value that begins at open, with its quote from
// start on, ends at at.
func (j *job) endsValue(start, open, at int) bool {
	c := j.text[at]
	if open > start { // up to the same quote, or the line's end
		return c == '\n' || bytes.HasPrefix(j.text[at:], j.text[start:open])
	}
	switch c {
	case ',', ';', '&', '"', '\'', '`', '<', '>', '(', ')', '[', ']', '{', '}', '\\', '|':
		return true
	}
	return c <= ' '
}

// isSecretValue judges a value under a secret's name.
func isSecretValue(v []byte, password, quoted bool) bool {
	if len(v) < 4 || isPlaceholder(v) || bytes.IndexByte(v, ' ') >= 0 || !quoted && (dot|colon).in(v[0]) {
		return false
	}
	kinds, distinct := kindsOf(v)
	if bytes.Contains(v, []byte("://")) { // what a URL holds, other rules find
		return false
	}
	if !quoted && kinds&dot != 0 && kinds&^(alnum|under|dot) == 0 && !scrambled(v) { // asn1.signature
		return false
	}
	plain := kinds&^(letters|under|dot|dash) == 0 // a word, or a name in a program
	switch {
	case distinct < 4:
		return false
	case password && quoted:
		return !plain || len(v) >= 6 && !isWordForSecret(v)
	case password:
		return !plain && (kinds&letters != 0 || len(v) >= 6) && len(v) >= 6
	case quoted:
		return len(v) >= 8 && distinct >= 6 && (kinds&digit != 0 && kinds&letters != 0 || len(v) >= 20 && !plain)
	}
	return len(v) >= 12 && distinct >= 8 && kinds&digit != 0 && kinds&letters != 0 && (len(v) >= 20 || scrambled(v))
}

// kindsOf is which sets the bytes of v are in, and how many different bytes
// there are.
func kindsOf(v []byte) (kinds alphabet, distinct int) {
	var seen [256]bool
	other := false
	for _, c := range v {
		kinds |= sets[c]
		other = other || sets[c] == 0
		if !seen[c] {
			seen[c] = true
			distinct++
		}
	}
	if other { // a mark of no set is as telling as a percent sign
		kinds |= percent
	}
	return kinds, distinct
}

// wordsForSecret stand where a form, a schema or a manual names the value.
var wordsForSecret = [...]string{"password", "passwd", "passwort", "string", "secret", "required", "optional", "hidden", "object", "boolean", "number", "undefined", "your_password", "your-password", "yourpassword", "changeme", "example", "username", "invalid", "missing", "redacted", "masked", "[redacted]"}

func isWordForSecret(v []byte) bool {
	for _, w := range wordsForSecret {
		if bytes.EqualFold(v, []byte(w)) {
			return true
		}
	}
	return false
}

// introduce takes the name of the member whose value the text is.
func (j *job) introduce(member []byte) {
	outer := j.text
	j.text = member
	a, state := j.s.literals, uint32(0)
	secret, password := false, false
	for i, c := range member {
		state = a.next[state+uint32(a.class[c])]
		if state < a.accept {
			continue
		}
		for _, id := range a.found(state) {
			switch l := &j.s.table[id]; l.kind {
			case kindNear:
				j.told(l, i+1)
			case kindName:
				n := &secretNames[l.index]
				stop := ident.run(member, i+1, maxName)
				if isNameTail(member[i+1:stop]) && isSecretName(n, j.owner(i+1-len(l.text))) {
					secret, password = true, password || n.password
				}
			}
		}
	}
	j.text = outer
	for c := range j.last {
		j.last[c] = min(j.last[c], 1)
	}
	j.plainNumbers = namesPlainNumber(member)
	if secret && isSecretValue(outer, password, true) {
		j.add("named_secret", Secret, 0, len(outer))
	}
}

// plainTails end the names of numbers that are no one's: ids, times, counts.
var plainTails = [...]string{"id", "ids", "ts", "timestamp", "time", "millis", "ms", "us", "ns", "at", "count", "bytes", "size", "created", "seed", "offset", "index", "total", "order", "trace", "span", "number_of"}

// namesPlainNumber reports that the last word of a member's name is one of
// plainTails: "order_id", "atMillis".
func namesPlainNumber(member []byte) bool {
	for _, tail := range plainTails {
		n := len(member) - len(tail)
		if n < 0 || !bytes.EqualFold(member[n:], []byte(tail)) {
			continue
		}
		if n == 0 || !letters.in(member[n-1]) || uppers.in(member[n]) && !uppers.in(member[n-1]) {
			return true
		}
	}
	return false
}

package recorder

import (
	"bytes"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// maxHead bounds what is kept of a message's head, and of its trailer: names,
// values, and fieldCost for each field. Fields beyond are counted and left
// out. The last framingRoom of it is for those that say what the body is, so
// that a long head does not hide where its message ends.
const (
	maxHead     = 64 << 10
	framingRoom = 2 << 10
	fieldCost   = 32
)

// head is the start line and the header of one message.
type head struct {
	// h2: the head came in a header block of HTTP/2, which has no minor.
	h2 bool
	// minor is the version 1.minor; -1 is HTTP/0.9, a line without header
	// that a body without head answers.
	minor  int
	method string
	target string
	// status is 0 in a request.
	status int
	fields []trace.Field
	// trailer are the fields behind a chunked body.
	trailer []trace.Field
	// cut is the number of header bytes left out by maxHead; broken the number
	// of header lines that are no fields.
	cut, broken int64
	frame       framing
}

// versionH2 is the version of HTTP/2.
const versionH2 = "2"

// version is the version as records have it.
func (h *head) version() string {
	switch {
	case h.h2:
		return versionH2
	case h.minor > 0:
		return "1.1"
	}
	return "1.0"
}

// framing is what the header says about the message's body (RFC 9112,
// section 6).
type framing struct {
	length  int64 // of Content-Length; -1 = none
	te      bool  // Transfer-Encoding is there
	chunked bool  // and its last coding is chunked
	codings []string
	coding  []string // Content-Encoding, in the order they were applied
	expect  bool     // Expect: 100-continue
	fault   string   // why the length of the body cannot be known
	both    bool     // Transfer-Encoding and Content-Length

	badLength bool
}

// fieldList collects header lines without a string for each: one string holds
// them all in the end.
type fieldList struct {
	text  []byte
	marks []fieldMark
	cost  int
	cut   int64
	bad   int64
	// left: the last field was left out, and so is what is folded to it.
	left bool
}

type fieldMark struct{ name, value, end int }

func (l *fieldList) reset() {
	*l = fieldList{text: l.text[:0], marks: l.marks[:0]}
}

// add takes one line without its end. A line that begins with a blank goes on
// with the field before (obsolete folding, RFC 9112 section 5.2).
func (l *fieldList) add(line []byte) {
	if line[0] == ' ' || line[0] == '\t' {
		l.fold(bytes.Trim(line, " \t"))
		return
	}
	name, value, ok := bytes.Cut(line, []byte(":"))
	name = bytes.TrimRight(name, " \t")
	if !ok || !isToken(name) {
		l.bad++
		return
	}
	value = bytes.Trim(value, " \t")
	room := maxHead - framingRoom
	if tellsFraming(name) {
		room = maxHead
	}
	if l.left = l.full(len(name)+len(value)+fieldCost, room); l.left {
		return
	}
	at := len(l.text)
	l.text = append(append(l.text, name...), value...)
	l.marks = append(l.marks, fieldMark{at, at + len(name), len(l.text)})
}

func (l *fieldList) fold(more []byte) {
	if len(l.marks) == 0 {
		l.bad++
		return
	}
	if l.left {
		l.cut += int64(len(more))
		return
	}
	if l.full(len(more)+1, maxHead-framingRoom) {
		return
	}
	last := &l.marks[len(l.marks)-1]
	if last.end > last.value {
		l.text = append(l.text, ' ')
	}
	l.text = append(l.text, more...)
	last.end = len(l.text)
}

// tellsFraming reports whether a field is of those that say what the body is.
func tellsFraming(name []byte) bool {
	for _, known := range [...]string{"content-length", "transfer-encoding", "content-encoding", "content-type", "expect", "upgrade"} {
		if len(name) == len(known) && strings.EqualFold(string(name), known) {
			return true
		}
	}
	return false
}

func (l *fieldList) full(n, room int) bool {
	if l.cost+n > room {
		l.cut += int64(n)
		return true
	}
	l.cost += n
	return false
}

// fields returns what was collected; nil if nothing.
func (l *fieldList) fields() []trace.Field {
	if len(l.marks) == 0 {
		return nil
	}
	text := string(l.text)
	list := make([]trace.Field, len(l.marks))
	for i, m := range l.marks {
		list[i] = trace.Field{Name: text[m.name:m.value], Value: text[m.value:m.end]}
	}
	return list
}

// readFraming reads what the fields say about the body.
func readFraming(fields []trace.Field) framing {
	f := framing{length: -1}
	for _, field := range fields {
		switch {
		case equalFold(field.Name, "content-length"):
			f.contentLength(field.Value)
		case equalFold(field.Name, "transfer-encoding"):
			f.transferEncoding(field.Value)
		case equalFold(field.Name, "content-encoding"):
			f.coding = appendList(f.coding, field.Value)
		case equalFold(field.Name, "expect"):
			f.expect = f.expect || strings.EqualFold(field.Value, "100-continue")
		}
	}
	f.settle()
	return f
}

// contentLength takes one field, whose value may be a list of equal numbers.
func (f *framing) contentLength(value string) {
	for part := range strings.SplitSeq(value, ",") {
		n, ok := parseLength(strings.Trim(part, " \t"))
		if !ok || f.length >= 0 && f.length != n {
			f.badLength = true
			return
		}
		f.length = n
	}
}

// maxDigits is what a length of 63 bits can have: more are either a number
// that cannot be, or zeros put there to be read in two ways.
const maxDigits = 19

func parseLength(s string) (int64, bool) {
	if s == "" || len(s) > maxDigits {
		return 0, false
	}
	var n uint64
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + uint64(s[i]-'0')
	}
	return int64(n), n <= 1<<63-1
}

func (f *framing) transferEncoding(value string) {
	f.te = true
	for _, coding := range appendList(nil, value) {
		if f.chunked { // something was applied after chunked
			f.fault = faultTransfer
			return
		}
		if coding == "chunked" {
			f.chunked = true
		} else {
			f.codings = append(f.codings, coding)
		}
	}
}

// settle applies RFC 9112, section 6.3: Transfer-Encoding overrides
// Content-Length.
func (f *framing) settle() {
	switch {
	case f.te:
		f.both = f.length >= 0 || f.badLength
		f.length = -1
	case f.badLength:
		f.fault = faultLength
	}
}

// Reasons for which a message could not be followed to its end.
const (
	faultStart    = "start_line"
	faultVersion  = "http_0.9"
	faultLength   = "content_length"
	faultTransfer = "transfer_encoding"
	faultChunk    = "chunk"
)

// appendList appends the members of a comma-separated list in lower case.
func appendList(list []string, value string) []string {
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.ToLower(strings.Trim(part, " \t")); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// fieldValue returns the first field of that name (in lower case), "" if none.
func fieldValue(fields []trace.Field, name string) string {
	for _, f := range fields {
		if equalFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// equalFold compares with a name in lower case; lengths differ mostly.
func equalFold(s, lower string) bool {
	return len(s) == len(lower) && strings.EqualFold(s, lower)
}

// parseRequestLine reads "METHOD target HTTP/1.x" without its line end.
func parseRequestLine(line []byte, h *head) bool {
	line = bytes.TrimRight(line, " \t")
	method, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(rest) == 0 || len(method) > maxMethod || !isToken(method) {
		return false
	}
	at := bytes.LastIndexByte(rest, ' ')
	if at < 0 && string(method) == "GET" && rest[0] == '/' {
		h.method, h.target, h.minor = "GET", string(rest), -1
		return true
	}
	if at < 0 || !parseVersion(rest[at+1:], h) {
		return false
	}
	target := bytes.Trim(rest[:at], " \t")
	if len(target) == 0 || bytes.IndexByte(target, 0) >= 0 {
		return false
	}
	h.method, h.target = methodName(method), string(target)
	return true
}

// maxMethod bounds a method's name; the longest in the registry has 17.
const maxMethod = 24

// methodName spares the copy of the usual ones.
func methodName(b []byte) string {
	switch string(b) {
	case "GET":
		return "GET"
	case "POST":
		return "POST"
	case "HEAD":
		return "HEAD"
	}
	return string(b)
}

// parseStatusLine reads "HTTP/1.x NNN reason" without its line end.
func parseStatusLine(line []byte, h *head) bool {
	if len(line) < 12 || line[8] != ' ' || !parseVersion(line[:8], h) {
		return false
	}
	if len(line) > 12 && line[12] != ' ' && line[12] != '\t' {
		return false
	}
	n := 0
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return false
		}
		n = n*10 + int(c-'0')
	}
	h.status = n
	return n >= 100
}

func parseVersion(b []byte, h *head) bool {
	if len(b) != 8 || string(b[:7]) != "HTTP/1." || b[7] < '0' || b[7] > '9' {
		return false
	}
	h.minor = min(int(b[7]-'0'), 1)
	return true
}

// mayStart reports whether the beginning of a line can still become a start
// line.
func mayStart(answer bool, part []byte) bool {
	if answer {
		n := min(len(part), len("HTTP/1."))
		return string(part[:n]) == "HTTP/1."[:n]
	}
	method, _, whole := bytes.Cut(part, []byte(" "))
	if whole && len(method) == 0 {
		return false
	}
	return len(method) <= maxMethod && (len(method) == 0 || isToken(method))
}

// usualMethods begin a request line where bytes of a body may be as well.
var usualMethods = [...]string{"GET ", "POST ", "HEAD ", "PUT ", "DELETE ", "PATCH ", "OPTIONS "}

// mayBeUsual reports whether a line can begin with a usual method.
func mayBeUsual(part []byte) bool {
	for _, method := range usualMethods {
		n := min(len(part), len(method))
		if string(part[:n]) == method[:n] {
			return true
		}
	}
	return false
}

func isToken(b []byte) bool {
	for _, c := range b {
		if !tokenByte[c] {
			return false
		}
	}
	return len(b) > 0
}

// tokenByte marks the characters of a token (RFC 9110, section 5.6.2).
var tokenByte = func() (t [256]bool) {
	for c := '0'; c <= '9'; c++ {
		t[c] = true
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = true, true
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		t[c] = true
	}
	return t
}()

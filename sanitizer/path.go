package sanitizer

import "strings"

const (
	// cutSegment stands for an identifier in a path template.
	cutSegment = "{id}"
	// maxSegments bounds the template's length.
	maxSegments = 16
)

// target is a request target in parts. All of it is raw.
type target struct {
	authority, path, query string
	userinfo               bool
}

// splitTarget reads origin-form, absolute-form, authority-form and "*"
// (RFC 9112 §3.2). The fragment, which no client should send, is dropped.
func splitTarget(raw string) (t target) {
	raw, _, _ = strings.Cut(raw, "#")
	raw, t.query, _ = strings.Cut(raw, "?")
	if _, rest, ok := strings.Cut(raw, "://"); ok && !strings.HasPrefix(raw, "/") {
		t.authority, raw = rest, "/"
		if slash := strings.IndexByte(rest, '/'); slash >= 0 {
			t.authority, raw = rest[:slash], rest[slash:]
		}
	}
	if at := strings.LastIndexByte(t.authority, '@'); at >= 0 {
		t.userinfo, t.authority = true, t.authority[at+1:]
	}
	t.path = raw
	return t
}

// pathTemplate keeps the policy's words and versions and cuts the rest.
func (s *Sanitizer) pathTemplate(path string) string {
	if path == "" || path == "*" || path == "/" {
		return path
	}
	rest, ok := strings.CutPrefix(path, "/")
	if !ok { // authority-form, or no path at all
		s.tally.add("path_segment", "path_template", 1)
		return cutSegment
	}
	var out strings.Builder
	parent := false
	segments := 0
	for segment := range strings.SplitSeq(rest, "/") {
		if segments++; segments > maxSegments {
			s.tally.add("path_length", "path_template", 1)
			out.WriteString("/{more}")
			break
		}
		kept := s.segment(segment, parent)
		_, parent = s.pathParents[kept]
		out.WriteByte('/')
		out.WriteString(kept)
	}
	return out.String()
}

// segment returns what is kept of one path segment. A method after a colon, as
// in models/{id}:generateContent, is a word of its own.
func (s *Sanitizer) segment(segment string, afterParent bool) string {
	if segment == "" {
		return ""
	}
	if s.isPathWord(segment) && !afterParent {
		return segment
	}
	s.tally.add("path_segment", "path_template", 1)
	if at := strings.LastIndexByte(segment, ':'); at >= 0 && s.isPathWord(segment[at+1:]) {
		return cutSegment + segment[at:]
	}
	return cutSegment
}

func (s *Sanitizer) isPathWord(word string) bool {
	_, ok := s.pathWords[word]
	return ok || isVersionSegment(word)
}

// methods are those of the IANA registry that clients of services send.
var methods = [...]string{
	"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
}

// method returns a registered method, or "other".
func method(m string) string {
	for _, known := range methods {
		if m == known {
			return known
		}
	}
	return otherWord
}

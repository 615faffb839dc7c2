package detect

import "bytes"

// maxAuthority bounds what stands between "://" and the path.
const maxAuthority = 512

// url judges the part of a URL before its host: "user:password@" as a whole,
// or a token alone. Placeholders such as ${PASSWORD} and %s are none.
func (j *job) url(start int) {
	if !alnum.in(j.byteAt(start - len("://") - 1)) {
		return
	}
	stop := min(len(j.text), start+maxAuthority)
	end := start
	at := -1
	for ; end < stop && !endsAuthority(j.text[end]); end++ {
		if j.text[end] == '@' {
			at = end
		}
	}
	j.steps += end - start
	if at <= start {
		return
	}
	user, password, both := bytes.Cut(j.text[start:at], []byte(":"))
	switch {
	case both && len(password) > 0 && !isPlaceholder(password) && !isExample(j.text[start:at]):
		j.add("url_password", Secret, start, at)
	case !both && len(user) >= 16 && varied(user):
		j.add("url_password", Secret, start, at)
	}
}

// endsAuthority reports a byte that cannot be in an authority (RFC 3986).
func endsAuthority(c byte) bool {
	switch c {
	case '/', '?', '#', '"', '\'', '`', '<', '>', '\\', '|', '^', ',':
		return true
	}
	return c <= ' '
}

// isExample reports the userinfo of manuals.
func isExample(userinfo []byte) bool {
	switch string(userinfo) {
	case "user:pass", "user:password", "user:passwd", "username:password", "[user:passwd", "user:secret":
		return true
	}
	return false
}

// isPlaceholder reports that a value stands for one: a variable, a format or
// a hint in brackets, or all of one byte.
func isPlaceholder(value []byte) bool {
	switch value[0] {
	case '$', '{', '<', '[', '(', '*':
		return true
	case '%': // %s, %(name)s, %NAME%
		return len(value) < 5 || value[1] == '(' || value[len(value)-1] == '%'
	}
	for _, c := range value {
		if c != value[0] {
			return false
		}
	}
	return true
}

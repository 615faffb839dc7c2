package detect

import (
	"bytes"
	"encoding/base64"
)

// scheme judges what follows Bearer or Basic, the schemes of an Authorization
// header (RFC 6750, RFC 7617).
func (j *job) scheme(start, end int) {
	if j.joined(start) || !(blank | plus).in(j.byteAt(end)) { // a form has a plus for a blank
		return
	}
	const bearer, basic = len("bearer"), 8
	value := j.run(blank|plus, end, 4)
	stop := j.run(urlsafe|dot|tilde|plus|slash|equals, value, maxKey)
	credential := j.text[value:stop]
	switch {
	case end-start == bearer:
		if len(credential) >= 16 && varied(credential) {
			j.add("auth_scheme", Secret, value, stop)
		}
	case len(credential) >= basic && isUserPassword(credential):
		j.add("auth_scheme", Secret, value, stop)
	}
}

// isUserPassword reports base64 of a user, a colon and a password, all of
// them printable.
func isUserPassword(encoded []byte) bool {
	var buf [192]byte
	encoded = bytes.TrimRight(encoded, "=.")
	encoded = encoded[:min(len(encoded), len(buf))]
	n, err := base64.RawStdEncoding.Decode(buf[:], encoded[:len(encoded)&^3])
	if err != nil {
		return false
	}
	for _, c := range buf[:n] {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return bytes.IndexByte(buf[:n], ':') >= 0
}

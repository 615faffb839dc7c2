package detect

// jwt judges a JSON web token (RFC 7515, 7516): two to five parts of
// base64url with dots between, the first of which is a JSON object, "eyJ"
// (`{"`). The signature may be missing where a text was cut.
func (j *job) jwt(start int) {
	if !j.has(start, "eyJ") || j.joined(start) || start < j.valueEnd && j.byteAt(start-1) == '.' {
		return
	}
	const shortest = 10
	end := j.run(urlsafe, start, maxKey)
	if end-start < shortest || j.byteAt(end) != '.' {
		return
	}
	parts := 1
	for parts < 5 && j.byteAt(end) == '.' {
		next := j.run(urlsafe, end+1, maxKey*4)
		if next == end+1 && parts != 1 { // JWE may leave its second part empty
			break
		}
		end = next
		parts++
	}
	if end-start >= 2*shortest && j.text[end-1] != '.' {
		j.add("jwt", Secret, start, end)
	}
}

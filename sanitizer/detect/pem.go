package detect

import "bytes"

// maxPEM bounds a block; a chain of certificates is several.
const maxPEM = 16 << 10

// pem judges a PEM block (RFC 7468) from its first line on. One whose end is
// missing reaches as far as lines look like its inside.
func (j *job) pem(start int) {
	if !j.has(start, "-----BEGIN ") || start < j.blockEnd {
		return
	}
	label := j.run(uppers|digit|blank, start+len("-----BEGIN "), 40)
	if !j.has(label, "-----") {
		return
	}
	inside := j.headers(label + len("-----"))
	stop := j.block(inside, min(len(j.text), inside+maxPEM))
	if stop == inside { // the first line alone, in a program
		return
	}
	if marker := stop; j.toMarker(&marker) {
		end := j.run(uppers|digit|blank, marker+len("-----END "), 40)
		stop = min(len(j.text), end+len("-----"))
	}
	j.blockEnd = stop
	j.add("pem", Secret, start, stop)
}

// headers is the end of the lines "Name: value" of RFC 1421 and of OpenPGP.
func (j *job) headers(at int) int {
	for range 5 {
		for at < len(j.text) && isBetweenLines(j.text, at) {
			at++
		}
		colonAt := j.run(letters|dash, at, 24)
		if colonAt == at || !j.has(colonAt, ": ") {
			return at
		}
		at = colonAt
		for stop := at + 128; at < len(j.text) && at < stop && j.text[at] != '\n' && j.text[at] != '\\'; at++ {
		}
	}
	return at
}

// toMarker moves at to the last line of a block, if it stands within the few
// bytes of separators, or the short last line, that follow.
func (j *job) toMarker(at *int) bool {
	const reach = 256
	window := j.text[*at:min(len(j.text), *at+reach)]
	n := bytes.Index(window, []byte("-----"))
	j.steps += reach
	if n < 0 || !bytes.HasPrefix(window[n:], []byte("-----END ")) {
		return false
	}
	*at += n
	return true
}

// block is the end of the lines of base64 from at on: words of 16 letters or
// more, or the last one, with line ends, real or written as escapes, quotes
// and plus signs between.
func (j *job) block(at, limit int) int {
	first, end := at, at
	for at < limit && isBetweenLines(j.text, at) {
		at++
	}
	for at < limit {
		line := j.run(b64|equals, at, limit-at)
		if line-at < 16 { // the last one, if it follows at once
			if line == at || end == first || at-end > len(`\n`) || j.byteAt(line) == ' ' {
				return end
			}
			return line
		}
		end = line
		for at = line; at < limit && isBetweenLines(j.text, at); at++ {
		}
		if at == line {
			return end
		}
	}
	return end
}

// isBetweenLines reports a byte that separates the lines of a block.
func isBetweenLines(text []byte, at int) bool {
	switch text[at] {
	case '\n', '\r', ' ', '\t', '\\', '"', '\'', ',':
		return true
	case 'n', 'r', 't':
		return text[at-1] == '\\'
	case '+':
		return text[at-1] == ' '
	}
	return false
}

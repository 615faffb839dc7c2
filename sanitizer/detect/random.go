package detect

// random judges a word of base64 letters by its look: letters of both cases
// and digits that change often, as in base64, base62 and base36. Hexadecimal
// words are hashes and ids far more often than keys, so they need a name or a
// prefix that says so.
func (j *job) random(start, end int) {
	for start < end && (dash | under | slash).in(j.text[start]) {
		start++
	}
	for end > start && (dash | under | slash).in(j.text[end-1]) {
		end--
	}
	if j.has(start, "0x") {
		start += len("0x")
	}
	if j.has(start, "sha256-") || j.has(start, "sha384-") || j.has(start, "sha512-") || j.has(start-3, "h1:") {
		return // digests of what is public
	}
	if end-start < minRandom {
		return
	}
	judged := j.text[start:min(end, start+256)]
	j.steps += len(judged)
	if looksRandom(judged) {
		j.add("random", Secret, start, end)
	}
}

// looksRandom counts the places where the kind of letter changes. In base62,
// 45 of 100 do, an upper-case letter before a lower-case one left out; in
// names written in camel case, at most 20 do. The numbers of bits that names
// in programs have, AMD64SHA256, are no change.
func looksRandom(w []byte) bool {
	c := count(w)
	switch {
	case c.hexOnly, c.digits < 2, c.lowers+c.capitals == 0, c.longest < 8, (len(w)-c.alnum)*8 > len(w):
		return false
	case c.lowers == 0 || c.capitals == 0:
		return c.changes*4 >= len(w) && c.digits*10 >= len(w)
	case c.alike >= 6 && len(w) < 32: // letters of one case in a row: a word, more often than not
		return c.changes*5 >= len(w)*2
	}
	return c.changes*10 >= len(w)*3
}

// counts is what looksRandom goes by.
type counts struct {
	alnum, digits, lowers, capitals int
	changes                         int // of kind, from one letter to the next
	alike                           int // the most letters of one case in a row
	longest                         int // letters without a mark between
	hexOnly                         bool
}

// count counts over the parts of a word between its marks; parts that are
// hexadecimal are ids and change nothing.
func count(w []byte) (total counts) {
	total.hexOnly = true
	for len(w) > 0 {
		n := alnum.run(w, 0, len(w))
		c := countPart(w[:n])
		total.alnum += c.alnum
		total.longest = max(total.longest, n)
		if !c.hexOnly {
			total.hexOnly = false
			total.digits += c.digits
			total.lowers += c.lowers
			total.capitals += c.capitals
			total.changes += c.changes
			total.alike = max(total.alike, c.alike)
		}
		w = w[min(n+1, len(w)):]
	}
	return total
}

func countPart(w []byte) counts {
	c := counts{alnum: len(w), hexOnly: hexAny.run(w, 0, len(w)) == len(w)}
	same := 0
	fresh := true // nothing before to change from
	for i := 0; i < len(w); i++ {
		set := sets[w[i]]
		if n := bits(w[i:]); n > 0 && (i == 0 || sets[w[i-1]]&digit == 0) {
			c.digits += n
			i += n - 1
			same, fresh = 0, true
			continue
		}
		switch {
		case set&digit != 0:
			c.digits++
		case set&uppers != 0:
			c.capitals++
		default:
			c.lowers++
		}
		if !fresh && changesKind(sets[w[i-1]], set) {
			c.changes++
			same = 0
		}
		fresh = false
		if set&digit == 0 {
			same++
		}
		c.alike = max(c.alike, same)
	}
	return c
}

// bits is the length of a number of bits that w begins with, 0 if none.
func bits(w []byte) int {
	n := digit.run(w, 0, 4)
	switch string(w[:n]) {
	case "16", "32", "64", "128", "256", "384", "512", "1024", "2048", "4096":
		return n
	}
	return 0
}

// changesKind reports that two neighbours are of different kinds; a capital
// that begins a word changes nothing.
func changesKind(a, b alphabet) bool {
	return a&digit != 0 != (b&digit != 0) ||
		a&digit == 0 && a&uppers == 0 && b&uppers != 0
}

// opaque judges a very long word: media, an archive, or anything else in
// which nothing can be seen. It looks at both ends.
func (j *job) opaque(start, end int) bool {
	const sample = 256
	j.steps += 2 * sample
	if !mixed(j.text[start:start+sample]) || !mixed(j.text[end-sample:end]) {
		return false
	}
	j.add("opaque", Opaque, start, j.run(equals, end, 2))
	return true
}

// mixed reports digits and letters of both cases.
func mixed(w []byte) bool {
	var kinds alphabet
	for _, c := range w {
		kinds |= sets[c]
	}
	return kinds&digit != 0 && kinds&uppers != 0 && kinds&(hexLower|lower) != 0
}

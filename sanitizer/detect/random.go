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
// names written in camel case, at most 20 do.
func looksRandom(w []byte) bool {
	var changes, digits, lowers, capitals, marks, segment, longest int
	hexOnly := true
	for i, c := range w {
		set := sets[c]
		if set&alnum == 0 {
			marks++
			segment = i + 1
			continue
		}
		longest = max(longest, i+1-segment)
		hexOnly = hexOnly && set&hexAny != 0
		switch {
		case set&digit != 0:
			digits++
		case set&uppers != 0:
			capitals++
		default:
			lowers++
		}
		if i > segment && changesKind(sets[w[i-1]], set) {
			changes++
		}
	}
	switch {
	case hexOnly, digits < 2, digits == len(w)-marks, longest < 8:
		return false
	case marks*8 > len(w):
		return false
	case lowers == 0 || capitals == 0:
		return changes*4 >= len(w) && digits*10 >= len(w)
	}
	return changes*10 >= len(w)*3
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

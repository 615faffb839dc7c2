package detect

// ipv4 judges four numbers up to 255 with dots between; a fifth makes it
// something else, as do a version's marks. Loopback and unspecified addresses
// and masks tell nothing.
func (j *job) ipv4(num *number, inside bool) int {
	if num.n < 4 || !j.same(num, 4, []byte(".")) || inside || num.groups[3].len() > 3 {
		return 0
	}
	start, end := num.groups[0].start, num.groups[3].end
	from := 0
	var parts [4]int
	for i, g := range num.groups[:4] {
		n := g.len()
		if n > 3 || n > 1 && num.digits[from] == 0 {
			return 0
		}
		parts[i] = num.value(from, from+n)
		from += n
		if parts[i] > 255 {
			return 0
		}
	}
	switch {
	case !j.ends(end), parts[0] == 0, parts[0] == 127, parts[0] == 255, j.near(nearVersion, start):
		return end
	case j.byteAt(start-1) == '/' && alnum.in(j.byteAt(start-2)), j.byteAt(start-1) == '=' && j.byteAt(start-2) == '=':
		return end // Chrome/120.0.0.1, package==1.2.3.4
	}
	if parts[0] > 9 || parts[0] > 2 && max(parts[1], parts[2], parts[3]) >= 100 || j.isAddressee(start, end) {
		j.add("ip", IP, start, end)
	}
	return end
}

// isAddressee reports that what stands around four numbers says that they are
// an address: object ids, sections and versions begin with small numbers too.
func (j *job) isAddressee(start, end int) bool {
	c := j.byteAt(end)
	return j.near(nearIP, start) || j.has(start-3, "://") || j.byteAt(start-1) == '@' || (c == ':' || c == '/') && digit.in(j.byteAt(end+1))
}

// address judges the word [start, end), which has a digit and a ':' or '-'
// beside it, as part of a MAC or IPv6 address.
func (j *job) address(start, end int) {
	if start < j.addressEnd || end-start > 4 {
		return
	}
	const longest = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")
	word := start
	start = j.pastEscape((hexAny|colon|dash).back(j.text, start, longest), word)
	for at := start; at <= word; at++ { // "key:00:1a:…" begins after a mark
		if (at == start || j.text[at-1] == ':' || j.text[at-1] == '-' && !j.joined(at)) && j.mac(at) {
			return
		}
	}
	for start < end && (j.text[start] == '-' || j.text[start] == ':' && j.byteAt(start+1) != ':') {
		start++
	}
	end = j.run(hexAny|colon|dot, start, longest+1)
	j.addressEnd = max(j.addressEnd, end)
	for end > start && (dot | colon).in(j.text[end-1]) && !j.has(end-2, "::") {
		end--
	}
	if end-start < len("1::2:3") || j.joined(start) || j.lettersAfter(end) || j.byteAt(start-1) == '.' {
		return
	}
	if isIPv6(j.text[start:end]) {
		j.add("ip", IP, start, end)
	}
}

// isIPv6 reports an address in one of the forms of RFC 4291, section 2.2,
// with a digit and at least three groups, since names in programs have colons
// too.
func isIPv6(s []byte) bool {
	groups, length, gaps, digits, long := 0, 0, 0, 0, false
	for i, c := range s {
		switch {
		case hexAny.in(c):
			if length++; length > 4 {
				return false
			}
			if length == 1 {
				groups++
			}
			long = long || length > 2 // eight pairs are a fingerprint
			if digit.in(c) {
				digits++
			}
		case c == ':':
			if length == 0 && i > 0 {
				gaps++
			}
			length = 0
		default: // the dotted end of a mapped address is found as IPv4
			return gaps == 1 && digits > 0
		}
	}
	if s[len(s)-1] == ':' && gaps == 0 {
		return false
	}
	return digits > 0 && (gaps == 0 && groups == 8 && long || gaps == 1 && groups >= 3 && groups <= 7)
}

// mac judges six pairs of hexadecimal digits with the same mark between.
func (j *job) mac(start int) bool {
	const length = len("00:00:00:00:00:00")
	if start+length > len(j.text) {
		return false
	}
	mark := j.text[start+2]
	if mark != ':' && mark != '-' {
		return false
	}
	same := true
	for i, c := range j.text[start : start+length] {
		if i%3 == 2 && c != mark || i%3 != 2 && !hexAny.in(c) {
			return false
		}
		same = same && (i%3 == 2 || fold(c) == fold(j.text[start]))
	}
	end := start + length
	j.steps += length
	if j.joined(start) || j.goesOn(end) || j.byteAt(end) == ':' && hexAny.in(j.byteAt(end+1)) {
		return false
	}
	j.addressEnd = end
	if !same { // all zero or all one is nobody's
		j.add("mac", MAC, start, end)
	}
	return true
}

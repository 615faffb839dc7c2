package detect

import "bytes"

// maxGroups and maxDigits bound a number: no number that is looked for has
// more groups of digits, or more digits in one.
const (
	maxGroups = 8
	maxDigits = 19
)

// group is a run of digits.
type group struct{ start, end int }

func (g group) len() int { return g.end - g.start }

// number is digits in groups with separators between, as people write them.
type number struct {
	groups [maxGroups]group
	n      int
	// digits are those of all groups, up to the buffer's length.
	digits [40]byte
	total  int
}

// number judges what begins with the digit at at: rules for digits alone
// where they stand alone, rules for letters and digits where letters stand
// beside.
func (j *job) number(at int) {
	if j.byteAt(at-1) == 'u' && j.byteAt(at-2) == '\\' && hexAny.run(j.text, at, 4) == at+4 {
		j.numberEnd = at + 4 // an escape of JSON
		return
	}
	end := j.run(digit, at, len(j.text))
	j.numberEnd = end
	if at > 0 && (letters|under).in(j.text[at-1]) && j.joined(at) || j.lettersAfter(end) {
		if at >= j.wordEnd {
			j.wordEnd = j.lettered(at, end)
		}
		return
	}
	if at < j.wordEnd { // part of an IBAN
		return
	}
	if j.byteAt(end) == ':' || j.byteAt(at-1) == ':' || j.byteAt(end) == '-' && end-at == 2 {
		j.address(at, end)
	}
	const fewest = 7 // digits of one group that mean something
	if next := j.between(end); next == end || !digit.in(j.byteAt(next)) {
		if end-at < fewest && !j.near(nearBirth, at) && j.byteAt(at-1) != ' ' {
			return
		}
	}
	if end-at > maxDigits {
		return
	}
	var num number
	j.collect(&num, at, end)
	j.numberEnd = max(end, j.digits(&num))
}

// collect reads the groups that follow the first.
func (j *job) collect(num *number, start, end int) {
	for {
		num.groups[num.n] = group{start, end}
		num.n++
		for _, c := range j.text[start:end] {
			if num.total < len(num.digits) {
				num.digits[num.total] = c - '0'
				num.total++
			}
		}
		next := j.between(end)
		if num.n == maxGroups || next == end || !digit.in(j.byteAt(next)) {
			return
		}
		start, end = next, j.run(digit, next, maxDigits+1)
		if end-start > maxDigits || j.lettersAfter(end) && !j.isExtension(end) {
			return
		}
	}
}

// between is the end of the separator at at: one of blank, hyphen, dot,
// slash, plus (a blank of a form), or the brackets of an area code.
func (j *job) between(at int) int {
	switch c := j.byteAt(at); c {
	case ' ', '-', '.', '/', '+':
		at++
		if n := j.byteAt(at); c == ' ' && (n == '(' || n == '-' || n == '/') {
			at++
			if j.byteAt(at) == ' ' {
				at++
			}
		} else if (c == '-' || c == '/') && n == ' ' {
			at++
		}
	case ')', '(':
		at++
		if n := j.byteAt(at); n == ' ' || n == '-' {
			at++
		}
	case 0xC2: // no-break space
		if j.byteAt(at+1) == 0xA0 {
			at += 2
		}
	}
	return at
}

// digits tries the rules for digits, those with the strictest form first, and
// returns the end of what it found, else 0.
func (j *job) digits(num *number) int {
	first := num.groups[0].start
	inside := j.continues(first)
	if inside && num.n == 1 {
		return 0
	}
	if end := j.ipv4(num, inside); end > 0 {
		return end
	}
	if inside {
		return 0
	}
	if end := j.birthDate(num); end > 0 {
		return end
	}
	if j.plainNumbers || namesPlainNumber(j.memberBefore(first)) {
		return 0
	}
	if end := j.card(num); end > 0 {
		return end
	}
	if first := num.groups[0].len(); first > 8 || first < 7 && num.n > 1 {
		if end := j.national(num); end > 0 {
			return end
		}
	}
	return j.phone(num)
}

// memberBefore is the name that a value at at has in the text: name=4111…,
// "name": 4111…, \"name\":\"4111…; nil if it has none.
func (j *job) memberBefore(at int) []byte {
	const marks = `"'\` + "`"
	at = len(bytes.TrimRight(j.text[max(0, at-8):at], marks)) + max(0, at-8)
	at = blank.back(j.text, at, 2)
	if c := j.byteAt(at - 1); c != ':' && c != '=' {
		return nil
	}
	at = blank.back(j.text, at-1, 2)
	at = len(bytes.TrimRight(j.text[max(0, at-8):at], marks)) + max(0, at-8)
	start := (ident | dash).back(j.text, at, maxName)
	j.steps += at - start
	return j.text[start:at]
}

// continues reports that a number at at is the rest of a longer one: "1.5",
// "12-34", or the fraction of a decimal.
func (j *job) continues(at int) bool {
	if at < 2 {
		return false
	}
	c := j.text[at-1]
	return (c == '.' || c == '-' || c == ',' && j.grouped(at-1)) && digit.in(j.text[at-2])
}

// grouped reports that a comma between digits stands inside a number, before
// thousands or the fraction of a number below one, and not in a list.
func (j *job) grouped(comma int) bool {
	from := digit.back(j.text, comma, 4)
	if n := comma - from; n > 3 || j.byteAt(from-1) == '.' {
		return false
	} else if n == 1 && j.text[from] == '0' {
		return true
	}
	return digit.run(j.text, comma+1, 4) == comma+4
}

// ends reports that nothing that follows makes a number at [.., end) part of
// a longer one.
func (j *job) ends(end int) bool {
	c, next := j.byteAt(end), j.byteAt(end+1)
	if (c == '.' || c == '-' || c == ',' && j.grouped(end)) && digit.in(next) {
		return false
	}
	return !j.lettersAfter(end) || j.isExtension(end)
}

// isExtension reports the 'x' between a telephone number and its extension.
func (j *job) isExtension(at int) bool {
	return fold(j.byteAt(at)) == 'x' && digit.in(j.byteAt(at+1))
}

// value is the number of the digits from from to to.
func (num *number) value(from, to int) (v int) {
	for _, d := range num.digits[from:to] {
		v = v*10 + int(d)
	}
	return v
}

// shape reports that the first groups have these lengths.
func (num *number) shape(lengths ...int) bool {
	if num.n < len(lengths) {
		return false
	}
	for i, n := range lengths {
		if num.groups[i].len() != n {
			return false
		}
	}
	return true
}

// sep is the byte after a group, if it alone stands before the next.
func (j *job) sep(num *number, i int) byte {
	if i+1 >= num.n || num.groups[i+1].start-num.groups[i].end != 1 {
		return 0
	}
	return j.text[num.groups[i].end]
}

// mark is what stands between group i and the next, nothing after the last.
func (j *job) mark(num *number, i int) []byte {
	if i+1 >= num.n {
		return nil
	}
	return j.text[num.groups[i].end:num.groups[i+1].start]
}

// same reports that one mark stands between each two of the first n groups.
func (j *job) same(num *number, n int, mark []byte) bool {
	for i := range n - 1 {
		if !bytes.Equal(j.mark(num, i), mark) {
			return false
		}
	}
	return true
}

package detect

// phone judges a telephone number: international with its plus sign and a
// country code in use (ITU-T E.164), North American in its usual forms,
// national with a trunk zero in groups, or any of 7 to 15 digits after a word
// for telephones.
func (j *job) phone(num *number) int {
	start := num.groups[0].start
	open := start
	if j.byteAt(start-1) == '(' {
		open--
	}
	if j.byteAt(open-1) == '+' && !alnum.in(j.byteAt(open-2)) { // not 1e+100
		if end := j.international(num); end > 0 {
			return j.addPhone(open-1, end)
		}
		return 0
	}
	if end := j.american(num, open < start); end > 0 {
		return j.addPhone(open, end)
	}
	groups, total := whole(num)
	end := num.groups[groups-1].end
	switch {
	case total < 7 || total > 15 || !j.ends(end):
		return 0
	case j.near(nearPhone, start) && !looksLikeDate(num) && (groups > 1 || total >= 9 || start-j.last[nearPhone] < 12):
		return j.addPhone(open, end)
	case (blank | colon).in(j.byteAt(start-1)) && digit.in(j.byteAt(start-2)): // a column of a table, a time
		return 0
	case num.digits[0] == 0 && num.digits[1] != 0 && (total == 10 || total == 11) && groups >= 2 && groups <= 5 && j.trunk(num, groups):
		return j.addPhone(open, end)
	case num.digits[0] == 0 && num.digits[1] == 0 && total >= 11 && groups >= 3 && countryCode(num, 2) > 0:
		return j.addPhone(open, end)
	}
	return 0
}

// addPhone notes a number with its extension.
func (j *job) addPhone(start, end int) int {
	at := j.run(blank, end, 2)
	for _, mark := range [...]string{"extension ", "ext. ", "ext.", "ext ", "x"} {
		if j.hasWord(at, mark) {
			if stop := j.run(digit, at+len(mark), 6); stop > at+len(mark) && !alnum.in(j.byteAt(stop)) {
				end = stop
			}
			break
		}
	}
	j.add("phone", Phone, start, end)
	return end
}

// international is the end of a number after a plus sign: as many groups as
// make at most 15 digits, at least 8 of them.
func (j *job) international(num *number) int {
	if countryCode(num, 0) == 0 || num.n == 2 && j.sep(num, 0) == '.' { // +35236450.6
		return 0
	}
	total, end := 0, 0
	for _, g := range num.groups[:num.n] {
		if total += g.len(); total > 15 {
			break
		}
		if total >= 8 && j.ends(g.end) {
			end = g.end
		}
	}
	return end
}

// american is the end of a number of the North American plan: area code and
// exchange begin with 2 to 9.
func (j *job) american(num *number, bracket bool) int {
	first, from := 0, 0 // group and digit of the area code
	if num.groups[0].len() == 1 && num.digits[0] == 1 || num.shape(3) && num.value(0, 3) == 1 {
		first, from = 1, num.groups[0].len()
	}
	g := num.groups[first:num.n]
	if len(g) < 3 || g[0].len() != 3 || g[1].len() != 3 || g[2].len() != 4 ||
		num.digits[from] < 2 || num.digits[from+3] < 2 || !j.ends(g[2].end) {
		return 0
	}
	s := j.text[g[0].end]
	if second := j.text[g[1].end]; s == ')' || bracket || first == 1 || (s == '-' || s == '.') && second == s ||
		s == ' ' && second == '-' || s == '-' && second == ' ' || j.near(nearPhone, g[0].start) {
		return g[2].end
	}
	return 0
}

// whole is the groups up to the first that more than 15 digits or a dot and
// blank exclude, and their digits.
func whole(num *number) (groups, total int) {
	for _, g := range num.groups[:num.n] {
		if total+g.len() > 15 {
			break
		}
		total += g.len()
		groups++
	}
	return max(groups, 1), total
}

// trunk reports groups as national numbers with a leading zero have: the
// first of two to five digits, with blanks, hyphens, a slash or brackets.
func (j *job) trunk(num *number, groups int) bool {
	n := num.groups[0].len()
	if n < 2 || n > 5 || looksLikeDate(num) {
		return false
	}
	for i := range groups - 1 {
		if j.sep(num, i) == '.' || num.groups[i+1].len() < 2 {
			return false
		}
	}
	return true
}

// looksLikeDate reports year-month-day and the like.
func looksLikeDate(num *number) bool {
	if num.n == 2 && num.shape(4, 4) { // 2006-2022
		return isYear(num.value(0, 4)) && isYear(num.value(4, 8))
	}
	if num.n < 3 {
		return num.n == 1 && num.total == 8 && isDate(num.value(4, 6), num.value(6, 8)) && num.value(0, 4) > 1900 && num.value(0, 4) < 2100
	}
	a, b, c := num.groups[0].len(), num.groups[1].len(), num.groups[2].len()
	if b > 2 {
		return false
	}
	switch {
	case a == 4 && c <= 2:
		return isDate(num.value(4, 4+b), num.value(4+b, 4+b+c))
	case a <= 2 && (c == 4 || c == 2):
		return isDate(num.value(0, a), num.value(a, a+b)) || isDate(num.value(a, a+b), num.value(0, a))
	}
	return false
}

// countryCodes are those in use, by first digits; a code of one digit is
// followed by any. ITU-T E.164, list of assigned codes.
const countryCodes = " 1 7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 " +
	"81 82 84 86 90 91 92 93 94 95 98 21 22 23 24 25 26 29 35 37 38 42 50 59 67 68 69 80 85 87 88 96 97 99 "

// countryCode is the length of the country code at digit from: 1, 2, or 2 for
// the beginning of one of three digits; 0 = none in use.
func countryCode(num *number, from int) int {
	if num.total < from+2 {
		return 0
	}
	a, b := num.digits[from], num.digits[from+1]
	if a == 1 || a == 7 {
		return 1
	}
	for i := 0; i+2 < len(countryCodes); i++ {
		if countryCodes[i] == ' ' && countryCodes[i+1] == a+'0' && countryCodes[i+2] == b+'0' {
			return 2
		}
	}
	return 0
}

package detect

// birthDate judges a date after a word for birth: 1980-05-17, 17.05.1980,
// 5/17/80, 17 May 1980, May 17, 1980.
func (j *job) birthDate(num *number) int {
	start := num.groups[0].start
	if !j.near(nearBirth, start) {
		return 0
	}
	switch {
	case num.n >= 3 && looksLikeDate(num):
		return j.addBirth(start, num.groups[2].end)
	case num.n == 1 && looksLikeDate(num):
		return j.addBirth(start, num.groups[0].end)
	case num.groups[0].len() == 4 && isYear(num.value(0, 4)):
		return j.addBirth(start, num.groups[0].end)
	case num.groups[0].len() > 2 || !isDate(1, num.value(0, num.groups[0].len())):
		return 0
	}
	end := num.groups[0].end
	if from := j.monthBefore(start); from < start {
		return j.addBirth(from, j.yearAfter(end))
	}
	at := j.run(letters, end, 2) // 1st, 2nd
	at = j.run(blank|dot, at, 2)
	if stop := j.run(letters|high|dot, at, 12); j.isMonth(at, stop) {
		return j.addBirth(start, j.yearAfter(stop))
	}
	return 0
}

func (j *job) addBirth(start, end int) int {
	j.add("birth_date", BirthDate, start, end)
	return end
}

func isYear(y int) bool { return y >= 1900 && y < 2100 }

// monthBefore is where the name of a month that ends before at begins.
func (j *job) monthBefore(at int) int {
	end := blank.back(j.text, at, 2)
	start := letters.back(j.text, end, 12)
	if j.isMonth(start, end) {
		return start
	}
	return at
}

// isMonth reports the name of a month, or its first three letters, in
// English; German and French names mostly begin so too.
func (j *job) isMonth(start, end int) bool {
	if end-start < 3 {
		return false
	}
	for _, m := range [...]string{"jan", "feb", "mar", "mär", "apr", "avr", "may", "mai", "jun", "jul", "aug", "sep", "oct", "okt", "nov", "dec", "dez"} {
		if j.hasWord(start, m) {
			return true
		}
	}
	return false
}

// yearAfter is the end of the year that follows at, or at.
func (j *job) yearAfter(at int) int {
	from := at
	for from < len(j.text) && from < at+8 && (letters|blank).in(j.text[from]) || j.byteAt(from) == ',' {
		from++
	}
	if stop := digit.run(j.text, from, 5); stop-from == 4 {
		return stop
	}
	return at
}

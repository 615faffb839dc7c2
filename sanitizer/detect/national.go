package detect

import "strings"

// national judges the numbers that states give people and that are digits
// alone. Weak ones, those whose check passes one number in ten or whose form
// is common, need the form people write them in or a word before them.
func (j *job) national(num *number) int {
	if end := j.spacedNINO(num.groups[0].start - len("AB ")); end > 0 {
		return end
	}
	rule, end := j.northAmerican(num)
	if end == 0 {
		rule, end = j.nineDigits(num)
	}
	if end == 0 {
		rule, end = j.tenDigits(num)
	}
	if end == 0 {
		rule, end = j.elevenDigits(num)
	}
	if end == 0 {
		rule, end = j.long(num)
	}
	if end > 0 {
		j.add(rule, NationalID, num.groups[0].start, end)
	}
	return end
}

// alone is the end of the first groups if they have these lengths and the
// same separator, one of seps; for one group, if no other follows closely.
func (j *job) alone(num *number, seps string, lengths ...int) int {
	if !num.shape(lengths...) {
		return 0
	}
	end := num.groups[len(lengths)-1].end
	if !j.ends(end) {
		return 0
	}
	if len(lengths) == 1 {
		return end
	}
	mark := j.mark(num, 0)
	if len(mark) == 1 && strings.IndexByte(seps, mark[0]) >= 0 && j.same(num, len(lengths), mark) {
		return end
	}
	return 0
}

// northAmerican: SSN and ITIN. A social security number has no area 000, 666
// or 900 to 999, no group 00 and no serial 0000 (SSA, POMS RM 10201.035); an
// ITIN is one with area 9xx and group 50-65, 70-88, 90-92 or 94-99 (IRS).
func (j *job) northAmerican(num *number) (string, int) {
	start := num.groups[0].start
	told := j.near(nearSSN, start)
	end := j.alone(num, "-", 3, 2, 4)
	if end == 0 && told {
		end = max(j.alone(num, " .", 3, 2, 4), j.alone(num, "", 9))
	}
	if end == 0 {
		return "", 0
	}
	area, mid, serial := num.value(0, 3), num.value(3, 5), num.value(5, 9)
	switch {
	case area >= 900 && (mid >= 50 && mid <= 65 || mid >= 70 && mid <= 88 || mid >= 90 && mid <= 92 || mid >= 94):
		return "us_itin", end
	case area == 0 || area == 666 || area >= 900 || mid == 0 || serial == 0:
		return "", 0
	}
	return "us_ssn", end
}

// nineDigits: the Canadian SIN, which Luhn checks, and the Australian TFN,
// whose digits weighted 1 4 3 7 5 8 6 9 10 add up to a multiple of 11.
func (j *job) nineDigits(num *number) (string, int) {
	start := num.groups[0].start
	hyphens := j.alone(num, "-", 3, 3, 3)
	end := max(hyphens, j.alone(num, " ", 3, 3, 3), j.alone(num, "", 9))
	if end == 0 {
		return "", 0
	}
	d := num.digits[:9]
	if d[0] != 0 && d[0] != 8 && luhn(d) && (hyphens > 0 || j.near(nearSIN, start)) {
		return "ca_sin", end
	}
	if (weighted(d[:8], "14375869")+10*int(d[8]))%11 == 0 && j.near(nearTFN, start) {
		return "au_tfn", end
	}
	return "", 0
}

// tenDigits: the NHS number, whose digits weighted 10 to 2 and the check digit
// add up to a multiple of 11 (NHS Data Dictionary).
func (j *job) tenDigits(num *number) (string, int) {
	end := max(j.alone(num, " -", 3, 3, 4), j.alone(num, "", 10))
	if end == 0 || !j.near(nearNHS, num.groups[0].start) {
		return "", 0
	}
	if d := num.digits[:10]; (10*int(d[0])+weighted(d[1:9], "98765432")+int(d[9]))%11 == 0 {
		return "uk_nhs", end
	}
	return "", 0
}

// elevenDigits: the Steuer-ID, which ISO 7064 checks and in whose first ten
// digits exactly one occurs twice or thrice (§ 139b AO, BZSt), and the PESEL.
func (j *job) elevenDigits(num *number) (string, int) {
	start := num.groups[0].start
	spaced := j.alone(num, " ", 2, 3, 3, 3)
	end := max(spaced, j.alone(num, "", 11))
	if end == 0 {
		return "", 0
	}
	d := num.digits[:11]
	if d[0] != 0 && iso7064(d) && repeatsOnce(d[:10]) && (spaced > 0 || j.near(nearTaxDE, start)) {
		return "de_tax_id", end
	}
	if spaced == 0 && j.near(nearPESEL, start) && isPESEL(num) {
		return "pl_pesel", end
	}
	return "", 0
}

// repeatsOnce reports that one digit occurs two or three times, the others
// at most once.
func repeatsOnce(digits []byte) bool {
	var counts [10]int
	for _, d := range digits {
		counts[d]++
	}
	repeated := 0
	for _, n := range counts {
		if n > 3 {
			return false
		}
		if n > 1 {
			repeated++
		}
	}
	return repeated == 1
}

// isPESEL reports a date of birth, with the century in the month, and the
// check digit by weights 1 3 7 9 (Ministry of Digital Affairs).
func isPESEL(num *number) bool {
	d := num.digits[:11]
	return isDate(num.value(2, 4)%20, num.value(4, 6)) && (weighted(d[:10], "1379137913")+int(d[10]))%10 == 0
}

// long: Aadhaar of twelve digits, Korean RRN of thirteen, French NIR of
// fifteen.
func (j *job) long(num *number) (string, int) {
	if end := j.aadhaar(num); end > 0 {
		return "in_aadhaar", end
	}
	if end := j.alone(num, "-", 6, 7); end > 0 && isRRN(num) {
		return "kr_rrn", end
	}
	return "fr_nir", j.nir(num)
}

// aadhaar: twelve digits that Verhoeff checks, none of them a leading 0 or 1
// (UIDAI), in groups of four that are not all years, or after a word for it.
func (j *job) aadhaar(num *number) int {
	told := j.near(nearAadhaar, num.groups[0].start)
	end := j.alone(num, " -", 4, 4, 4)
	if end > 0 && !told && (num.n > 3 || isYear(num.value(0, 4)) && isYear(num.value(4, 8))) {
		return 0
	}
	if end == 0 && told {
		end = j.alone(num, "", 12)
	}
	if end == 0 || num.digits[0] < 2 || !verhoeff(num.digits[:12]) {
		return 0
	}
	return end
}

// isRRN reports a Korean resident number: a date of birth, and a seventh
// digit of 1 to 8 for sex and century. Its check digit is no longer given
// since October 2020.
func isRRN(num *number) bool {
	return isDate(num.value(2, 4), num.value(4, 6)) && num.digits[6] >= 1 && num.digits[6] <= 8
}

// nir: sex, year, month, department, commune, order and a key of two digits,
// 97 less the rest of the first thirteen by 97 (INSEE). Corsica's 2A and 2B
// are not looked for.
func (j *job) nir(num *number) int {
	end := max(j.alone(num, "", 15), j.alone(num, " ", 1, 2, 2, 2, 3, 3, 2), j.alone(num, " ", 13, 2))
	if end == 0 || num.digits[0] != 1 && num.digits[0] != 2 {
		return 0
	}
	month := num.value(3, 5)
	if month < 1 || month > 12 && month < 20 || month > 42 || 97-num.value(0, 13)%97 != num.value(13, 15) {
		return 0
	}
	return end
}

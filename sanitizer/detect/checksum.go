package detect

// luhn checks digits by ISO/IEC 7812-1, annex B.
func luhn(digits []byte) bool {
	sum := 0
	for i, d := range digits {
		v := int(d)
		if (len(digits)-i)%2 == 0 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

// weighted is the sum of digits times weights.
func weighted(digits []byte, weights string) (sum int) {
	for i, d := range digits {
		sum += int(d) * int(weights[i]-'0')
	}
	return sum
}

// iso7064 checks digits by ISO 7064 mod 11,10.
func iso7064(digits []byte) bool {
	product := 10
	for _, d := range digits[:len(digits)-1] {
		sum := (int(d) + product) % 10
		if sum == 0 {
			sum = 10
		}
		product = sum * 2 % 11
	}
	return (11-product)%10 == int(digits[len(digits)-1])
}

// verhoeff checks digits by J. Verhoeff, Error Detecting Decimal Codes, 1969:
// the dihedral group of ten elements and a permutation of order eight.
func verhoeff(digits []byte) bool {
	c := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i])
		for range i % 8 {
			d = int("1576283094"[d] - '0')
		}
		c = dihedral(c, d)
	}
	return c == 0
}

// dihedral is the product of two of the ten symmetries of a pentagon:
// rotations 0 to 4, reflections 5 to 9.
func dihedral(a, b int) int {
	switch {
	case a < 5 && b < 5:
		return (a + b) % 5
	case a < 5:
		return 5 + (a+b)%5
	case b < 5:
		return 5 + (a-b)%5
	}
	return (a - b + 5) % 5
}

// mod97 is the remainder of letters and digits, A = 10, by ISO 7064; blanks
// and hyphens count nothing.
func mod97(text []byte) (rest int) {
	for _, c := range text {
		switch {
		case digit.in(c):
			rest = (rest*10 + int(c-'0')) % 97
		case letters.in(c):
			rest = (rest*100 + int(fold(c)-'a') + 10) % 97
		}
	}
	return rest
}

// isDate reports a day of the Gregorian calendar, leap years unchecked.
func isDate(month, day int) bool {
	const days = "\x1f\x1d\x1f\x1e\x1f\x1e\x1f\x1f\x1e\x1f\x1e\x1f"
	return month >= 1 && month <= 12 && day >= 1 && day <= int(days[month-1])
}

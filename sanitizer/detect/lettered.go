package detect

// lettered judges the word around the digits at [at, end): numbers that have
// letters too. It returns the end of what it judged.
func (j *job) lettered(at, end int) int {
	start := j.pastEscape((letters|under).back(j.text, at, 8), at)
	j.steps += at - start
	for start < at && j.text[start] == '_' {
		start++
	}
	stop := j.run(alnum|under, end, 64)
	for stop > end && j.text[stop-1] == '_' {
		stop--
	}
	if c := j.byteAt(stop); c == ':' || c == '-' && stop-start == 2 || j.byteAt(start-1) == ':' {
		j.address(start, stop)
	}
	if j.joined(start) || j.continues(start) {
		return stop
	}
	if iban := j.iban(start, at); iban > 0 {
		return iban
	}
	if stop-start < len("12345678Z") || j.goesOn(stop) {
		return stop
	}
	if rule := lettersAndDigits(j.text[start:stop], j.plainNumbers); rule != "" {
		j.add(rule, NationalID, start, stop)
	} else if isWallet(j.text[start:stop]) {
		j.add("wallet", Wallet, start, stop)
	}
	return stop
}

// lettersAndDigits names the rule for a word of capitals and digits.
func lettersAndDigits(w []byte, plainNumbers bool) string {
	switch {
	case isCodiceFiscale(w):
		return "it_cf"
	case plainNumbers:
		return ""
	case isNINO(w):
		return "uk_nino"
	case isPAN(w):
		return "in_pan"
	case isFIN(w):
		return "sg_fin"
	case isNIF(w):
		return "es_nif"
	}
	return ""
}

// follows reports that w has the form of a pattern: 'A' any capital, '9' any
// digit, 'X' either.
func follows(w []byte, pattern string) bool {
	if len(w) != len(pattern) {
		return false
	}
	for i, c := range w {
		switch {
		case pattern[i] == 'A' && uppers.in(c), pattern[i] == '9' && digit.in(c), pattern[i] == 'X' && (uppers | digit).in(c):
		default:
			return false
		}
	}
	return true
}

// isNINO reports a national insurance number: two letters, not D F I Q U V,
// the second not O, no prefix BG GB KN NK NT TN ZZ, six digits, A to D
// (HMRC NIM39110).
func isNINO(w []byte) bool {
	if !follows(w, "AA999999A") || w[8] > 'D' {
		return false
	}
	for i, c := range w[:2] {
		switch c {
		case 'D', 'F', 'I', 'Q', 'U', 'V':
			return false
		case 'O':
			if i == 1 {
				return false
			}
		}
	}
	switch string(w[:2]) {
	case "BG", "GB", "KN", "NK", "NT", "TN", "ZZ":
		return false
	}
	return true
}

// spacedNINO judges AB 12 34 56 C and returns its end.
func (j *job) spacedNINO(start int) int {
	const length = len("AB 12 34 56 C")
	if start < 0 || start+length > len(j.text) || j.joined(start) || j.goesOn(start+length) {
		return 0
	}
	var compact [9]byte
	n := 0
	for i, c := range j.text[start : start+length] {
		if gap := i == 2 || i == 5 || i == 8 || i == 11; gap != (c == ' ') {
			return 0
		} else if !gap {
			compact[n] = c
			n++
		}
	}
	if !isNINO(compact[:]) {
		return 0
	}
	j.add("uk_nino", NationalID, start, start+length)
	return start + length
}

// isPAN reports an Indian permanent account number: five letters, the fourth
// for the holder's kind, four digits and a letter (Income Tax Department).
func isPAN(w []byte) bool {
	if !follows(w, "AAAAA9999A") {
		return false
	}
	switch w[3] {
	case 'P', 'C', 'H', 'F', 'A', 'T', 'B', 'L', 'J', 'G':
		return true
	}
	return false
}

// isFIN reports a Singaporean NRIC or FIN: S, T, F, G or M, seven digits
// weighted 2 7 6 5 4 3 2, and a check letter (ICA; the tables are public
// knowledge, not published).
func isFIN(w []byte) bool {
	if !follows(w, "A9999999A") {
		return false
	}
	sum := 0
	for i, weight := range "2765432" {
		sum += int(w[i+1]-'0') * int(weight-'0')
	}
	switch w[0] {
	case 'S':
		return w[8] == "JZIHGFEDCBA"[sum%11]
	case 'T':
		return w[8] == "JZIHGFEDCBA"[(sum+4)%11]
	case 'F':
		return w[8] == "XWUTRQPNMLK"[sum%11]
	case 'G':
		return w[8] == "XWUTRQPNMLK"[(sum+4)%11]
	case 'M':
		return w[8] == "XWUTRQPNJLK"[10-(sum+3)%11]
	}
	return false
}

// isNIF reports a Spanish NIF, eight digits and the letter of their rest by
// 23, or an NIE, whose X, Y or Z counts as 0, 1 or 2 (Ministerio del
// Interior).
func isNIF(w []byte) bool {
	n := 0
	switch {
	case follows(w, "99999999A"):
	case follows(w, "A9999999A") && w[0] >= 'X':
		n = int(w[0] - 'X')
		w = w[1:]
	default:
		return false
	}
	for _, c := range w[:len(w)-1] {
		n = n*10 + int(c-'0')
	}
	return w[len(w)-1] == "TRWAGMYFPDXBNJZSQVHLCKE"[n%23]
}

// isCodiceFiscale reports an Italian tax code of a person with its check
// letter (DM 23/12/1976): letters stand in for digits where codes collide.
func isCodiceFiscale(w []byte) bool {
	if !follows(w, "AAAAAAXXAXXAXXXA") {
		return false
	}
	switch w[8] {
	case 'A', 'B', 'C', 'D', 'E', 'H', 'L', 'M', 'P', 'R', 'S', 'T':
	default:
		return false
	}
	const odd = "\x01\x00\x05\x07\x09\x0d\x0f\x11\x13\x15\x02\x04\x12\x14\x0b\x03\x06\x08\x0c\x0e\x10\x0a\x16\x19\x18\x17"
	sum := 0
	for i, c := range w[:15] {
		v := int(c - 'A')
		if digit.in(c) {
			v = int(c - '0')
		}
		if i%2 == 0 {
			v = int(odd[v])
		}
		sum += v
	}
	return int(w[15]-'A') == sum%26
}

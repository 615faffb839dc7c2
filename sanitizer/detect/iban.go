package detect

// ibanLengths is the length of an IBAN by country: the SWIFT IBAN registry.
const ibanLengths = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18" +
	"FK18FO18FR27GB22GE22GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25" +
	"MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27" +
	"SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20YE30"

// iban judges the word that begins at start, whose first digit is at at, and
// returns its end, 0 if it is none. Blanks and hyphens may stand between
// groups.
func (j *job) iban(start, at int) int {
	if at-start != 2 {
		return 0
	}
	letter := uppers // in groups, words may follow
	if c := j.text[start]; c == fold(c) {
		letter = letters
	}
	length := 0
	for i := 0; i < len(ibanLengths); i += 4 {
		if fold(ibanLengths[i]) == fold(j.text[start]) && fold(ibanLengths[i+1]) == fold(j.text[start+1]) {
			length = int(ibanLengths[i+2]-'0')*10 + int(ibanLengths[i+3]-'0')
		}
	}
	end, n := start, 0
	for ; end < len(j.text) && n < length; end++ {
		switch c := j.text[end]; {
		case (digit | letter).in(c):
			n++
		case (c == ' ' || c == '-') && letter == uppers && alnum.in(j.text[end-1]):
		default:
			return 0
		}
	}
	j.steps += end - start
	if n == 0 || n < length || j.goesOn(end) {
		return 0
	}
	head := mod97(j.text[start+4 : end])
	for _, c := range j.text[start : start+4] { // the check digits count last
		if digit.in(c) {
			head = (head*10 + int(c-'0')) % 97
		} else {
			head = (head*100 + int(fold(c)-'a') + 10) % 97
		}
	}
	if head != 1 {
		return 0
	}
	j.add("iban", IBAN, start, end)
	return end
}

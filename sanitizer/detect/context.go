package detect

// context is a thing that a word nearby tells of: numbers that are common by
// their form count as one only beside such a word.
type context int

const (
	nearCard context = iota
	nearPhone
	nearSSN
	nearNHS
	nearTaxDE
	nearPESEL
	nearAadhaar
	nearSIN
	nearTFN
	nearBirth
	nearVersion
	nearIP
	contexts
)

// contextWords are the words, in lower case; a letter must not stand before
// them.
var contextWords = [contexts][]string{
	nearCard:    {"card", "visa", "mastercard", "amex", "credit", "debit", "cc ", "maestro", "karte", "carte", "tarjeta"},
	nearPhone:   {"phone", "tel:", "tel.", "tel ", "telefon", "telephone", "téléphone", "teléfono", "mobile", "mobil", "cell", "call ", "call me", "fax", "whatsapp", "sms", "dial", "handy", "reach me", "desk:", "voicemail", "hotline"},
	nearSSN:     {"ssn", "social security", "social_security", "socialsecurity", "sozialversicherung", "itin", "taxpayer"},
	nearNHS:     {"nhs"},
	nearTaxDE:   {"steuer", "tax id", "tax_id", "idnr", "tin"},
	nearPESEL:   {"pesel"},
	nearAadhaar: {"aadhaar", "aadhar", "uidai"},
	nearSIN:     {"sin ", "sin:", "sin#", "sin\"", "social insurance", "social_insurance"},
	nearTFN:     {"tfn", "tax file", "tax_file"},
	nearBirth:   {"born", "birth", "dob", "geboren", "geburt", "né le", "née le", "nacido", "nacida", "nato il", "nata il"},
	nearVersion: {"version", "release", "ver."},
	nearIP:      {"ip ", "ip:", "ip=", "ip\"", "ipv4", "address", "addr", "host", "server", "client", "peer", "ping", "dns", "gateway", "subnet", "remote", "forwarded"},
}

// reach is how many bytes after a word it still tells of a number.
const reach = 64

// near reports that a word of the context ends at most reach bytes before at.
func (j *job) near(c context, at int) bool { return j.last[c] > 0 && at-j.last[c] < reach }

// told notes a word of a context that ends at end.
func (j *job) told(l *literal, end int) {
	if start := end - len(l.text); start == 0 || !letters.in(j.text[start-1]) {
		j.last[l.index] = end + 1
	}
}

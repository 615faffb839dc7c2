package detect

import "slices"

// Rule is a row of the table of rules.
type Rule struct {
	// Name is what findings, policy files and provenance call it.
	Name string
	// Class is what it finds.
	Class Class
	// What says it in words, for people who write policies.
	What string
}

// otherRules is the table but for the key formats, which come first and are
// rows of keyFormats.
var otherRules = [...]Rule{
	{"aws_secret", Secret, "40 letters of base64 beside an AWS key id"},
	{"jwt", Secret, "JSON web token: eyJ….….…"},
	{"pem", Secret, "PEM block, with or without its end"},
	{"url_password", Secret, "user and password, or token, before the host of a URL"},
	{"auth_scheme", Secret, "Bearer or Basic and a credential"},
	{"named_secret", Secret, "value of a name like password, secretAccessKey, api_key, client-secret, token"},
	{"term", Term, "literal of the user's own"},
	{"card", Card, "payment card: issuer prefix, a length that issuer uses, Luhn"},
	{"iban", IBAN, "IBAN: length of the country, mod 97"},
	{"us_ssn", NationalID, "US social security number"},
	{"us_itin", NationalID, "US individual taxpayer number"},
	{"uk_nhs", NationalID, "UK NHS number: mod 11"},
	{"uk_nino", NationalID, "UK national insurance number"},
	{"de_tax_id", NationalID, "German Steuer-ID: ISO 7064 mod 11,10"},
	{"fr_nir", NationalID, "French NIR: mod 97"},
	{"es_nif", NationalID, "Spanish NIF and NIE: mod 23"},
	{"it_cf", NationalID, "Italian codice fiscale with check letter"},
	{"pl_pesel", NationalID, "Polish PESEL: date and mod 10"},
	{"in_aadhaar", NationalID, "Indian Aadhaar: Verhoeff"},
	{"in_pan", NationalID, "Indian PAN"},
	{"ca_sin", NationalID, "Canadian SIN: Luhn"},
	{"au_tfn", NationalID, "Australian TFN: mod 11"},
	{"kr_rrn", NationalID, "Korean RRN: date"},
	{"sg_fin", NationalID, "Singaporean NRIC and FIN with check letter"},
	{"wallet", Wallet, "Bitcoin or Ethereum address"},
	{"email", Email, "e-mail address"},
	{"phone", Phone, "telephone number: international, North American, or with a word for it"},
	{"birth_date", BirthDate, "date after a word for birth"},
	{"ip", IP, "IPv4 or IPv6 address but loopback and unspecified"},
	{"mac", MAC, "hardware address"},
	{"home_path", Path, "/home/, /Users/ or \\Users\\ with a user's name"},
	{"git_remote", Host, "git@host:owner/repository"},
	{"private_host", Host, "host under .internal, .local, .corp and the like"},
	{"cloud_host", Host, "host name of a rented resource: *.amazonaws.com, *.openai.azure.com and the like"},
	{"cloud_account", Host, "account in an ARN, Azure subscription"},
	{"random", Secret, "word that looks random: last tier"},
	{"opaque", Opaque, "1 KiB or more of base64 without a break"},
}

// Rules is the table, in order of precedence.
func Rules() []Rule {
	var rules []Rule
	for _, f := range keyFormats {
		if !slices.ContainsFunc(rules, func(r Rule) bool { return r.Name == f.rule }) {
			rules = append(rules, Rule{f.rule, Secret, f.issuer})
		}
	}
	return append(rules, otherRules[:]...)
}

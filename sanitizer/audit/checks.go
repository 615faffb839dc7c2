package audit

import (
	"encoding/base64"
	"math"
	"strings"
)

// varied reports that a value is no placeholder.
func varied(v []byte) bool {
	seen := map[byte]bool{}
	digits := 0
	for _, c := range v {
		seen[c] = true
		if isDigit(c) {
			digits++
		}
	}
	return len(seen) >= 10 && digits > 0
}

// isUserinfo reports a user and password that are no example.
func isUserinfo(v []byte) bool {
	_, password, _ := strings.Cut(string(v), ":")
	switch string(v) {
	case "user:pass", "user:password", "user:passwd", "username:password", "user:secret":
		return false
	}
	return password != "" && !strings.ContainsAny(password[:1], "$%{<[(*") && strings.Trim(password, password[:1]) != ""
}

// isBasic reports base64 of user and password.
func isBasic(v []byte) bool {
	s := strings.TrimRight(string(v), "=")
	plain, err := base64.RawStdEncoding.DecodeString(s[:len(s)/4*4])
	if err != nil || !strings.Contains(string(plain), ":") {
		return false
	}
	for _, c := range plain {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// isPassword reports a value that is no word of a program or a form.
func isPassword(v []byte) bool {
	letters, others := 0, 0
	distinct := map[byte]bool{}
	for _, c := range v {
		distinct[c] = true
		if c|0x20 >= 'a' && c|0x20 <= 'z' {
			letters++
		} else if c != '_' && c != '.' && c != '-' {
			others++
		}
	}
	if strings.ContainsAny(string(v[:1]), "$%{<[(*:.") || strings.Contains(string(v), "://") {
		return false
	}
	return letters > 0 && others > 1 && len(distinct) >= 5
}

// isKey reports a value of a key's name that looks like one.
func isKey(v []byte) bool {
	letters, digits := 0, 0
	for _, c := range v {
		switch {
		case isDigit(c):
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		}
	}
	return letters >= 3 && digits >= 3 && entropy(v) >= 3 && !strings.Contains(string(v), ".") // a.b is a name in a program
}

// isMailHost reports the host of a mail address that can be someone's: not
// one of RFC 2606, and not the end of a file's name.
func isMailHost(v []byte) bool {
	host := strings.ToLower(string(v))
	top := host[strings.LastIndexByte(host, '.')+1:]
	switch top {
	case "invalid", "png", "jpg", "jpeg", "gif", "svg", "webp", "js", "mjs", "ts", "css", "json", "html", "py", "go", "md", "txt", "yaml", "yml", "zip", "tgz", "gz", "tar", "whl", "jar":
		return false
	}
	return true
}

// digitsOf are the digits in a text.
func digitsOf(v []byte) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, string(v))
}

// isCard checks the sum of ISO/IEC 7812-1 and the first digits of the card
// networks.
func isCard(v []byte) bool {
	d := digitsOf(v)
	sum := 0
	for i := range len(d) {
		x := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			x = x*2 - x/5*9
		}
		sum += x
	}
	if sum%10 != 0 || len(d) < 13 || len(d) > 19 || strings.Trim(d, d[:1]) == "" {
		return false
	}
	return strings.HasPrefix(d, "4") && (len(d) == 13 || len(d) == 16 || len(d) == 19) ||
		len(d) == 15 && (strings.HasPrefix(d, "34") || strings.HasPrefix(d, "37")) ||
		len(d) == 16 && (d[:2] >= "51" && d[:2] <= "55" || d[:4] >= "2221" && d[:4] <= "2720" || d[:4] == "6011" || d[:2] == "65" || d[:3] >= "644" && d[:3] <= "649" || d[:4] >= "3528" && d[:4] <= "3589")
}

// isSSN checks what the Social Security Administration never gave out.
func isSSN(v []byte) bool {
	d := digitsOf(v)
	return d[:3] != "000" && d[:3] != "666" && d[0] != '9' && d[3:5] != "00" && d[5:] != "0000"
}

// isPhone wants ten digits or more.
func isPhone(v []byte) bool {
	d := digitsOf(v)
	return len(d) >= 10 && len(d) <= 15
}

// isIBAN checks the remainder of ISO 13616.
func isIBAN(v []byte) bool {
	s := strings.NewReplacer(" ", "", "-", "").Replace(string(v))
	for n := len(s); n >= 15; n-- { // what follows a number may look like its end
		rest := 0
		for _, c := range s[4:n] + s[:4] {
			if c >= 'A' {
				rest = rest*100 + int(c-'A') + 10
			} else {
				rest = rest*10 + int(c-'0')
			}
			rest %= 97
		}
		if rest == 1 && lengthOfIBAN[s[:2]] == n {
			return true
		}
	}
	return false
}

// lengthOfIBAN holds the countries with most accounts: SWIFT IBAN registry.
var lengthOfIBAN = map[string]int{
	"AT": 20, "BE": 16, "BG": 22, "CH": 21, "CZ": 24, "DE": 22, "DK": 18, "EE": 20, "ES": 24, "FI": 18, "FR": 27, "GB": 22,
	"GR": 27, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IT": 27, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MT": 31, "NL": 18,
	"NO": 15, "PL": 28, "PT": 25, "RO": 24, "SA": 24, "SE": 24, "SI": 19, "SK": 24, "TR": 26, "UA": 29, "AE": 23, "BR": 29,
}

// isNIR checks the key of INSEE's number.
func isNIR(v []byte) bool {
	d := digitsOf(v)
	n := 0
	for _, c := range d[:13] {
		n = (n*10 + int(c-'0')) % 97
	}
	return 97-n == int(d[13]-'0')*10+int(d[14]-'0')
}

// isMAC excludes addresses of nobody.
func isMAC(v []byte) bool {
	s := strings.ToLower(strings.NewReplacer(":", "", "-", "").Replace(string(v)))
	return strings.Trim(s, s[:1]) != ""
}

// isIP wants an address of a host: no loopback, no mask, and no section or
// object id, which begin with small numbers.
func isIP(v []byte) bool {
	parts := strings.Split(string(v), ".")
	var n [4]int
	for i, p := range parts {
		if len(p) > 1 && p[0] == '0' {
			return false
		}
		for _, c := range p {
			n[i] = n[i]*10 + int(c-'0')
		}
		if n[i] > 255 {
			return false
		}
	}
	return n[0] > 9 && n[0] != 127 && n[0] != 255
}

// isUser excludes accounts that every system or image has.
func isUser(v []byte) bool {
	switch strings.ToLower(strings.Trim(string(v), ".")) {
	case "", "user", "users", "username", "yourname", "your_username", "me", "you", "root", "runner", "ubuntu", "debian", "admin", "app", "shared",
		"public", "default", "node", "circleci", "vscode", "vagrant", "linuxbrew", "ec2-user", "all":
		return false
	}
	return true
}

// entropy is Shannon's, in bits per byte.
func entropy(v []byte) float64 {
	var counts [256]int
	for _, c := range v {
		counts[c]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(v))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// isRandom wants letters of both cases and digits, spread as chance spreads
// them.
func isRandom(v []byte) bool {
	if strings.HasPrefix(string(v), "sha256-") || strings.HasPrefix(string(v), "sha384-") || strings.HasPrefix(string(v), "sha512-") {
		return false
	}
	digits, capitals, marks, turns := 0, 0, 0, 0
	for i, c := range v {
		if i > 0 && kindOf(c) != kindOf(v[i-1]) && (kindOf(v[i-1]) != 'A' || kindOf(c) != 'a') {
			turns++
		}
		switch {
		case isDigit(c):
			digits++
		case c >= 'A' && c <= 'Z':
			capitals++
		case c < 'a':
			marks++
		}
	}
	return digits >= 3 && capitals >= 4 && len(v)-digits-capitals-marks >= 4 && marks*8 <= len(v) && turns*10 >= len(v)*3 && entropy(v) >= 4.4
}

// kindOf is 'A' for a capital, '0' for a digit, 'a' for the rest.
func kindOf(c byte) byte {
	switch {
	case isCapital(c):
		return 'A'
	case isDigit(c):
		return '0'
	}
	return 'a'
}

// isMixed reports 1 KiB or more with digits and letters of both cases.
func isMixed(v []byte) bool {
	s := string(v)
	return len(s) >= 1024 && strings.ContainsAny(s, "0123456789") && strings.ToLower(s) != s && strings.ToUpper(s) != s
}

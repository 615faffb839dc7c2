package detect

import "unicode"

// simple is the ASCII letter that a letter stands for, skipped for one that is
// not seen, else the letter itself.
func simple(r rune) rune {
	switch {
	case r < 0x80:
		return r
	case r >= 0x2E80 && r < 0xA000 && r != 0x3000 && r != 0x3164: // of these there are no digits, and many
		return r
	case unseen(r):
		return skipped
	case r == 0xA0, r >= 0x2000 && r <= 0x200A, r == 0x202F, r == 0x205F, r == 0x3000:
		return ' '
	case r >= 0x2010 && r <= 0x2013, r == 0x2212, r == 0xFE63:
		return '-'
	case r >= 0xFF01 && r <= 0xFF5E: // of double width
		return r - 0xFF01 + '!'
	case r >= 0xE0020 && r <= 0xE007E: // tags, which are not seen and read by machines
		return r - 0xE0000
	}
	if plain := styled(r); plain != 0 {
		return plain
	}
	if !unicode.IsDigit(r) {
		return r
	}
	value := rune(0)
	for value < 9 && unicode.IsDigit(r-value-1) {
		value++
	}
	return '0' + value
}

// unseen reports letters that have no width or lie over another: joiners, marks
// of direction, selectors of variants, fillers, accents and strokes.
func unseen(r rune) bool {
	switch {
	case r == 0xAD, r >= 0x0300 && r <= 0x036F, r == 0x061C, r == 0x115F, r == 0x1160, r >= 0x180B && r <= 0x180F,
		r >= 0x1AB0 && r <= 0x1AFF, r >= 0x1DC0 && r <= 0x1DFF, r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E,
		r >= 0x2060 && r <= 0x206F, r >= 0x20D0 && r <= 0x20FF, r == 0x3164, r >= 0xFE00 && r <= 0xFE0F,
		r >= 0xFE20 && r <= 0xFE2F, r == 0xFEFF, r == 0xFFA0, r >= 0x1BCA0 && r <= 0x1BCA3, r >= 0x1D173 && r <= 0x1D17A,
		r == 0xE0001, r == 0xE007F, r >= 0xE0100 && r <= 0xE01EF:
		return true
	}
	return false
}

// styled is the ASCII letter that a letter of formulas, in a circle, above or
// below the line shows; 0 if it is none.
func styled(r rune) rune {
	switch {
	case r >= 0x1D400 && r <= 0x1D6A3: // thirteen alphabets
		if i := (r - 0x1D400) % 52; i < 26 {
			return 'A' + i
		} else {
			return 'a' + i - 26
		}
	case r >= 0x1D7CE && r <= 0x1D7FF: // digits in five styles
		return '0' + (r-0x1D7CE)%10
	case r >= 0x24B6 && r <= 0x24CF:
		return 'A' + r - 0x24B6
	case r >= 0x24D0 && r <= 0x24E9:
		return 'a' + r - 0x24D0
	case r >= 0x2460 && r <= 0x2468:
		return '1' + r - 0x2460
	case r == 0x24EA, r == 0x2070:
		return '0'
	case r >= 0x2074 && r <= 0x2079:
		return '4' + r - 0x2074
	case r >= 0x2080 && r <= 0x2089:
		return '0' + r - 0x2080
	case r == 0xB9:
		return '1'
	case r == 0xB2, r == 0xB3:
		return '2' + r - 0xB2
	}
	return 0
}

package tokens

import "unicode/utf8"

// maxPiece bounds what the library sees at once: it is quadratic in a run
// without a split point.
const maxPiece = 2 << 10

// pieceEnd returns the length of the first piece of text: all of it, or at
// most maxPiece bytes, before the last blank in there, so that the blank stays
// with the word it leads; else at a rune border.
func pieceEnd(text []byte) int {
	if len(text) <= maxPiece {
		return len(text)
	}
	for i := maxPiece; i > maxPiece/2; i-- {
		if text[i] == ' ' && text[i-1] != ' ' {
			return i
		}
	}
	return border(text, maxPiece)
}

// border returns the last rune border at or before n, n < len(text). In bytes
// that are not UTF-8 it is n.
func border(text []byte, n int) int {
	for i := n; i > n-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return n
}

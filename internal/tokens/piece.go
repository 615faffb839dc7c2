package tokens

import "unicode/utf8"

// maxPiece bounds what the library sees at once: it is quadratic in a run
// without a split point.
const maxPiece = 2 << 10

// pieceEnd returns the length of the first piece of text: all of it, or at
// most maxPiece bytes, up to the last blank after a visible character, where
// every vocabulary splits anyway (the blank belongs to the word after it);
// else up to a rune border.
func pieceEnd(text []byte) int {
	if len(text) <= maxPiece {
		return len(text)
	}
	for i := maxPiece; i > 0; i-- {
		if text[i] == ' ' && text[i-1] > ' ' {
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

package sanitizer

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"iter"
	"slices"
	"unicode"
	"unicode/utf8"
)

// span is a part of a text, in bytes.
type span struct{ start, end int }

// minEncoded is the length from which a run of the base64 alphabet is decoded:
// that of 9 bytes, an IPv4 address or a social security number.
const minEncoded = 12

// minMixed is the length from which a run that does not decode as a whole is
// looked through for parts that do: a path or a word may stand before base64.
const minMixed = 20

// encodedRuns yields the runs of base64 and of hexadecimal digits in a text,
// over line ends too, with the readable parts of what they decode to. It is
// linear. What it yields is valid until the next.
func encodedRuns(text []byte) iter.Seq2[span, []byte] {
	return func(yield func(span, []byte) bool) {
		var d decoder
		lines := span{start: -1}
		for i := 0; i < len(text); {
			if !isBase64(text[i]) {
				i++
				continue
			}
			run := span{start: i}
			for i < len(text) && isBase64(text[i]) {
				i++
			}
			run.end = i
			for i < len(text) && text[i] == '=' && i < run.end+2 {
				i++
			}
			for part := range d.parts(text[run.start:run.end]) {
				if !yield(span{run.start, i}, part) {
					return
				}
			}
			switch goesOn := run.end-run.start >= minLine && i == run.end && newLine(text[i:]) > 0; {
			case lines.start < 0 && goesOn:
				lines.start = run.start
			case lines.start >= 0 && !goesOn:
				for part := range d.parts(onlyBase64(text[lines.start:run.end])) {
					if !yield(span{lines.start, i}, part) {
						return
					}
				}
				lines.start = -1
			}
		}
	}
}

// minLine is the shortest line of base64 that goes on in the next: editors and
// mailers break at 60, 64 or 76.
const minLine = 40

// newLine is the length of a line end with base64 behind it, else 0.
func newLine(text []byte) int {
	n := 0
	for n < len(text) && n < 16 && (text[n] == '\r' || text[n] == '\n' || text[n] == ' ' || text[n] == '\t') {
		n++
	}
	if n == len(text) || !isBase64(text[n]) || bytes.IndexByte(text[:n], '\n') < 0 {
		return 0
	}
	return n
}

// onlyBase64 is the text without what is none.
func onlyBase64(text []byte) (run []byte) {
	for _, c := range text {
		if isBase64(c) {
			run = append(run, c)
		}
	}
	return run
}

// decoder decodes runs into memory that it uses again.
type decoder struct{ run, plain []byte }

// parts yields what can be read of a run: all of it, or parts of it from any of
// the four places at which base64 may begin. Of what is compressed it yields
// the beginning.
func (d *decoder) parts(run []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if len(run) < minEncoded {
			return
		}
		if plain := d.hex(run); plain != nil {
			yield(plain)
			return
		}
		if mayBegin(run) {
			if plain := d.base64(run); readable(plain) || compressed(plain) {
				yield(plain)
				return
			}
		}
		if len(run) < minMixed || !mixedCase(run) {
			return
		}
		for phase := range 4 {
			for part := range readableParts(d.base64(run[phase:])) {
				if !yield(part) {
					return
				}
			}
		}
	}
}

// mayBegin reports that the first three bytes of what a run decodes to may begin
// something readable or compressed. Most words are no base64, and are seen here.
func mayBegin(run []byte) bool {
	var word uint32
	for _, c := range run[:4] {
		word = word<<6 | uint32(base64Values[c])
	}
	first := [...]byte{byte(word >> 16), byte(word >> 8), byte(word)}
	for _, magic := range magics {
		if first[0] == magic[0] && first[1] == magic[1] {
			return true
		}
	}
	for _, b := range first {
		switch {
		case b == 0, b >= 0xc2 && b < 0xf5: // left out later; the first of several
			return true
		case b >= 0x80, unreadable(rune(b)):
			return false
		}
	}
	return true
}

// hex decodes digits of base 16, if they are text; else it is nil.
func (d *decoder) hex(run []byte) []byte {
	if run = bytes.TrimPrefix(run, []byte("0x")); len(run)%2 != 0 {
		return nil
	}
	d.plain = slices.Grow(d.plain[:0], len(run)/2)[:len(run)/2]
	if _, err := hex.Decode(d.plain, run); err != nil || !readable(d.plain) {
		return nil
	}
	return d.plain
}

// base64 decodes a run without padding, in either alphabet. Bytes of 0 are left
// out: they stand between the letters of UTF-16.
func (d *decoder) base64(run []byte) []byte {
	if len(run)%4 == 1 { // the letter after is none of it
		run = run[:len(run)-1]
	}
	d.run = append(d.run[:0], run...)
	for i, c := range d.run {
		switch c {
		case '-':
			d.run[i] = '+'
		case '_':
			d.run[i] = '/'
		}
	}
	size := base64.RawStdEncoding.DecodedLen(len(d.run))
	d.plain = slices.Grow(d.plain[:0], size)[:size]
	n, err := base64.RawStdEncoding.Decode(d.plain, d.run)
	if err != nil {
		return nil
	}
	if bytes.IndexByte(d.plain[:n], 0) < 0 {
		return d.plain[:n]
	}
	return slices.DeleteFunc(d.plain[:n], func(c byte) bool { return c == 0 })
}

// mixedCase reports letters of both cases, as base64 has.
func mixedCase(run []byte) bool {
	upper, lower := 0, 0
	for _, c := range run {
		switch {
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
		}
	}
	return upper > 1 && lower > 1
}

// minPart is the shortest part of decoded bytes that is looked at: that of an
// IPv4 address or a social security number.
const minPart = 9

// readableParts yields the parts of b that are text.
func readableParts(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		start := 0
		for i := 0; i <= len(b); {
			n := 1
			if i < len(b) {
				var r rune
				r, n = utf8.DecodeRune(b[i:])
				if (r != utf8.RuneError || n > 1) && !unreadable(r) {
					i += n
					continue
				}
			}
			if i-start >= minPart && !yield(b[start:i]) {
				return
			}
			i += n
			start = i
		}
	}
}

// magics begin what is compressed: gzip, zlib, zstd, xz, bzip2.
var magics = [...]string{"\x1f\x8b\x08", "\x78\x01", "\x78\x5e", "\x78\x9c", "\x78\xda", "\x28\xb5\x2f\xfd", "\xfd7zXZ", "BZh9"}

// compressed reports what has the beginning of something compressed, in which
// nothing can be seen. Its bytes of 0 may be left out.
func compressed(b []byte) bool {
	for _, magic := range magics {
		if bytes.HasPrefix(b, []byte(magic)) && !readable(b) {
			return true
		}
	}
	return false
}

func isBase64(c byte) bool { return base64Values[c] < 64 }

// base64Values are those of the letters of both alphabets of RFC 4648; 64 is
// none.
var base64Values = func() (values [256]byte) {
	for c := range values {
		values[c] = 64
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		values[c] = byte(i)
	}
	values['-'], values['_'] = values['+'], values['/']
	return values
}()

// readable reports text: valid UTF-8 without control characters other than
// white space.
func readable(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 && len(b) > 4 || unreadable(r) {
			return false
		}
		b = b[n:]
	}
	return true
}

func unreadable(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' }

// isMedia reports a data URI, or a text that is one long run of base64 and
// does not decode to text: an image, a sound, a file with whatever its maker
// wrote into it.
func isMedia(text []byte) bool {
	if bytes.HasPrefix(text, []byte("data:")) && bytes.Contains(text[:min(len(text), 256)], []byte(";base64,")) {
		return true
	}
	const telling = 512
	if len(text) < telling {
		return false
	}
	run := bytes.TrimRight(text, "=\r\n")
	for _, c := range run {
		if !isBase64(c) && c != '\n' && c != '\r' {
			return false
		}
	}
	var d decoder
	return !readable(d.base64(onlyBase64(run[:telling/2])))
}

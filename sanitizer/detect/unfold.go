package detect

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// A value keeps its meaning when a program writes '@' as %40, &#64; or \u0040,
// and when an editor puts a soft hyphen or a digit of another script into it.
// So what is written like that is searched a second time, as it reads.
const (
	// window is how much text is unfolded at a time, and lap what two windows
	// share: memory stays bounded, and what has no escapes costs one look.
	window = 16 << 10
	lap    = 1 << 10
	// maxLayers bounds escapes of escapes: %2540.
	maxLayers = 3
)

// view is a text as it reads. jumps say where it came from: the byte at plain
// stood at from, and so did those after it up to the next jump.
type view struct {
	text  []byte
	jumps []jump
}

type jump struct{ plain, from int }

// unfolded searches what of the text reads otherwise than it is written.
func (j *job) unfolded(name []byte) {
	for start := 0; start < len(j.text); {
		end := start + window
		if end >= len(j.text) {
			end = len(j.text)
		} else {
			end = wordBefore(j.text, end)
		}
		v, ok := unfold(j.text[start:end])
		for layer := 0; ok && layer < maxLayers; layer++ {
			j.look(name, v, start)
			var deeper view
			if deeper, ok = unfold(v.text); ok {
				v = deeper.within(v)
			}
		}
		if end == len(j.text) {
			return
		}
		start = max(start+1, wordBefore(j.text, end-lap))
	}
}

// look searches a view of the text at start.
func (j *job) look(name []byte, v view, start int) {
	k := job{s: j.s, text: v.text}
	k.introduce(name)
	k.scan()
	j.steps += k.steps
	for _, f := range k.found {
		j.found = append(j.found, Finding{f.Rule, f.Class, start + v.origin(f.Start), start + v.origin(f.End)})
	}
}

// wordBefore is the nearest place before at where a word begins, or at itself
// where none is near: what is cut there would look shorter than it is.
func wordBefore(text []byte, at int) int {
	if n := bytes.LastIndexAny(text[max(0, at-lap):at], " \n\t"); n >= 0 {
		return max(0, at-lap) + n + 1
	}
	return at
}

// origin is where the byte at plain came from; of the end, where that of the
// text is.
func (v view) origin(plain int) int {
	low, high := 0, len(v.jumps)
	for low+1 < high {
		if mid := (low + high) / 2; v.jumps[mid].plain <= plain {
			low = mid
		} else {
			high = mid
		}
	}
	return v.jumps[low].from + plain - v.jumps[low].plain
}

// within makes a view of a view's text one of the text that this one shows.
func (v view) within(outer view) view {
	jumps := make([]jump, 0, len(v.jumps)+len(outer.jumps))
	next := 0
	for i, at := range v.jumps {
		for ; next < len(outer.jumps) && outer.jumps[next].plain <= at.from; next++ {
		}
		jumps = append(jumps, jump{at.plain, outer.origin(at.from)})
		until := len(v.text) + 1
		if i+1 < len(v.jumps) {
			until = v.jumps[i+1].plain
		}
		for ; next < len(outer.jumps); next++ {
			o := outer.jumps[next]
			if plain := at.plain + o.plain - at.from; plain < until {
				jumps = append(jumps, jump{plain, o.from})
				continue
			}
			break
		}
	}
	return view{v.text, jumps}
}

// marks are the bytes with which something begins that may read otherwise: the
// escapes, and letters beyond ASCII.
var marks = func() (set [256]bool) {
	for c := range set {
		set[c] = c >= 0x80 || c == '%' || c == '&' || c == '\\'
	}
	return set
}()

// unfold returns the view of a text; ok is false where it reads as it is
// written.
func unfold(text []byte) (v view, ok bool) {
	kept := 0
	for i := 0; i < len(text); {
		if !marks[text[i]] {
			i++
			continue
		}
		r, size := read(text[i:])
		if size == 0 {
			i++
			if text[i-1] >= 0x80 {
				i += more(text[i-1:])
			}
			continue
		}
		if !ok {
			v.text, v.jumps, ok = make([]byte, 0, len(text)), append(v.jumps, jump{}), true
		}
		v.text = append(v.text, text[kept:i]...)
		if r >= 0 {
			v.jumps = append(v.jumps, jump{len(v.text), i})
			v.text = appendRead(v.text, r)
		}
		i += size
		kept = i
		v.jumps = append(v.jumps, jump{len(v.text), i})
	}
	if ok {
		v.text = append(v.text, text[kept:]...)
	}
	return v, ok
}

// more is how many bytes of a letter follow its first.
func more(text []byte) int {
	_, size := utf8.DecodeRune(text)
	return size - 1
}

// appendRead appends what was read: a byte of a percent escape, which may be
// one of several of a letter, stands for itself.
func appendRead(dst []byte, r rune) []byte {
	if r > rawByte {
		return append(dst, byte(r-rawByte))
	}
	return utf8.AppendRune(dst, r)
}

// rawByte is added to bytes that are no letters by themselves.
const rawByte = unicode.MaxRune + 1

// skipped is read where nothing stands: letters that have no width.
const skipped rune = -1

// read reads what begins with a mark: the letter, and how many bytes it is
// written with; 0 = it reads as it is written.
func read(text []byte) (r rune, size int) {
	switch c := text[0]; {
	case c == '%':
		return readHex(text, 1, 2)
	case c == '&':
		return readEntity(text)
	case c == '\\':
		return readBackslash(text)
	default:
		r, size = utf8.DecodeRune(text)
		if plain := simple(r); plain != r {
			return plain, size
		}
		return 0, 0
	}
}

// readHex reads digits of base 16 after a sign of that many bytes.
func readHex(text []byte, sign, digits int) (r rune, size int) {
	if len(text) < sign+digits {
		return 0, 0
	}
	n, err := strconv.ParseUint(string(text[sign:sign+digits]), 16, 32)
	switch {
	case err != nil:
		return 0, 0
	case digits == 2 && n >= 0x80:
		return rawByte + rune(n), sign + digits
	}
	return rune(n), sign + digits
}

// readBackslash reads \u0040, \x40 and \/, behind any number of backslashes:
// texts in texts double them.
func readBackslash(text []byte) (r rune, size int) {
	n := 1
	for n < len(text) && n < 8 && text[n] == '\\' {
		n++
	}
	if n == len(text) {
		return 0, 0
	}
	switch text[n] {
	case 'u', 'U':
		return readHex(text, n+1, 4)
	case 'x':
		return readHex(text, n+1, 2)
	case '/':
		return '/', n + 1
	}
	return 0, 0
}

// entities are the named ones that stand for what values have in them.
var entities = map[string]rune{
	"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\'', "nbsp": ' ', "commat": '@', "period": '.',
	"colon": ':', "sol": '/', "hyphen": '-', "dash": '-', "lowbar": '_', "plus": '+', "equals": '=', "shy": skipped,
	"zwnj": skipped, "zwj": skipped, "ndash": '-',
}

// readEntity reads &#64;, &#x40; and the entities above.
func readEntity(text []byte) (r rune, size int) {
	end := bytes.IndexByte(text[:min(len(text), 12)], ';')
	if end < 2 {
		return 0, 0
	}
	name := string(text[1:end])
	if r, known := entities[name]; known {
		return r, end + 1
	}
	if name[0] != '#' {
		return 0, 0
	}
	base, number := 10, name[1:]
	if number != "" && number[0]|0x20 == 'x' {
		base, number = 16, number[1:]
	}
	n, err := strconv.ParseUint(number, base, 21)
	if err != nil || n > unicode.MaxRune {
		return 0, 0
	}
	return simple(rune(n)), end + 1
}

// simple is the ASCII letter that a letter stands for, skipped for one that is
// not seen, else the letter itself.
func simple(r rune) rune {
	switch {
	case r < 0x80:
		return r
	case r == 0xAD, r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x206F,
		r >= 0xFE00 && r <= 0xFE0F, r == 0xFEFF:
		return skipped
	case r == 0xA0, r >= 0x2000 && r <= 0x200A, r == 0x202F, r == 0x205F, r == 0x3000:
		return ' '
	case r >= 0x2010 && r <= 0x2013, r == 0x2212, r == 0xFE63:
		return '-'
	case r >= 0xFF01 && r <= 0xFF5E: // of double width
		return r - 0xFF01 + '!'
	case r >= 0x1D7CE && r <= 0x1D7FF: // digits of formulas, in five styles
		return '0' + (r-0x1D7CE)%10
	case r >= 0x2E80 && r < 0xA000: // of these there are no digits, and many
		return r
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

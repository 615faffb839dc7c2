package detect

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// A value keeps its meaning when a program writes '@' as %40, &#64;, \u0040 or
// =40, when a terminal colours it, and when an editor puts a soft hyphen or a
// digit of another script into it. So what is written like that is searched a
// second time, as it reads.
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
		j.layers(name, start, end, escapes)
		if isQuotedPrintable(j.text[start:end]) {
			j.layers(name, start, end, quotedPrintable)
			j.layers(name, start, end, softBreaks)
		}
		if end == len(j.text) {
			return
		}
		start = max(start+1, wordBefore(j.text, end-lap))
	}
}

// layers searches a part of the text as it reads when outer is undone, and what
// that reads as in turn.
func (j *job) layers(name []byte, start, end int, outer writing) {
	v, ok := outer.unfold(j.text[start:end])
	for layer := 0; ok && layer < maxLayers; layer++ {
		j.look(name, v, start)
		var deeper view
		if deeper, ok = escapes.unfold(v.text); ok {
			v = deeper.within(v)
		}
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

// writing is a way to write letters as others.
type writing struct {
	// marks are the bytes with which something begins that may read otherwise.
	marks *[256]bool
	// read reads what begins with a mark: the letter, and how many bytes it is
	// written with; 0 = it reads as it is written.
	read func(text []byte) (r rune, size int)
}

var (
	// escapes are those of programs and terminals, and letters beyond ASCII.
	escapes = writing{marksOf("%&\\\x1b", true), readEscape}
	// quotedPrintable is that of mail (RFC 2045, section 6.7).
	quotedPrintable = writing{marksOf("=", false), readQuotedPrintable}
	// softBreaks are its line ends alone: in "password=6cq" the sign is no escape.
	softBreaks = writing{marksOf("=", false), readSoftBreak}
)

func marksOf(list string, beyondASCII bool) *[256]bool {
	var set [256]bool
	for c := range set {
		set[c] = beyondASCII && c >= 0x80 || bytes.IndexByte([]byte(list), byte(c)) >= 0
	}
	return &set
}

// unfold returns the view of a text; ok is false where it reads as it is
// written.
func (w writing) unfold(text []byte) (v view, ok bool) {
	kept := 0
	for i := 0; i < len(text); {
		if !w.marks[text[i]] {
			i++
			continue
		}
		r, size := w.read(text[i:])
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

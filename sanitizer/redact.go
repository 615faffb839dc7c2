package sanitizer

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/sanitizer/detect"
)

// redactor puts words for what is found in texts, as many as it has tokens by
// itself, and leaves the rest. The same value gets the same words wherever it
// stands. Tokens are counted of what is found only.
type redactor struct {
	keys    *keyring
	voc     *tokens.Vocabulary
	scanner *detect.Scanner
	tally   *tally
	found   []detect.Finding
}

func newRedactor(keys *keyring, scanner *detect.Scanner, t *tally) *redactor {
	return &redactor{keys: keys.derive("redact"), scanner: scanner, tally: t}
}

// opens implements [texts].
func (r *redactor) opens() bool { return true }

// text implements [texts].
func (r *redactor) text(dst, name, text []byte) (out []byte, same bool) {
	at, found := 0, r.find(name, text)
	if len(found) == 0 {
		return dst, true
	}
	for _, f := range found {
		dst = appendInside(dst, text[at:f.Start])
		span := text[f.Start:f.End]
		dst = r.wordsOf(span).append(dst, r.voc.Count(span), ' ')
		at = f.End
	}
	return appendInside(dst, text[at:]), false
}

// find are the findings in a text, counted; they are valid until the next call.
func (r *redactor) find(name, text []byte) []detect.Finding {
	r.found = r.scanner.FindNamed(r.found[:0], name, text)
	plain := len(r.found)
	for run, decoded := range encodedRuns(text) {
		if rule, ok := r.hidden(decoded, maxEncoded); ok {
			r.found = append(r.found, detect.Finding{Rule: rule, Start: run.start, End: run.end})
		}
	}
	if len(r.found) > plain && plain > 0 {
		r.found = united(r.found)
	}
	for _, f := range r.found {
		r.tally.add(f.Rule, "body", 1)
	}
	return r.found
}

// maxEncoded bounds the layers of base64 that are opened.
const maxEncoded = 3

// hidden looks into what a run of base64 decodes to. What has more layers than
// that counts as found.
func (r *redactor) hidden(decoded []byte, layers int) (rule string, ok bool) {
	if compressed(decoded) {
		return "opaque", true
	}
	if found := r.scanner.Find(nil, decoded); len(found) > 0 {
		return found[0].Rule, true
	}
	for _, inner := range encodedRuns(decoded) {
		if layers == 0 {
			return "too_deep", true
		}
		if rule, ok := r.hidden(inner, layers-1); ok {
			return rule, true
		}
	}
	return "", false
}

// united sorts findings and makes one of those that overlap.
func united(list []detect.Finding) []detect.Finding {
	slices.SortStableFunc(list, func(a, b detect.Finding) int { return cmp.Compare(a.Start, b.Start) })
	out := list[:1]
	for _, f := range list[1:] {
		if last := &out[len(out)-1]; f.Start < last.End {
			last.End = max(last.End, f.End)
		} else {
			out = append(out, f)
		}
	}
	return out
}

// name implements [texts].
func (r *redactor) name(dst, name []byte) []byte {
	if len(r.find(nil, name)) == 0 {
		return append(dst, name...)
	}
	return r.wordsOf(name).append(dst, min(max(2, r.voc.Count(name)), maxNameWords), '_')
}

// number implements [texts]. A number that is found becomes one in which
// nothing is found.
func (r *redactor) number(dst, name, raw []byte) []byte {
	if len(r.find(name, raw)) == 0 && len(r.find(name, wholeNumber(raw))) == 0 {
		return append(dst, raw...)
	}
	words, from := r.wordsOf(raw), len(dst)
	for range numberTries {
		dst = appendDigits(dst[:from], raw, words)
		again := r.scanner.FindNamed(r.found[:0], name, dst[from:])
		if again = r.scanner.FindNamed(again, name, wholeNumber(dst[from:])); len(again) == 0 {
			return dst
		}
	}
	dst = dst[:from]
	for i, c := range raw {
		switch {
		case !isDigit(c):
			dst = append(dst, c)
		case i == 0 || !isDigit(raw[i-1]):
			dst = append(dst, '1')
		default:
			dst = append(dst, '0')
		}
	}
	return dst
}

// wholeNumber is an integer that is written with a fraction or an exponent, in
// its digits: 4.2e3 and 4200.0 are 4200. It is nil for any other number.
func wholeNumber(raw []byte) []byte {
	if !bytes.ContainsAny(raw, ".eE") {
		return nil
	}
	const most = 1e19 // the longest card
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) >= most {
		return nil
	}
	return strconv.AppendFloat(nil, n, 'f', 0, 64)
}

// numberTries bounds the draws for a number in which nothing is found.
const numberTries = 8

// answer redacts a text of an answer and cuts it as it came: what was found
// has, in each piece, the words of its tokens that end there.
func (r *redactor) answer(text []byte, pieces []int32) (out []byte, cuts []int32) {
	cut := cutter{ends: pieces}
	at := 0
	plain := func(to int) {
		for at < to {
			n := min(to-at, cut.room(len(out)))
			cut.before(len(out), n)
			out = append(out, text[at:at+n]...)
			at += n
		}
	}
	for _, f := range r.find(nil, text) {
		plain(f.Start)
		words := r.wordsOf(text[f.Start:f.End])
		r.voc.Visit(text[f.Start:f.End], func(_, size int) {
			cut.before(len(out), size)
			out = words.append(out, 1, ' ')
		})
		at = f.End
	}
	plain(len(text))
	return out, cut.finish(len(out))
}

func (r *redactor) wordsOf(span []byte) *wordStream {
	return &wordStream{keys: r.keys, h: r.keys.digest("span", span)}
}

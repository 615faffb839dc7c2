package sanitizer

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Grammar is the form that an allow-listed value must have. What does not
// match is dropped like any other value; what matches is kept only as far as
// the grammar reaches, so that a secret cannot hide behind an allowed name.
type Grammar string

const (
	// GrammarMedia is a media type; of its parameters only a known charset
	// stays.
	GrammarMedia Grammar = "media"
	// GrammarMediaList is a list of up to 8 media ranges, parameters dropped.
	GrammarMediaList Grammar = "media_list"
	// GrammarCoding is a list of known content and transfer codings.
	GrammarCoding Grammar = "coding"
	// GrammarInteger is 1 to 8 digits.
	GrammarInteger Grammar = "integer"
	// GrammarNumber is a decimal number of at most 8 digits before the point, of
	// which 4 decimals are kept.
	GrammarNumber Grammar = "number"
	// GrammarRetryAfter is seconds, or an HTTP date, which becomes "date":
	// the clock stays out.
	GrammarRetryAfter Grammar = "retry_after"
	// GrammarProduct is the first product of a user agent, name/version.
	GrammarProduct Grammar = "product"
	// GrammarVersion is "v2", "2024-10-21" or "2024-10-01-preview".
	GrammarVersion Grammar = "version"
	// GrammarBeta is a list of up to 8 feature names, such as
	// "assistants=v2" or "prompt-caching-2024-07-31".
	GrammarBeta Grammar = "beta"
	// GrammarTiming is Server-Timing: metric names and durations.
	GrammarTiming Grammar = "timing"
	// GrammarFlag is one of a few words: true, false, sse, json, proto, media.
	GrammarFlag Grammar = "flag"
	// GrammarWord is one of the policy's words.
	GrammarWord Grammar = "word"
	// GrammarModel is a model's name of known words.
	GrammarModel Grammar = "model"
	// GrammarName is a name of known words.
	GrammarName Grammar = "name"
)

// reader returns what may be kept of a value.
type reader func(string) (string, bool)

// grammars maps each grammar to its reader.
func (v *vocabulary) grammars() map[Grammar]reader {
	return map[Grammar]reader{
		GrammarMedia: v.readMedia, GrammarMediaList: v.readMediaList, GrammarCoding: readCoding,
		GrammarInteger: readInteger, GrammarNumber: readNumber, GrammarRetryAfter: readRetryAfter,
		GrammarProduct: v.readProduct, GrammarVersion: readVersion, GrammarBeta: v.readBeta,
		GrammarTiming: v.readTiming, GrammarFlag: readFlag,
		GrammarWord:  func(s string) (string, bool) { w, ok := v.wholeWords[s]; return w, ok },
		GrammarModel: func(s string) (string, bool) { return s, v.plainModel(s) },
		GrammarName:  func(s string) (string, bool) { return s, v.plainName(s) },
	}
}

func (g Grammar) known() bool { return new(vocabulary).grammars()[g] != nil }

func grammarNames() string {
	var names []string
	for g := range maps.Keys(new(vocabulary).grammars()) {
		names = append(names, string(g))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// maxListed bounds the items kept of a list.
const maxListed = 8

// mediaTypes are the top-level media types of the IANA registry, and "*".
var mediaTypes = [...]string{
	"application", "audio", "font", "image", "message", "model", "multipart", "text", "video", "*",
}

func (v *vocabulary) readMedia(value string) (string, bool) {
	kind, params, _ := strings.Cut(value, ";")
	kind, ok := v.readMediaRange(kind)
	if !ok {
		return "", false
	}
	params = strings.ToLower(params)
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		switch value = strings.Trim(value, `"`); {
		case name != "charset":
		case value == "utf-8", value == "us-ascii", value == "iso-8859-1":
			return kind + "; charset=" + value, true
		}
	}
	return kind, true
}

func (v *vocabulary) readMediaList(value string) (string, bool) {
	var kept []string
	for item := range strings.SplitSeq(value, ",") {
		kind, _, _ := strings.Cut(item, ";")
		kind, ok := v.readMediaRange(kind)
		if !ok || len(kept) == maxListed {
			return "", false
		}
		kept = append(kept, kind)
	}
	return strings.Join(kept, ", "), true
}

func (v *vocabulary) readMediaRange(s string) (string, bool) {
	s = strings.TrimSpace(s)
	top, sub, ok := strings.Cut(s, "/")
	if !ok || !slices.Contains(mediaTypes[:], strings.ToLower(top)) || len(sub) > 48 {
		return "", false
	}
	if sub != "*" && (sub == "" || !madeOf(sub, ".+-") || digitCount(sub) > 4 || !v.names.spell(sub) || suspect(sub) != trusted) {
		return "", false
	}
	return strings.ToLower(s), true
}

// codings are the codings of the IANA HTTP registry that servers use, and the
// words of preference lists.
var codings = [...]string{
	"gzip", "x-gzip", "deflate", "compress", "br", "zstd", "identity", "chunked", "trailers", "*",
}

func readCoding(v string) (string, bool) {
	var kept []string
	for item := range strings.SplitSeq(strings.ToLower(v), ",") {
		item = strings.TrimSpace(item)
		if !slices.Contains(codings[:], item) || len(kept) == maxListed {
			return "", false
		}
		kept = append(kept, item)
	}
	return strings.Join(kept, ", "), true
}

func readInteger(v string) (string, bool) { return v, len(v) <= maxDigits && digitsOnly(v) }

func readNumber(v string) (string, bool) {
	whole, fraction, dotted := strings.Cut(v, ".")
	if len(whole) > maxDigits || !digitsOnly(whole) || dotted && !digitsOnly(fraction) {
		return "", false
	}
	return v[:min(len(v), len(whole)+5)], true
}

func readRetryAfter(v string) (string, bool) {
	if _, err := time.Parse(time.RFC1123, v); err == nil {
		return "date", true
	}
	return readNumber(v)
}

func (v *vocabulary) readProduct(value string) (string, bool) {
	product, _, _ := strings.Cut(value, " ")
	name, version, _ := strings.Cut(product, "/")
	plain := len(product) <= 48 && madeOf(name, "-_.") && digitCount(name) <= 4 && v.names.spell(name) && suspect(name) == trusted
	if name == "" || !isLetter(name[0]) || !plain || !v.readableVersion(version) {
		return "", false
	}
	return product, true
}

// readableVersion reports "1.99.1", "v20.20.2", "2.0.0-rc.1" and also words
// such as Python in "OpenAI/Python".
func (v *vocabulary) readableVersion(s string) bool {
	return len(s) <= 20 && madeOf(s, ".-+_") && suspect(s) == trusted && longestWord(s) <= 10 && v.names.spell(s)
}

// longestWord is the length of the longest run of letters.
func longestWord(s string) (longest int) {
	n := 0
	for i := range len(s) {
		if !isLetter(s[i]) {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

func readVersion(v string) (string, bool) {
	date, tail, tailed := strings.Cut(v, "-preview")
	if tailed && tail != "" {
		return "", false
	}
	if _, err := time.Parse(time.DateOnly, date); err == nil {
		return v, true
	}
	return v, isVersionSegment(v)
}

// isVersionSegment reports v1, v2beta, v1beta3.
func isVersionSegment(s string) bool {
	rest, ok := strings.CutPrefix(s, "v")
	digits := strings.TrimLeft(rest, "0123456789")
	if !ok || len(digits) == len(rest) || len(rest)-len(digits) > 2 {
		return false
	}
	switch stage := strings.TrimRight(digits, "0123456789"); stage {
	case "alpha", "beta", "rc":
		return len(digits)-len(stage) <= 2
	default:
		return digits == ""
	}
}

func (v *vocabulary) readBeta(value string) (string, bool) {
	var kept []string
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		name, version, _ := strings.Cut(item, "=")
		ok := name != "" && len(item) <= 48 && madeOf(name, "-_") && digitCount(name) <= maxDigits &&
			v.names.spell(name) && suspect(name) == trusted && (version == "" || isVersionSegment(version))
		if !ok || len(kept) == maxListed {
			return "", false
		}
		kept = append(kept, item)
	}
	return strings.Join(kept, ", "), true
}

// readTiming keeps "name;dur=N" of each metric, "other" for a name that is not
// known; descriptions are free text.
func (v *vocabulary) readTiming(value string) (string, bool) {
	var kept []string
	for metric := range strings.SplitSeq(value, ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(metric), ";")
		if len(kept) == maxListed {
			return "", false
		}
		if name = strings.TrimSpace(name); len(name) > 32 || !v.plainName(name) {
			name = otherWord
		}
		kept = append(kept, name+duration(params))
	}
	return strings.Join(kept, ", "), true
}

// duration keeps what a server says it took, ms, of at most 8 digits before the
// point and 3 behind it.
func duration(params string) string {
	for param := range strings.SplitSeq(params, ";") {
		value, ok := strings.CutPrefix(strings.TrimSpace(param), "dur=")
		if !ok || len(value) > 16 {
			continue
		}
		if ms, err := strconv.ParseFloat(value, 64); err == nil && ms >= 0 && ms < 1e8 {
			return ";dur=" + strconv.FormatFloat(math.Round(ms*1000)/1000, 'f', -1, 64)
		}
	}
	return ""
}

func readFlag(v string) (string, bool) {
	switch v {
	case "true", "false", "1", "0", "sse", "json", "proto", "media":
		return v, true
	}
	return "", false
}

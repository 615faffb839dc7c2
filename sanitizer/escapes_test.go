package sanitizer

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/lambdac/lambdac/trace"
)

// letters writes each letter of s by a format.
func letters(format, s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

// special is letters for those that are neither letters nor digits.
func special(format, s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(alnums, s[i]) < 0 {
			fmt.Fprintf(&b, format, s[i])
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// shift moves the letters between from and to.
func shift(s string, from, to, by rune) string {
	return strings.Map(func(r rune) rune {
		if r >= from && r <= to {
			return r + by
		}
		return r
	}, s)
}

func inBase64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s)) // to memory
	_ = w.Close()
	return b.String()
}

func twoBytes(s string) (out string) {
	for _, u := range utf16.Encode([]rune(s)) {
		out += string([]byte{byte(u), byte(u >> 8)})
	}
	return out
}

func broken(s string, width int) string {
	var lines []string
	for part := range slices.Chunk([]byte(s), width) {
		lines = append(lines, string(part))
	}
	return strings.Join(lines, "\r\n")
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// marked escapes the marks of Markdown.
func marked(s string) string {
	return strings.NewReplacer("_", `\_`, "-", `\-`, ".", `\.`, "@", `\@`, "+", `\+`, ":", `\:`, "/", `\/`, "=", `\=`, "*", `\*`, "#", `\#`).Replace(s)
}

// around is what may stand directly beside a value, and is no part of it.
var around = map[string]string{
	"a colour":             "token \x1b[32m%s\x1b[0m",
	"a colour, printed":    `out \u001b[32m%s\u001b[0m`,
	"a colour, in a shell": `echo -e "\033[1;32m%s\033[0m"`,
	"emphasis":             "_%s_",
	"strong emphasis":      "__%s__",
	"stars":                "**%s**",
	"a removed line":       "@@ -1 +1 @@\n-%s\n+x",
	"an added line":        "@@ -1 +1 @@\n+%s\n",
	"a list with commas":   "%s,%s",
	"a form":               "a=1&b=%s&c=2",
	"quoted-printable":     "https://h.example/?reset=3D%s y",
	"Chinese":              "钥%s匙",
	"Japanese":             "キー%sです",
	"a comment":            "<!--%s-->",
	"a separator":          "---%s---",
	"in capitals, a flag":  "--KEY=%s",
}

// TestRedactFindsWhatTouches: what stands beside a value without a blank hides
// none.
func TestRedactFindsWhatTouches(t *testing.T) {
	out := &memory{}
	s := start(t, Config{Key: testKey, Mode: trace.ModeRedact, FeatureShare: 1e-9}, out)
	r := rand.New(rand.NewPCG(9, 11))
	n := uint64(0)
	for name, format := range around {
		for _, kind := range plantedKinds() {
			if kind.blind {
				continue
			}
			n++
			secret := kind.make(r)
			if err := s.Take(chat(n, int64(n)*1e6, messages(strings.ReplaceAll(format, "%s", secret)))); err != nil {
				t.Fatal(err)
			}
			rec := out.records[0]
			out.records = out.records[:0]
			if left := survivors([]byte(dump(t, rec)), kind.name, secret); left != nil {
				t.Errorf("%s, %s: %q is left", kind.name, name, left)
			}
		}
	}
}

// written are ways in which programs and editors write a value so that its
// letters are others.
var written = map[string]func(v string) string{
	"percent, all":          func(v string) string { return letters("%%%02x", v) },
	"percent, special":      func(v string) string { return "see https://h.example/q?text=" + special("%%%02X", v) + "&b=1" },
	"percent, twice":        func(v string) string { return "see " + special("%%25%02X", v) + " here" },
	"percent, path":         func(v string) string { return "see ?to=" + url.PathEscape("is "+v+" yes") },
	"entities, decimal":     func(v string) string { return "<b>" + special("&#%d;", v) + "</b>" },
	"entities, hexadecimal": func(v string) string { return "<b>" + letters("&#x%X;", v) + "</b>" },
	"entities, in entities": func(v string) string { return html.EscapeString("<b>" + special("&#%d;", v) + "</b>") },
	"JSON, cut":             func(v string) string { return `{"a":"` + special(`\u%04x`, v) + `", and` },
	"JSON, all":             func(v string) string { return "printed " + letters(`\u%04X`, v) + " there" },
	"JSON, in JSON":         func(v string) string { return "printed " + special(`\\\u%04x`, v) + " there" },
	"program":               func(v string) string { return "b'" + letters(`\x%02x`, v) + "'" },
	"slashes":               func(v string) string { return `{"a":"` + strings.ReplaceAll(v, "/", `\/`) + `", and` },
	"zero width":            func(v string) string { return "see " + strings.Join(strings.Split(v, ""), "\u200b") + " here" },
	"soft hyphen":           func(v string) string { return "see " + v[:len(v)/2] + "\u00ad" + v[len(v)/2:] + " here" },
	"word joiner":           func(v string) string { return "see " + v[:len(v)/3] + "\u2060" + v[len(v)/3:] + " here" },
	"full width":            func(v string) string { return "看 " + shift(v, '!', '~', 0xFEE0) + " 。" },
	"full width digits":     func(v string) string { return "看 " + shift(v, '0', '9', 0xFEE0) + " 。" },
	"Arabic digits":         func(v string) string { return "see " + shift(v, '0', '9', 0x660-'0') + " here" },
	"bold digits":           func(v string) string { return "see " + shift(v, '0', '9', 0x1D7CE-'0') + " here" },
	"hyphens":               func(v string) string { return "see " + strings.ReplaceAll(v, "-", "\u2011") + " here" },
	"dashes":                func(v string) string { return "see " + strings.ReplaceAll(v, "-", "\u2013") + " here" },
	"no-break spaces":       func(v string) string { return "see\u00a0" + strings.ReplaceAll(v, " ", "\u202f") + "\u00a0here" },
	"hexadecimal":           func(v string) string { return "0x" + hex.EncodeToString([]byte("my key is "+v)) },
	"base64":                func(v string) string { return "see " + inBase64("my key is "+v+" yes") },
	"base64, lines":         func(v string) string { return broken(inBase64(strings.Repeat("a text ", 7)+v+" and more of it"), 76) },
	"base64, behind a path": func(v string) string { return "see /a/b/" + inBase64("my key is "+v+" yes") },
	"base64, behind a dash": func(v string) string { return "see x-" + inBase64("my key is "+v+" yes") },
	"base64, of UTF-16":     func(v string) string { return "powershell -enc " + inBase64(twoBytes("x "+v+" y")) },
	"base64, of bytes":      func(v string) string { return "see " + inBase64("\x00\x01\x02my key is "+v+" yes\x00\xff") },
	"base64, compressed":    func(v string) string { return "see " + inBase64(zipped("my key is "+v)) },
	"base64, data URL":      func(v string) string { return "see data:text/plain;base64," + inBase64("my key is "+v) },
	"quoted-printable":      func(v string) string { return "x " + letters("=%02X", v) + " y" },
	"quoted-printable mail": func(v string) string { return "name=3Dx, é =C3=A9\r\n" + broken("write to me: "+v, 76) + "=\r\n." },
	"quoted-printable, cut": func(v string) string { return "see " + v[:len(v)/2] + "=\r\n" + v[len(v)/2:] + " here" },
	"Markdown":              func(v string) string { return "see " + marked(v) + " here" },
	"braces":                func(v string) string { return "x '" + special(`\u{%x}`, v) + "'" },
	"octal":                 func(v string) string { return "x '" + special(`\%03o`, v) + "'" },
	"coloured in part":      func(v string) string { return "found \x1b[1;31m" + v[:5] + "\x1b[0m" + v[5:] + " here" },
	"coloured, printed":     func(v string) string { return `found \u001b[1m` + v[:5] + `\u001b[0m` + v[5:] + " here" },
	"coloured, in a shell":  func(v string) string { return `echo "\e[1m` + v[:5] + `\e[0m` + v[5:] + `"` },
	"tags":                  func(v string) string { return "see " + shift(v, ' ', '~', 0xE0000) + " here" },
	"formula": func(v string) string {
		return "see " + shift(shift(v, 'a', 'z', 0x1D41A-'a'), 'A', 'Z', 0x1D400-'A') + " here"
	},
	"struck out":       func(v string) string { return "see " + strings.Join(strings.Split(v, ""), "\u0336") + " here" },
	"Hangul filler":    func(v string) string { return "see " + strings.Join(strings.Split(v, ""), "\u3164") + " here" },
	"variants":         func(v string) string { return "see " + strings.Join(strings.Split(v, ""), "\U000E0101") + " here" },
	"subscript digits": func(v string) string { return "see " + shift(v, '0', '9', 0x2080-'0') + " here" },
	"letters":          func(v string) string { return asJSON(strings.Split(v, "")) },
	"bytes": func(v string) string {
		var list []int
		for _, c := range []byte(v) {
			list = append(list, int(c))
		}
		return asJSON(map[string]any{"type": "Buffer", "data": list})
	},
}

// unopened are those that are seen where JSON is opened: streamed answers are
// searched as the text that they are.
var unopened = []string{"letters", "bytes"}

// TestRedactFindsWhatIsEscaped: no value that redact promises to find survives
// as it was written, in any of these ways.
func TestRedactFindsWhatIsEscaped(t *testing.T) {
	out := &memory{}
	s := start(t, Config{Key: testKey, Mode: trace.ModeRedact, FeatureShare: 1e-9}, out)
	r := rand.New(rand.NewPCG(9, 9))
	n := uint64(0)
	for name, write := range written {
		for _, kind := range plantedKinds() {
			if kind.blind || kind.name == "pem" { // more than one line
				continue
			}
			n++
			text := write(kind.make(r))
			x := chat(n, int64(n)*1e6, messages(text))
			if !slices.Contains(unopened, name) {
				x.Answer = []trace.AnswerText{{Kind: trace.ChunkText, Text: []byte(text)}}
			}
			if err := s.Take(x); err != nil {
				t.Fatal(err)
			}
			rec := out.records[0]
			out.records = out.records[:0]
			for _, body := range rec.Bodies {
				if bytes.Contains(body.Body, []byte(text)) || bytes.Contains(body.Body, []byte(strings.Trim(asJSON(text), `"`))) {
					t.Errorf("%s, %s: the %s kept %q", kind.name, name, body.Side, text)
				}
			}
		}
	}
}

// What is not decoded because of how it begins would not have been read.
func TestMayBegin(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	letters := []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
	var d decoder
	passed := 0
	for range 200_000 {
		run := make([]byte, minEncoded+r.IntN(8))
		for i := range run {
			run[i] = letters[r.IntN(len(letters))]
		}
		if mayBegin(run) {
			passed++
		} else if plain := d.base64(run); readable(plain) || compressed(plain) {
			t.Fatalf("%s reads as %q", run, plain)
		}
	}
	for _, magic := range magics {
		if !mayBegin([]byte(base64.StdEncoding.EncodeToString([]byte(magic + "0123456789")))) {
			t.Errorf("%q is not looked at", magic)
		}
	}
	if passed == 0 || passed > 100_000 {
		t.Errorf("%d of 200000 are decoded", passed)
	}
}

package datasets

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// jsonSample is an object as the formats have them.
type jsonSample struct {
	text      string
	n         optional
	ids       []int64
	yes, list bool
}

func readSample(in *jsonReader, to *jsonSample) {
	for name := range in.members() {
		switch string(name) {
		case "text":
			to.text = string(in.string())
		case "n":
			to.n = in.int()
		case "ids":
			to.ids = in.ids()
		case "yes":
			to.yes, _ = in.boolean()
		case "list":
			for more := in.open('['); more && in.more(); {
				to.list = true
				in.skip()
			}
		default:
			in.skip()
		}
	}
}

func TestJSONReader(t *testing.T) {
	for _, row := range []struct {
		name, text, message string
		want                jsonSample
	}{
		{"all", `{"text":"a\"\u00e9","n":-12,"ids":[1, 22,333],"yes":true,"list":[[],{"x":"]"}],"rest":[{"a":[1,2]},null]}`, "", jsonSample{`a"é`, optional{-12, true}, []int64{1, 22, 333}, true, true}},
		{"nulls", ` {"text":null,"n":null,"ids":null,"yes":null,"list":null} `, "", jsonSample{}},
		{"none", `{}`, "", jsonSample{}},
		{"no ids", `{"ids":[ ]}`, "", jsonSample{ids: []int64{}}},
		{"backslash at the end", `{"text":"\\"}`, "", jsonSample{text: `\`}},
		{"18 digits", `{"n":999999999999999999}`, "", jsonSample{n: optional{999999999999999999, true}}},
		{"19 digits", `{"n":1000000000000000000}`, "n: a JSON number, want a whole number", jsonSample{}},
		{"fraction", `{"n":1.5}`, "n: a JSON number, want a whole number", jsonSample{}},
		{"text for number", `{"n":"1"}`, "n: a JSON string, want a whole number", jsonSample{}},
		{"number for text", `{"text":1}`, "text: a JSON number, want a string", jsonSample{}},
		{"negative id", `{"ids":[1,-1]}`, "ids: a JSON array, want a list of ids", jsonSample{}},
		{"no id behind a comma", `{"ids":[1,]}`, "ids: a JSON array, want a list of ids", jsonSample{}},
		{"object for list", `{"list":{}}`, "list: a JSON object, want an array", jsonSample{}},
		{"no object", `[1]`, "a JSON array, want an object", jsonSample{}},
		{"comma at the end", `{"n":1,}`, "no JSON object of this format: column 8 is no JSON", jsonSample{}},
		{"two", `{} {}`, "no JSON object of this format: column 4 is no JSON", jsonSample{}},
		{"cut", `{"n":1`, "no JSON object of this format: column 6 is no JSON", jsonSample{}},
		{"cut in a word", `{"yes":tr`, "no JSON object of this format: column 8 is no JSON", jsonSample{}},
		{"deep", `{"x":` + strings.Repeat("[", maxDepth+5) + strings.Repeat("]", maxDepth+5) + "}", "no JSON object of this format: column 1006 is no JSON", jsonSample{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var in jsonReader
			var got jsonSample
			in.reset([]byte(row.text))
			readSample(&in, &got)
			in.end()
			if in.message() != row.message {
				t.Fatalf("%q, want %q", in.message(), row.message)
			}
			if row.message != "" {
				return
			}
			if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(jsonSample{}, optional{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLeadingInt(t *testing.T) {
	digits := "123456789012345678"
	for n := 0; n <= len(digits); n++ {
		for _, tail := range []string{"", ",", " 12345678", "/:;<=>?@", "\x80\xff000000000"} {
			got, width := leadingInt([]byte(digits[:n] + tail))
			want, _ := strconv.ParseInt("0"+digits[:n], 10, 64)
			if got != want || width != n {
				t.Errorf("%q: %d of %d digits, want %d of %d", digits[:n]+tail, got, width, want, n)
			}
		}
	}
}

// FuzzJSONReader: what is JSON is taken, with the values that encoding/json
// finds; the same where it comes byte by byte from a file.
func FuzzJSONReader(f *testing.F) {
	f.Add(`{"text":"a\"\u00e9","n":-12,"ids":[1, 22,333],"list":[[],{"x":"]"}],"rest":[{"a":[1,2]},null]}`)
	f.Add("{\"n\":\t1e5,\r\n\"ids\":[\"]\"]}")
	f.Add(`{"x":"\\","y":{"z":[true,false,null,-0.5e+3]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var in jsonReader
		var got jsonSample
		in.reset([]byte(text))
		readSample(&in, &got)
		in.end()
		var whole map[string]any
		numbers := json.NewDecoder(strings.NewReader(text))
		numbers.UseNumber()
		valid := json.Valid([]byte(text)) && numbers.Decode(&whole) == nil && whole != nil
		if valid && (in.fault == jsonBroken || in.fault == jsonShort) && strings.Count(text, "[")+strings.Count(text, "{") < maxDepth {
			t.Fatalf("%q: %s", text, in.message())
		}
		once := strings.Count(text, `"n"`) == 1 && strings.Count(text, `\u`) == 0
		if number, ok := whole["n"].(json.Number); valid && ok && once && in.fault == jsonSound {
			if want, err := number.Int64(); err != nil || want != got.n.n {
				t.Errorf("%q: n = %v", text, got.n)
			}
		}
		s := newJSONStream(iotest.OneByteReader(bytes.NewReader([]byte(text))))
		s.window = s.window[:0:1]
		var again jsonSample
		_, msg, err := s.whole(func(in *jsonReader) { readSample(in, &again) })
		if in.fault == jsonSound && (err != nil || msg != "") {
			t.Fatalf("%q in pieces: %v %s", text, err, msg)
		}
		if in.fault == jsonSound {
			if diff := cmp.Diff(got, again, cmp.AllowUnexported(jsonSample{}, optional{})); diff != "" {
				t.Errorf("in pieces (-whole +pieces):\n%s", diff)
			}
		}
	})
}

// What is read in pieces keeps its lines, and ends at a value that is too long.
func TestJSONStream(t *testing.T) {
	read := func(r io.Reader) (lines []int64, err error) {
		s := newJSONStream(r)
		s.window = s.window[:0:3]
		err = s.elements(func() error {
			line, msg, err := s.whole((*jsonReader).skip)
			if msg != "" {
				t.Error(msg)
			}
			lines = append(lines, line)
			return err
		})
		return lines, err
	}
	lines, err := read(strings.NewReader("[{\"a\":\n1},\n\n \"x\",[\n2]\n, 3]"))
	if diff := cmp.Diff([]int64{1, 4, 4, 6}, lines); diff != "" || err != nil {
		t.Errorf("%v, lines (-want +got):\n%s", err, diff)
	}
	_, err = read(io.MultiReader(strings.NewReader(`["`), strings.NewReader(strings.Repeat("x", 2*maxValue)), strings.NewReader(`"]`)))
	if !errors.Is(err, errTooLong) {
		t.Errorf("a value of 32 MiB: %v", err)
	}
	_, err = read(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("[1,2,3]"))))
	if !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a file that fails: %v", err)
	}
}

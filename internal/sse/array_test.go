package sse

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readArray(a *Array, pieces ...string) (events []got) {
	for _, p := range pieces {
		a.Feed([]byte(p), keep(&events))
	}
	a.Close(keep(&events))
	return events
}

func TestArray(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []got
	}{
		{"empty", "", nil},
		{"no element", " [ \r\n ] ", nil},
		{"one", `[{"a":1}]`, []got{{Data: `{"a":1}`, End: 8}}},
		{"as Gemini sends it", "[{\n  \"a\": [1]\n}\n,\r\n{\n  \"a\": 2\n}\n]\n", []got{
			{Data: "{\n  \"a\": [1]\n}", End: 15}, {Data: "{\n  \"a\": 2\n}", End: 31},
		}},
		{"brackets and quotes in strings", `[{"a":"]}\"[{\\"},{"b":"\\\""}]`, []got{
			{Data: `{"a":"]}\"[{\\"}`, End: 17}, {Data: `{"b":"\\\""}`, End: 30},
		}},
		{"scalars", `[1, "a,]" ,null,-2.5e3]`, []got{{Data: "1", End: 2}, {Data: `"a,]"`, End: 9}, {Data: "null", End: 15}, {Data: "-2.5e3", End: 22}}},
		{"arrays in it", `[[1,[2]],[]]`, []got{{Data: "[1,[2]]", End: 8}, {Data: "[]", End: 11}}},
		{"an object alone", ` {"error":{"code":429}}` + "\n", []got{{Data: `{"error":{"code":429}}`, End: 23}}},
		{"BOM", "\xef\xbb\xbf[{}]", []got{{Data: "{}", End: 6}}},
		{"cut off in an element", `[{"a":1},{"b":`, []got{{Data: `{"a":1}`, End: 8}, {Data: `{"b":`, Partial: true, End: 14}}},
		{"never closed", `[{"a":1},`, []got{{Data: `{"a":1}`, End: 8}}},
		{"bytes behind the end", `[{}] {"x":1}`, []got{{Data: "{}", End: 3}}},
		{"invalid UTF-8", "[\"\xff\xfe\"]", []got{{Data: "\"\xff\xfe\"", End: 5}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, readArray(new(Array), tt.in)); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
			var bytewise []string
			for i := range len(tt.in) {
				bytewise = append(bytewise, tt.in[i:i+1])
			}
			if diff := cmp.Diff(tt.want, readArray(new(Array), bytewise...)); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
		})
	}
}

// trace.md §8 case 12: the element is there with its last byte, and a
// character that two pieces share is whole.
func TestArrayCutInCharacter(t *testing.T) {
	in := "[{\"text\":\"ä\"}\n,\r\n{\"text\":\"b\"}]"
	at := strings.Index(in, "ä") + 1
	var events []got
	a := new(Array)
	a.Feed([]byte(in[:at]), keep(&events))
	if len(events) != 0 {
		t.Fatalf("%d events before the end of the first", len(events))
	}
	a.Feed([]byte(in[at:at+8]), keep(&events))
	if diff := cmp.Diff([]got{{Data: `{"text":"ä"}`, End: 14}}, events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a.Feed([]byte(in[at+8:]), keep(&events))
	if len(events) != 2 || events[1].Data != `{"text":"b"}` {
		t.Errorf("events %+v", events)
	}
}

func TestArrayResync(t *testing.T) {
	a := new(Array)
	a.Resync()
	in := "one\": \",{\",\n  \"two\": 2\n}\n,\r\n{\n  \"three\": \"\\n,{\"\n}\n]\n"
	want := []got{{Data: "{\n  \"three\": \"\\n,{\"\n}", End: 49}}
	if diff := cmp.Diff(want, readArray(a, strings.Split(in, "")...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An array, an element or a string without end costs no more than the bound.
func TestArrayBoundsMemory(t *testing.T) {
	for _, unit := range []string{"[", "{\"a\":", "x", "\"", `\`, " "} {
		a := &Array{MaxEvent: 1 << 10}
		piece := bytes.Repeat([]byte(unit), 1<<14)
		a.Feed([]byte(`[{"a":"`), func(Event) {})
		for range 64 {
			a.Feed(piece, func(Event) {})
		}
		a.Close(func(Event) {})
		if cap(a.element) > 1<<11 {
			t.Errorf("%q: holds %d bytes", unit, cap(a.element))
		}
	}
}

func TestArrayMaxEvent(t *testing.T) {
	a := &Array{MaxEvent: 8}
	want := []got{{Data: `{"a":"01`, Cut: 10, End: 19}, {Data: "{}", End: 22}}
	if diff := cmp.Diff(want, readArray(a, `[{"a":"0123456789"},{}]`)); diff != "" || a.Dropped() != 10 {
		t.Errorf("dropped %d (-want +got):\n%s", a.Dropped(), diff)
	}
}

func FuzzArraySplits(f *testing.F) {
	f.Add([]byte("[{\n  \"a\": [1]\n}\n,\r\n{\n  \"a\": \"\\\"]\"\n}\n]\n"), uint64(1), uint8(0), false)
	f.Add([]byte("\xef\xbb\xbf[1,\"\\\\\",[[],{}],nul"), uint64(42), uint8(3), false)
	f.Add([]byte("x\"}\n,\n{\"b\":\"\xe2\x80\"}\n,\r\n{}]]]"), uint64(7), uint8(9), true)
	f.Fuzz(func(t *testing.T, in []byte, seed uint64, limit uint8, middle bool) {
		read := func(pieces ...string) ([]got, int64) {
			a := &Array{MaxEvent: int(limit)}
			if middle {
				a.Resync()
			}
			return readArray(a, pieces...), a.Dropped()
		}
		want, dropped := read(string(in))
		events, droppedSplit := read(cut(string(in), seed)...)
		if diff := cmp.Diff(want, events); diff != "" || dropped != droppedSplit {
			t.Errorf("dropped %d whole, %d split (-whole +split):\n%s", dropped, droppedSplit, diff)
		}
	})
}

func BenchmarkArray(b *testing.B) {
	var s []byte
	for i := range 4096 {
		s = fmt.Appendf(append(s, "\n,\r\n"...), "{\n  \"candidates\": [\n    {\n      \"content\": {\n        \"parts\": [\n          {\n            \"text\": \" word%d\"\n          }\n        ],\n        \"role\": \"model\"\n      }\n    }\n  ]\n}", i)
	}
	s[2] = '['
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		a := new(Array)
		a.Feed(s, func(Event) { n++ })
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
}

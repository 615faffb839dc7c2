package sse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readLines(l *Lines, pieces ...string) (events []got) {
	for _, p := range pieces {
		l.Feed([]byte(p), keep(&events))
	}
	l.Close(keep(&events))
	return events
}

func TestLines(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		max      int
		want     []got
	}{
		{"empty", "", 0, nil},
		{"two", "{\"a\":1}\n{}\n", 0, []got{{Data: `{"a":1}`, End: 8}, {Data: "{}", End: 11}}},
		{"CRLF and blank lines", "{}\r\n\r\n \n{}\r\n", 0, []got{{Data: "{}", End: 4}, {Data: "{}", End: 12}}},
		{"last line without an end", "{}\n{}", 0, []got{{Data: "{}", End: 3}, {Data: "{}", Partial: true, End: 5}}},
		{"BOM", "\ufeff{}\n", 0, []got{{Data: "{}", End: 6}}},
		{"U+2028 and CR end no line", "\"a\u2028\rb\"\n", 0, []got{{Data: "\"a\u2028\rb\"", End: 9}}},
		{"over the bound", "0123456\n89\n", 4, []got{{Data: "0123", Cut: 3, End: 8}, {Data: "89", End: 11}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, pieces := range [][]string{{tt.in}, strings.Split(tt.in, "")} {
				if diff := cmp.Diff(tt.want, readLines(&Lines{MaxEvent: tt.max}, pieces...)); diff != "" {
					t.Errorf("%d pieces (-want +got):\n%s", len(pieces), diff)
				}
			}
		})
	}
}

func TestLinesDropped(t *testing.T) {
	l := &Lines{MaxEvent: 4}
	readLines(l, "0123456\n89\n")
	if l.Dropped() != 3 {
		t.Errorf("dropped %d bytes, want 3", l.Dropped())
	}
}

func FuzzLinesSplits(f *testing.F) {
	f.Add([]byte("{}\r\n\n{\"a\":1}\n{"), uint64(3), uint8(0))
	f.Add([]byte("\xef\xbb\xbf0123456789\n\r\n8"), uint64(9), uint8(4))
	f.Fuzz(func(t *testing.T, in []byte, seed uint64, limit uint8) {
		want := readLines(&Lines{MaxEvent: int(limit)}, string(in))
		if diff := cmp.Diff(want, readLines(&Lines{MaxEvent: int(limit)}, cut(string(in), seed)...)); diff != "" {
			t.Errorf("split differs (-whole +split):\n%s", diff)
		}
	})
}

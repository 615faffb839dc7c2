package sse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAppendEvent(t *testing.T) {
	for _, tt := range []struct{ name, event, data, want string }{
		{"plain", "", "{}", "data: {}\n\n"},
		{"named", "x", "{}", "event: x\ndata: {}\n\n"},
		{"several lines", "", "a\nb\r\nc\rd", "data: a\ndata: b\ndata: c\ndata: d\n\n"},
		{"last line end", "", "a\n", "data: a\ndata: \n\n"},
		{"empty", "", "", "data: \n\n"},
	} {
		if got := string(AppendEvent([]byte("x"), tt.event, []byte(tt.data))); got != "x"+tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, "x"+tt.want)
		}
	}
}

// What is written is read again, line ends as LF.
func FuzzAppendEvent(f *testing.F) {
	f.Add("x", []byte("a\r\nb\n\r"))
	f.Add("", []byte(" [DONE]"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if strings.ContainsAny(name, "\r\n") {
			return
		}
		in := string(AppendEvent(nil, name, data))
		lf := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))
		want := []got{{Name: name, Data: lf, End: int64(len(in))}}
		if diff := cmp.Diff(want, decode(new(Decoder), in)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

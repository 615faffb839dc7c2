package sse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestForget: what is held of an event can be given up at any place. The event
// comes once, as one that is too long, and those beside it are whole.
func TestForget(t *testing.T) {
	type reader interface {
		Feed(p []byte, emit func(Event))
		Close(emit func(Event))
		Held() int
		Forget()
		Dropped() int64
	}
	long := strings.Repeat("x", 100)
	rows := []struct {
		name              string
		open              func() reader
		before, at, after string
	}{
		{"text", func() reader { return &Decoder{} }, "data: a\n\n", "data: " + long + "\ndata: " + long + "\n\n", "data: b\n\n"},
		{"lines", func() reader { return &Lines{} }, "a\n", long + "\n", "b\n"},
		{"array", func() reader { return &Array{} }, `["a"`, `,"` + long + `"`, `,"b"]`},
		{"binary", func() reader { return &EventStream{} }, string(event("n", "a")), string(event("n", long)), string(event("n", "b"))},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for cut := 20; cut < len(row.at)-1; cut++ {
				d := row.open()
				var got []string
				emit := func(ev Event) {
					text := strings.Trim(string(ev.Data), `"`)
					if ev.Cut > 0 {
						text = "cut"
					}
					got = append(got, text)
				}
				d.Feed([]byte(row.before+row.at[:cut]), emit)
				held := d.Held()
				d.Forget()
				if held < 10 || d.Held() > prefixLen {
					t.Errorf("at %d: %d bytes held, %d then", cut, held, d.Held())
				}
				d.Feed([]byte(row.at[cut:]+row.after), emit)
				d.Close(emit)
				if diff := cmp.Diff("[a cut b]", fmt.Sprint(got)); diff != "" {
					t.Fatalf("at %d (-want +got):\n%s", cut, diff)
				}
				if n := d.Dropped(); n == 0 || n > int64(len(row.at)) {
					t.Errorf("at %d: %d bytes dropped", cut, n)
				}
				if d.Held() != 0 {
					t.Errorf("at %d: %d bytes held in the end", cut, d.Held())
				}
			}
		})
	}
}

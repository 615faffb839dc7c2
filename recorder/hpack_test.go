package recorder

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

// story is a conversation of github.com/http2jp/hpack-test-case.
type story struct {
	Cases []struct {
		Wire    string
		Headers []map[string]string
	}
}

func readStories(t *testing.T) map[string]story {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testenv.Samples(t), "public", "hpack", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	all := make(map[string]story)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s story
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = s
	}
	return all
}

// decodeBlock reads one block in pieces and lists its fields but :scheme.
func decodeBlock(t *testing.T, d *fieldDecoder, wire string, size int) (list []string, b *fieldBlock) {
	t.Helper()
	p, err := hex.DecodeString(wire)
	if err != nil {
		t.Fatal(err)
	}
	b = &fieldBlock{}
	d.begin(b)
	for ; len(p) > size; p = p[size:] {
		d.write(p[:size])
	}
	d.write(p)
	if !d.end() {
		b.blank++
	}
	for i, v := range []string{b.method, b.path, b.authority, b.status} {
		if v != "" {
			list = append(list, []string{":method", ":path", ":authority", ":status"}[i]+"="+v)
		}
	}
	for _, f := range b.fields {
		list = append(list, f.Name+"="+f.Value)
	}
	return list, b
}

// want lists the fields of a block with the pseudo-header fields first.
func (s *story) want(i int) (list []string) {
	for _, name := range []string{":method", ":path", ":authority", ":status"} {
		for _, h := range s.Cases[i].Headers {
			if v, ok := h[name]; ok {
				list = append(list, name+"="+v)
			}
		}
	}
	for _, h := range s.Cases[i].Headers {
		for name, value := range h {
			if !strings.HasPrefix(name, ":") {
				list = append(list, name+"="+value)
			}
		}
	}
	return list
}

// TestHPACK reads stories from their beginning: every field, whatever the
// pieces; and from every later block on: what is read is right, what is
// missing is known to be.
func TestHPACK(t *testing.T) {
	for name, s := range readStories(t) {
		for _, size := range []int{1, 7, 1 << 20} {
			var d fieldDecoder
			for i := range s.Cases {
				got, b := decodeBlock(t, &d, s.Cases[i].Wire, size)
				if diff := cmp.Diff(s.want(i), got); diff != "" || b.blank+b.broken+b.cut > 0 {
					t.Errorf("%s, block %d in pieces of %d: %+v (-want +got):\n%s", name, i, size, b, diff)
				}
			}
		}
		for from := 1; from < len(s.Cases); from++ {
			t.Run(fmt.Sprint(name, " from ", from), func(t *testing.T) { joinStory(t, &s, from) })
		}
	}
}

func joinStory(t *testing.T, s *story, from int) {
	var d fieldDecoder
	d.lose(trace.DetailLateJoin)
	for i := from; i < len(s.Cases); i++ {
		got, b := decodeBlock(t, &d, s.Cases[i].Wire, 1<<20)
		rest := s.want(i)
		for _, field := range got {
			for len(rest) > 0 && rest[0] != field {
				rest = rest[1:]
			}
			if len(rest) == 0 {
				t.Fatalf("block %d: %q is not in it", i, field)
			}
			rest = rest[1:]
		}
		if missing := len(s.want(i)) - len(got); missing > 0 && b.blank == 0 {
			t.Errorf("block %d: %d fields are missing without a word", i, missing)
		}
	}
}

// TestHPACKLost: with the table forgotten, an old reference is no other field,
// and what is said anew is known again.
func TestHPACKLost(t *testing.T) {
	var d fieldDecoder
	decodeBlock(t, &d, "4001610141"+"4001620142", 1) // a=A, b=B
	d.lose(trace.DetailGap)
	steps := []struct {
		wire  string
		want  []string
		blank int64
	}{
		{"be", nil, 1}, // b, unknown
		{"4001630143" + "be" + "bf", []string{"c=C", "c=C"}, 1}, // c is new, b behind it not known
		{"7f000144", nil, 1},       // the name of b with another value
		{"bf", []string{"c=C"}, 0}, // behind that
		{"20" + "be", nil, 1},      // the table is emptied: the reference is to nothing
	}
	for _, step := range steps {
		got, b := decodeBlock(t, &d, step.wire, 1)
		if diff := cmp.Diff(step.want, got); diff != "" || b.blank != step.blank {
			t.Errorf("%s: %d unknown, want %d (-want +got):\n%s", step.wire, b.blank, step.blank, diff)
		}
	}
}

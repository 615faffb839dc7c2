package main

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type entry struct {
	Name string
	Mode uint64
	Data string
}

// entries reads an archive as buffer-format.rst describes it.
func entries(t *testing.T, b []byte) (list []entry) {
	t.Helper()
	field := func(at, n int) int {
		v, err := strconv.ParseUint(string(b[at+6+8*n:at+14+8*n]), 16, 32)
		if err != nil {
			t.Fatalf("field %d at %d: %v", n, at, err)
		}
		return int(v)
	}
	padded := func(n int) int { return (n + 3) / 4 * 4 }
	for at := 0; ; {
		if magic := string(b[at : at+6]); magic != "070701" {
			t.Fatalf("magic %q at %d", magic, at)
		}
		size, length := field(at, 6), field(at, 11)
		name := string(b[at+110 : at+110+length-1])
		if name == "TRAILER!!!" {
			return list
		}
		data := padded(at + 110 + length)
		list = append(list, entry{name, uint64(field(at, 1)), string(b[data : data+size])})
		at = padded(data + size)
	}
}

func TestArchive(t *testing.T) {
	var b bytes.Buffer
	im := image{archive{w: &b}, make(map[string]bool)}
	im.put("/etc/hosts", modeFile|0o644, []byte("12345"))
	im.put("etc/hosts", modeFile|0o644, []byte("again"))
	im.put("etc/empty", modeFile|0o600, nil)
	im.put("a/b/c", modeFile|0o755, []byte("1234"))
	if err := im.close(); err != nil {
		t.Fatal(err)
	}
	want := []entry{
		{"etc", modeDir | 0o755, ""},
		{"etc/hosts", modeFile | 0o644, "12345"},
		{"etc/empty", modeFile | 0o600, ""},
		{"a", modeDir | 0o755, ""},
		{"a/b", modeDir | 0o755, ""},
		{"a/b/c", modeFile | 0o755, "1234"},
	}
	if diff := cmp.Diff(want, entries(t, b.Bytes())); diff != "" {
		t.Error(diff)
	}
	if b.Len()%4 != 0 {
		t.Errorf("%d bytes: not padded", b.Len())
	}
}

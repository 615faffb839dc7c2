package yamlfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type plan struct {
	Name  string `json:"name"`
	Loads []int  `json:"loads"`
	Stop  struct{ After string }
	More  map[string]string       `json:"more"`
	Arms  []struct{ Name string } `json:"arms"`
}

func TestFaultsAtTheirPlace(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"unknown key", "name: a\nlods: [1]\n", `line 2, column 1: unknown field "lods"`},
		{"key twice", "name: a\nname: b\n", "line 2, column 1: "},
		{"wrong type", "name: a\nloads: {a: 1}\n", "line 2, column 8: "},
		{"no YAML", "a: b: c\n", "line 1, column 4: "},
		{"a tag without a value", "arms: !!set\n", "line 1, column 1: this is no YAML"},
		{"two documents", "name: a\n---\nname: b\n", "line 3, column 1: a second document"},
		{"anchor", "name: &n a\n", "line 1, column 7: anchors and aliases"},
		{"alias", "more: {a: x}\nname: *n\n", "line 2, column 7: "},
		{"merge", "more:\n  <<: {a: x}\n", "line 2, column 3: anchors and aliases"},
		{"bomb", "more: {a: &a x}\nname: [*a, *a, *a]\n", "line 1, column 11: anchors and aliases"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p plan
			_, err := Decode("plan.yaml", []byte(tt.text), &p)
			if err == nil || !strings.HasPrefix(err.Error(), `read "plan.yaml": `+tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want …%s…", err, tt.want)
			}
		})
	}
}

func TestAt(t *testing.T) {
	var p plan
	f, err := Decode("plan.yaml", []byte("name: a\nloads:\n  - 1\n  - 2\nstop: {after: 1s}\n"), &p)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"$.loads[1]":   "line 4, column 5",
		"$.loads":      "line 3, column 3",
		"$.loads[7].x": "line 3, column 3", // not there: what is around it
		"$.stop.after": "line 5, column 15",
		"$.stop.never": "line 5, column 7",
		"$.nothing":    "line 1, column 1",
	} {
		if err := f.At(path, errors.New("too much")); !strings.HasPrefix(err.Error(), `read "plan.yaml": `+want+": too much") {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

func TestAtKey(t *testing.T) {
	var p plan
	f, err := Decode("plan.yaml", []byte("name: a\nloads:\n  - 1\n  - 2\nmore: {'a.b[]': x}\narms:\n  - {name: b}\n"), &p)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path []any
		want string
	}{
		{[]any{"loads"}, "line 2, column 1"},
		{[]any{"loads", 1}, "line 4, column 5"},
		{[]any{"loads", 7}, "line 2, column 1"}, // not there: what is around it
		{[]any{"more", "a.b[]"}, "line 5, column 8"},
		{[]any{"arms", 0, "name"}, "line 7, column 6"},
		{[]any{"nothing"}, "line 1, column 1"},
		{nil, "line 1, column 1"},
	} {
		if err := f.AtKey(tt.path, errors.New("too much")); !strings.HasPrefix(err.Error(), `read "plan.yaml": `+tt.want+": too much") {
			t.Errorf("%v: %v, want %s", tt.path, err, tt.want)
		}
	}
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.yaml")
	if _, err := Read(path, 10, new(plan)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for text, want := range map[string]string{
		"name: abcd":  "",
		"name: abcde": "larger than 10 bytes",
		"":            "",
		"# nothing\n": "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path, 10, new(plan)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzDecode: whatever a file holds, it is read, or refused in one line.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		"", "name: a\n", "loads: [1, 2]\n", "a: b: c\n", "name: &x a\nmore: {a: *x}\n", "{", "? [a]\n: b\n", "arms: !!set",
		"loads: [0x10, 1_000]\n", "%YAML 1.2\n---\nname: |\n  x\n", "\xff\xfe", "more: {<<: {a: b}}\n", "name: \"\\x", strings.Repeat("[", 500),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Decode("plan.yaml", text, new(plan))
		if err == nil {
			err = file.At("$.loads[0]", errors.New("wrong"))
		}
		if strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("more than a line: %q", err)
		}
	})
}

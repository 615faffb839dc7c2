package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
)

// json audits each string, each name and each number of a JSON file. One that
// is not valid is a finding, and audited as text.
func (a *auditor) json(data []byte) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	w := &jsonWalk{auditor: a, decoder: d, plain: regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,40}$`)}
	err := w.value("", 0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more after its end")
		}
	}
	if err != nil {
		a.unreadable("it is not valid JSON")
		a.lines(data)
	}
}

// maxDepth bounds nesting.
const maxDepth = 1000

// jsonWalk walks one document.
type jsonWalk struct {
	*auditor
	decoder *json.Decoder
	plain   *regexp.Regexp // names that findings may show
}

// value audits the value that comes next.
func (w *jsonWalk) value(path string, depth int) error {
	if depth > maxDepth {
		return errors.New("nested too deep")
	}
	token, err := w.decoder.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case string:
		w.text(place{file: w.file, where: "member", column: path}, -1, []byte(t))
	case json.Number:
		w.text(place{file: w.file, where: "member", column: path}, -1, []byte(t))
	case json.Delim:
		return w.inside(t, path, depth)
	}
	return nil
}

// inside audits the members of an object or the elements of an array.
func (w *jsonWalk) inside(open json.Delim, path string, depth int) error {
	for i := 0; w.decoder.More(); i++ {
		below := path + "[" + strconv.Itoa(i) + "]"
		if open == '{' {
			token, err := w.decoder.Token()
			if err != nil {
				return err
			}
			name, _ := token.(string)
			below = path + "." + w.name(path, name)
		}
		if err := w.value(below, depth+1); err != nil {
			return err
		}
	}
	_, err := w.decoder.Token()
	return err
}

// name audits a member's name and returns it as findings may show it.
func (w *jsonWalk) name(path, name string) string {
	w.text(place{file: w.file, where: "member", column: path + ".*"}, -1, []byte(name))
	if !w.plain.MatchString(name) || len(w.table.find([]byte(name))) > 0 {
		return "*"
	}
	return name
}

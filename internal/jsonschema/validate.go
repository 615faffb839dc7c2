package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Validate checks a document against a schema of the kind that [Published]
// writes: type, const, enum, properties, required, items,
// additionalProperties. A property that the schema does not have is an error,
// so that no field goes unpublished. It returns all that is wrong.
func Validate(schema, document []byte) error {
	var s map[string]any
	if err := json.Unmarshal(schema, &s); err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	var d any
	if err := json.Unmarshal(document, &d); err != nil {
		return fmt.Errorf("read document: %w", err)
	}
	return errors.Join(check(s, d, "$")...)
}

func check(s map[string]any, d any, at string) (errs []error) {
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf(at+": "+format, args...))
	}
	if want, ok := s["const"]; ok && d != want {
		wrong("is %v, want %v", d, want)
	}
	if want, ok := s["type"]; ok && !contains(want, typeOf(d)) && !(typeOf(d) == "integer" && contains(want, "number")) {
		wrong("is %s, want %v", typeOf(d), want)
		return errs
	}
	if values, ok := s["enum"].([]any); ok && d != nil && !slices.Contains(values, d) {
		wrong("is %v, want one of %v", d, values)
	}
	switch d := d.(type) {
	case []any:
		items, _ := s["items"].(map[string]any)
		for i, item := range d {
			errs = append(errs, check(items, item, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case map[string]any:
		errs = append(errs, checkObject(s, d, at)...)
	}
	return errs
}

func checkObject(s, d map[string]any, at string) (errs []error) {
	properties, _ := s["properties"].(map[string]any)
	others, open := s["additionalProperties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, ok := d[name.(string)]; !ok {
			errs = append(errs, fmt.Errorf("%s: %v is missing", at, name))
		}
	}
	for name, value := range d {
		field, ok := properties[name].(map[string]any)
		switch {
		case ok:
			errs = append(errs, check(field, value, at+"."+name)...)
		case open:
			errs = append(errs, check(others, value, at+"."+name)...)
		default:
			errs = append(errs, fmt.Errorf("%s.%s is not in the schema", at, name))
		}
	}
	return errs
}

// contains reports whether set is the value or a list that has it.
func contains(set any, value string) bool {
	switch set := set.(type) {
	case string:
		return set == value
	case []string:
		return slices.Contains(set, value)
	case []any:
		return slices.Contains(set, any(value))
	}
	return false
}

func typeOf(d any) string {
	switch d := d.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if d == float64(int64(d)) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

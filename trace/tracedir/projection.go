package tracedir

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/lambdac/lambdac/trace"
)

// ErrUnknownColumn reports a row type with a column that no schema version
// has, or has with another type.
var ErrUnknownColumn = errors.New("no such column in any schema version")

// tableOf is the table that rows of type T are read from, and its schema.
// Every type but those of the other tables is a projection of requests.
func tableOf[T any]() (string, *parquet.Schema) {
	switch any((*T)(nil)).(type) {
	case *trace.Features:
		return tableFeatures, parquet.SchemaOf(new(trace.Features))
	case *trace.CaptureWindow:
		return tableCapture, parquet.SchemaOf(new(trace.CaptureWindow))
	case *trace.Sample:
		return tableTelemetry, parquet.SchemaOf(new(trace.Sample))
	case *trace.Body:
		return tableBodies, parquet.SchemaOf(new(trace.Body))
	default:
		return tableRequests, parquet.SchemaOf(new(trace.Record))
	}
}

// checkRow compares the columns of T with those of its table.
func checkRow[T any](known *parquet.Schema) error {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("row type %s: want a struct", t)
	}
	var schema *parquet.Schema
	if err := guard(func() error { schema = parquet.SchemaOf(new(T)); return nil }); err != nil {
		return fmt.Errorf("row type %s cannot be a row: %w", t, ErrUnknownColumn)
	}
	for _, path := range schema.Columns() {
		if err := checkColumn(t, schema, known, path); err != nil {
			return err
		}
	}
	return nil
}

func checkColumn(t reflect.Type, schema, known *parquet.Schema, path []string) error {
	have, _ := schema.Lookup(path...)
	want, ok := known.Lookup(path...)
	where := fmt.Sprintf("row type %s: field %s, column %q", t, fieldOf(t, path[0]), strings.Join(path, "."))
	if !ok {
		return fmt.Errorf("%s: %w; tag a field that is no column with `parquet:\"-\"`", where, ErrUnknownColumn)
	}
	if !sameLeaf(have, want) {
		return fmt.Errorf("%s: %w with this type; use the field's type in package trace (nil is unknown, so optional columns are pointers)", where, ErrUnknownColumn)
	}
	return nil
}

// fieldOf names the Go field of a top-level column.
func fieldOf(t reflect.Type, column string) string {
	for _, f := range columnFields(t) {
		if columnName(f) == column {
			return f.Name
		}
	}
	return column
}

// sameLeaf compares type and nesting. Encodings may differ.
func sameLeaf(a, b parquet.LeafColumn) bool {
	return sameValues(a, b) && a.MaxDefinitionLevel == b.MaxDefinitionLevel
}

// sameValues compares what a file holds with what is asked of it. Optional
// and required may differ: other writers make every column optional.
func sameValues(a, b parquet.LeafColumn) bool {
	return parquet.EqualTypes(a.Node.Type(), b.Node.Type()) && a.MaxRepetitionLevel == b.MaxRepetitionLevel
}

// schemaIn is the schema by which rows of T are read from a file: that of T
// less the top-level columns that the file lacks.
//
// Three things are not left to parquet-go (v0.32). It fills a missing column
// from the levels of a neighbour, so a missing list comes back empty, that is
// observed, in each row where the neighbour is set. It reads 64-bit integers
// into 32 bits without a word; here a type that differs is an error. And it
// reads NULL as a pointer to zero where the field is in an embedded struct;
// see rowField.
//
// exact tells whether every column is in the file with T's nesting.
func schemaIn[T any](pq *parquet.File) (schema *parquet.Schema, exact bool, err error) {
	want := parquet.SchemaOf(new(T))
	there, exact, err := columnsIn(pq.Schema(), want)
	if err != nil {
		return nil, false, err
	}
	row := &rowNode{Node: want}
	index := make(map[string][]int)
	for _, f := range columnFields(reflect.TypeFor[T]()) {
		index[columnName(f)] = f.Index
	}
	for _, f := range want.Fields() {
		if there[f.Name()] {
			row.fields = append(row.fields, &rowField{Field: f, index: index[f.Name()]})
		}
	}
	if len(row.fields) == 0 {
		return nil, false, fmt.Errorf("%w: it has none of the columns asked for", errDamaged)
	}
	return parquet.NewSchema(want.Name(), row), exact, nil
}

// columnsIn are the top-level columns of want that a file has.
func columnsIn(have, want *parquet.Schema) (there map[string]bool, exact bool, err error) {
	there, exact = make(map[string]bool), true
	for _, path := range want.Columns() {
		h, ok := have.Lookup(path...)
		if !ok {
			continue
		}
		w, _ := want.Lookup(path...)
		if !sameValues(h, w) {
			return nil, false, fmt.Errorf("%w: column %q has another type", errDamaged, strings.Join(path, "."))
		}
		there[path[0]] = true
		exact = exact && sameLeaf(h, w)
	}
	for _, path := range want.Columns() {
		if _, ok := have.Lookup(path...); !ok && there[path[0]] {
			exact = false // a list or map that has grown a field
		}
	}
	return there, exact, nil
}

// rowNode is the top group of a row type, with some of its fields.
type rowNode struct {
	parquet.Node
	fields []parquet.Field
}

// Fields are the fields that the file has.
func (n *rowNode) Fields() []parquet.Field { return n.fields }

// rowField finds a column's place in the Go value. parquet-go's own way
// allocates a nil pointer that lies in an embedded struct and hands out what
// it points to, so that NULL cannot be told from zero.
type rowField struct {
	parquet.Field
	index []int
}

// Value is the field itself, pointer or not.
func (f *rowField) Value(row reflect.Value) reflect.Value { return row.FieldByIndex(f.index) }

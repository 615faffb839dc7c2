package jsonschema

import (
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	const schema = `{"type":"object","required":["schema","n"],"properties":{
		"schema":{"const":"x/v1"},"n":{"type":["integer","null"]},"f":{"type":"number"},
		"verdict":{"type":"string","enum":["found","not_found"]},
		"list":{"type":"array","items":{"type":"string"}},
		"counts":{"type":"object","additionalProperties":{"type":"integer"}}}}`
	rows := []struct{ name, document, want string }{
		{"right", `{"schema":"x/v1","n":null,"f":2,"verdict":"found","list":["a"],"counts":{"a":1}}`, ""},
		{"const", `{"schema":"x/v2","n":1}`, "$.schema: is x/v2"},
		{"missing", `{"schema":"x/v1"}`, "n is missing"},
		{"type", `{"schema":"x/v1","n":1.5}`, "$.n: is number"},
		{"null list", `{"schema":"x/v1","n":1,"list":null}`, "$.list: is null"},
		{"item", `{"schema":"x/v1","n":1,"list":["a",2]}`, "$.list[1]: is integer"},
		{"enum", `{"schema":"x/v1","n":1,"verdict":"maybe"}`, "$.verdict: is maybe"},
		{"value", `{"schema":"x/v1","n":1,"counts":{"a":"b"}}`, "$.counts.a: is string"},
		{"unknown", `{"schema":"x/v1","n":1,"more":1}`, "$.more is not in the schema"},
	}
	for _, row := range rows {
		err := Validate([]byte(schema), []byte(row.document))
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
	}
}

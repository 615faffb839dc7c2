package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
)

// FuzzRecordConfig: whatever a configuration file holds, it is read or refused.
func FuzzRecordConfig(f *testing.F) {
	for _, text := range []string{
		"", "port: [8000, 8001]\n", "api_rules:\n  - {path: /gw/*/chat, kind: openai.chat}\n", "a: b: c\n",
		"vantage: &x proxy\nmode: *x\n", "port: 1\n...\n---\nb: 2\n", "\xff\xfe", "body_cap: 0x10\n", "? [a]\n: b\n",
		"a: &a [*a]\n", "<<: {port: [1]}\n", "%YAML 1.2\n---\nport: !!set {1}\n", "iface: |\n  x\n", "{",
	} {
		f.Add([]byte(text))
	}
	name := filepath.Join(f.TempDir(), "config.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var o recordFlags
		flags := pflag.NewFlagSet("record", pflag.ContinueOnError)
		o.bind(flags)
		if err := o.readConfig(name, flags); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}

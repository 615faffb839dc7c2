package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/internal/yamlfile"
	"github.com/lambdac/lambdac/trace"
)

// recordConfig is the file of record --config: YAML whose keys are named as the
// flags, with _ for -. A flag that is given goes before its key.
type recordConfig struct {
	// Iface is the network interface to capture from, or any.
	Iface string `json:"iface,omitempty"`
	// Port lists the server's ports, 1 to 65535.
	Port []int `json:"port,omitempty"`
	// TLSKeyLog is the path of a file of TLS secrets, as seen from the folder
	// in which the program runs.
	TLSKeyLog string `json:"tls_keylog,omitempty"`
	// BodyCap bounds what is read of one body, in bytes, above 0.
	BodyCap *int64 `json:"body_cap,omitempty"`
	// Mode says what to keep of texts.
	Mode trace.Mode `json:"mode,omitempty"`
	// Policy is a file of what is kept, as seen from the folder in which the
	// program runs, or the name of a policy.
	Policy string `json:"policy,omitempty"`
	// Vantage is where the packets were seen.
	Vantage trace.Vantage `json:"vantage,omitempty"`
	// APIRules say what requests to paths are. Those given by flag are tried
	// before them, and of them the first that fits is believed.
	APIRules []apiRule `json:"api_rules,omitempty"`
}

// apiRule is a rule in a file.
type apiRule struct {
	// Path is the whole path of a request without its query; * stands for any
	// one segment, or a part of it.
	Path string `json:"path"`
	// Kind is the API family, or other.
	Kind trace.APIKind `json:"kind"`
}

// maxConfig bounds a configuration file; those of people are a tenth.
const maxConfig = 64 << 10

// readConfig reads a file into the flags that were not given.
func (o *recordFlags) readConfig(name string, flags *pflag.FlagSet) error {
	var c recordConfig
	file, err := yamlfile.Read(name, maxConfig, &c)
	if err != nil {
		return err
	}
	for _, row := range c.settings() {
		flag := flags.Lookup(row.flag)
		if flag.Changed {
			continue
		}
		for _, value := range row.values {
			if err := flags.Set(row.flag, value); err != nil {
				return file.At("$."+row.key, plain(err))
			}
		}
		if err := row.check(o); err != nil {
			return file.At("$."+row.key, plain(err))
		}
	}
	for i, rule := range c.APIRules {
		rule := llmwire.Rule(rule)
		if err := rule.Check(); err != nil {
			return file.At(fmt.Sprintf("$.api_rules[%d]", i), err)
		}
		o.fileRules = append(o.fileRules, rule)
	}
	return nil
}

// setting is a key of the file and the flag that it stands for.
type setting struct {
	key, flag string
	values    []string // none = the key is not there
	check     func(*recordFlags) error
}

func (c *recordConfig) settings() []setting {
	return []setting{
		{"iface", "iface", given(c.Iface), free},
		{"port", "port", each(c.Port), (*recordFlags).checkPorts},
		{"tls_keylog", "tls-keylog", given(c.TLSKeyLog), free},
		{"body_cap", "body-cap", counted(c.BodyCap), (*recordFlags).checkBodyCap},
		{"mode", "mode", given(string(c.Mode)), (*recordFlags).checkMode},
		{"policy", "policy", given(c.Policy), free},
		{"vantage", "vantage", given(string(c.Vantage)), (*recordFlags).checkVantage},
	}
}

func free(*recordFlags) error { return nil }

func given(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func counted(n *int64) []string {
	if n == nil {
		return nil
	}
	return []string{strconv.FormatInt(*n, 10)}
}

func each(list []int) (values []string) {
	for _, n := range list {
		values = append(values, strconv.Itoa(n))
	}
	return values
}

// plain is an error without the exit code that it would have on a command line.
func plain(err error) error {
	if told, ok := errors.AsType[*exitError](err); ok {
		return told.err
	}
	return err
}

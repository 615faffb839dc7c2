package main

import (
	"errors"
	"os"
	"strings"

	"github.com/lambdac/lambdac/internal/yamlfile"
	"github.com/lambdac/lambdac/sanitizer"
)

// policyHelp is the help of the flag --policy.
const policyHelp = "what is kept: a YAML file, or default or strict (docs/sanitizer.md)"

// loadPolicy returns the policy of that name, or the one in that file; the
// default one for "".
func loadPolicy(nameOrFile string) (sanitizer.Policy, error) {
	if nameOrFile == "" {
		return sanitizer.DefaultPolicy(), nil
	}
	if p, ok := sanitizer.BuiltinPolicy(nameOrFile); ok {
		return p, nil
	}
	if !strings.ContainsAny(nameOrFile, `./\`) {
		if _, err := os.Stat(nameOrFile); err != nil {
			return sanitizer.Policy{}, usage("give a file, or one of "+strings.Join(sanitizer.BuiltinPolicies(), ", "), "no policy is called %q", nameOrFile)
		}
	}
	p, err := sanitizer.ReadPolicy(nameOrFile)
	if _, wrong := errors.AsType[*yamlfile.Error](err); wrong {
		return p, usage("lambdac sanitize --print-policy shows the form; docs/sanitizer.md explains it", "%w", err)
	}
	return p, err
}

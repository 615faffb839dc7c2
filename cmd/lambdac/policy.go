package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/sanitizer"
)

// policyHelp is the help of the flag --policy.
const policyHelp = "what is kept: a YAML file, or default or strict (docs/sanitizer.md)"

// maxPolicyFile is a little more than what a policy may have.
const maxPolicyFile = 1<<20 + 1

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
	f, err := os.Open(nameOrFile)
	if err != nil {
		return sanitizer.Policy{}, fmt.Errorf("open policy: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPolicyFile))
	if err != nil {
		return sanitizer.Policy{}, fmt.Errorf("read policy: %w", err)
	}
	p, err := sanitizer.ParsePolicy(nameOrFile, slices.Clip(text))
	if wrong := (*sanitizer.PolicyError)(nil); errors.As(err, &wrong) {
		return p, usage("lambdac sanitize --print-policy shows the form; docs/sanitizer.md explains it", "%w", err)
	}
	return p, err
}

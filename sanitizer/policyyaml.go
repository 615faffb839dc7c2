package sanitizer

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/internal/yamlfile"
)

// maxPolicy bounds a policy file, bytes: the default one has 30 kB.
const maxPolicy = 1 << 20

// ReadPolicy reads the YAML form of a policy from a file. A policy that extends
// another adds to its lists; what it gives to a name that is there replaces
// that. Errors are [*yamlfile.Error] with line and column, around a
// [*PolicyError] where the file is YAML but no policy that can be used, or those
// of opening the file.
func ReadPolicy(path string) (Policy, error) {
	var p Policy
	file, err := yamlfile.Read(path, maxPolicy, &p)
	if err != nil {
		return Policy{}, err
	}
	return p.from(file)
}

// from is the policy that was read from a file, complete and checked.
func (p Policy) from(file *yamlfile.File) (Policy, error) {
	p, err := p.resolve()
	if err == nil {
		err = p.check()
	}
	if wrong, ok := errors.AsType[*PolicyError](err); ok {
		return Policy{}, file.AtKey(wrong.at, err)
	}
	return p, err
}

// resolve joins the policy of a file with the one that it extends.
func (p Policy) resolve() (Policy, error) {
	if p.Schema == "" {
		return p, wrong([]any{"schema"}, "write schema: "+PolicySchema, "the policy does not say its schema")
	}
	if p.Name == "" {
		return p, wrong([]any{"name"}, "write name: and a word for people", "the policy has no name")
	}
	if p.Extends == "" {
		return p, nil
	}
	base, ok := BuiltinPolicy(p.Extends)
	if !ok {
		return p, wrong([]any{"extends"}, "use one of "+strings.Join(BuiltinPolicies(), ", "), "no policy is called %q", p.Extends)
	}
	return base.with(p), nil
}

// with is the policy with another's rules added.
func (p Policy) with(more Policy) Policy {
	p.Schema, p.Name = more.Schema, more.Name
	add(&p.DropHeaders, more.DropHeaders)
	add(&p.LinkHeaders, more.LinkHeaders)
	add(&p.DropQuery, more.DropQuery)
	add(&p.PathWords, more.PathWords)
	add(&p.PathParents, more.PathParents)
	add(&p.Body.Drop, more.Body.Drop)
	add(&p.Body.Pseudonym, more.Body.Pseudonym)
	add(&p.Body.JSON, more.Body.JSON)
	add(&p.Body.Text, more.Body.Text)
	add(&p.Detect.Off, more.Detect.Off)
	add(&p.Detect.Terms, more.Detect.Terms)
	add(&p.Models, more.Models)
	add(&p.Words, more.Words)
	add(&p.NameParts, more.NameParts)
	add(&p.ModelParts, more.ModelParts)
	add(&p.WordParts, more.WordParts)
	p.Headers = joined(p.Headers, more.Headers)
	p.Query = joined(p.Query, more.Query)
	p.Body.Keep = joined(p.Body.Keep, more.Body.Keep)
	// The policy's own sources come first.
	p.Tenant = slices.Concat(more.Tenant, p.Tenant)
	p.Session = slices.Concat(more.Session, p.Session)
	return p
}

// add puts the items first, so that their numbers are those of the file.
func add(list *[]string, more []string) { *list = slices.Concat(more, *list) }

func joined(base, more map[string]Grammar) map[string]Grammar {
	all := maps.Clone(base)
	if all == nil {
		all = make(map[string]Grammar)
	}
	maps.Copy(all, more)
	return all
}

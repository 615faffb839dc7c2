package sanitizer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// Policy says what the sanitizer keeps, as data. Nothing that it does not name
// is kept. Start from [DefaultPolicy].
type Policy struct {
	// Name is a label for people.
	Name string `json:"name"`
	// Headers are the header fields whose values stay, by lower-case name, as
	// far as they match the grammar. Of any other field stay its name and the
	// length of its value.
	Headers map[string]Grammar `json:"headers"`
	// LinkHeaders are replaced by a keyed pseudonym; lower-case names.
	LinkHeaders []string `json:"link_headers"`
	// Query are the query parameters whose values stay.
	Query map[string]Grammar `json:"query"`
	// PathWords are the path segments that stay. Every other segment is an
	// identifier and becomes "{id}".
	PathWords []string `json:"path_words"`
	// PathParents are path segments after which an identifier always follows.
	PathParents []string `json:"path_parents"`
	// Tenant says where the caller stands and Session where the conversation
	// does: the first source with a value counts.
	Tenant  []Source `json:"tenant"`
	Session []Source `json:"session"`
	// Words are the values known beforehand for the columns finish_reasons,
	// error_type, error_code, service_tier, reasoning_level, output_type,
	// provider and operation. Of others, which the service says, unknown ones
	// stay if they look like such a word; service_tier, reasoning_level and
	// output_type, which the client may have written, become "other".
	Words []string `json:"words"`
}

// Source is one place in a request.
type Source struct {
	Place Place `json:"place"`
	// Name is a lower-case header name, a query parameter, or a member of the
	// JSON body: "user", or "metadata.session_id" one level down.
	Name string `json:"name"`
}

// Place says where in a request a [Source] is.
type Place string

const (
	PlaceHeader Place = "header"
	PlaceQuery  Place = "query"
	PlaceBody   Place = "body"
)

// Seal is what goes into the manifest before the first row. It fails like
// [New] for a mode or a policy that cannot be used.
func Seal(cfg Config) (trace.Seal, error) {
	cfg, err := cfg.checked()
	if err != nil {
		return trace.Seal{}, err
	}
	hash, err := cfg.Policy.hash()
	if err != nil {
		return trace.Seal{}, err
	}
	return trace.Seal{Mode: cfg.Mode, Version: cfg.Version, PolicyHash: hash}, nil
}

// hash is SHA-256 over the policy's JSON with its lists sorted where their
// order means nothing.
func (p Policy) hash() (string, error) {
	for _, list := range []*[]string{&p.LinkHeaders, &p.PathWords, &p.PathParents, &p.Words} {
		*list = slices.Compact(slices.Sorted(slices.Values(*list)))
	}
	doc, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("encode policy: %w", err)
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:]), nil
}

// isZero reports a policy that names nothing.
func (p Policy) isZero() bool {
	return p.Name == "" && len(p.Headers)+len(p.LinkHeaders)+len(p.Query)+len(p.PathWords)+
		len(p.PathParents)+len(p.Tenant)+len(p.Session)+len(p.Words) == 0
}

func (p Policy) check() error {
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		if err := checkHeader(name); err != nil {
			return err
		}
		if slices.Contains(p.LinkHeaders, name) {
			return fmt.Errorf("check policy: header %q is both in headers and in link_headers: take it out of one", name)
		}
	}
	for _, name := range p.LinkHeaders {
		if err := checkHeader(name); err != nil {
			return err
		}
	}
	for _, set := range []map[string]Grammar{p.Headers, p.Query} {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			if !set[name].known() {
				return fmt.Errorf("check policy: %q has the unknown grammar %q: use one of %s", name, set[name], grammarNames())
			}
		}
	}
	for _, s := range slices.Concat(p.Tenant, p.Session) {
		if s.Place != PlaceHeader && s.Place != PlaceQuery && s.Place != PlaceBody {
			return fmt.Errorf("check policy: source %q has the unknown place %q: use header, query or body", s.Name, s.Place)
		}
		if s.Name == "" {
			return fmt.Errorf("check policy: a source in %q has no name", s.Place)
		}
	}
	return nil
}

func checkHeader(name string) error {
	if name == "" || name != strings.ToLower(name) || !isToken(name) {
		return fmt.Errorf("check policy: header %q is not a lower-case field name", name)
	}
	return nil
}

package sanitizer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lambdac/lambdac/sanitizer/detect"
	"github.com/lambdac/lambdac/trace"
)

// PolicySchema names the YAML form of a [Policy].
const PolicySchema = "lambdac.policy/v1"

// Policy says what the sanitizer keeps, as data. Nothing that it does not name
// is kept: of any other field stay its name, where that is made of known
// words, and the length of its value. Start from [DefaultPolicy], or read one
// with [ReadPolicy].
//
// Every name in it is literal. In drop_headers, drop_query and places a '*'
// stands for anything, as said there; nothing is a regular expression.
type Policy struct {
	// Schema of the file: lambdac.policy/v1.
	Schema string `json:"schema" yaml:"schema"`
	// Name is a label for people.
	Name string `json:"name" yaml:"name"`

	// Extends is the policy to which the rest of a file is added; "" = none.
	// [ReadPolicy] resolves it.
	Extends string `json:"extends,omitempty" yaml:"extends"`

	// DropHeaders never keep a value, whatever else is said: credentials and
	// identities. Lower-case names; a '*' at the end stands for any rest.
	DropHeaders []string `json:"drop_headers,omitempty" yaml:"drop_headers"`
	// LinkHeaders are replaced by a keyed pseudonym; lower-case names.
	LinkHeaders []string `json:"link_headers,omitempty" yaml:"link_headers"`
	// Headers are the header fields whose values stay, by lower-case name, as
	// far as they match the grammar.
	Headers map[string]Grammar `json:"headers,omitempty" yaml:"headers"`

	// DropQuery never keep a value. A '*' at the end stands for any rest.
	DropQuery []string `json:"drop_query,omitempty" yaml:"drop_query"`
	// Query are the query parameters whose values stay.
	Query map[string]Grammar `json:"query,omitempty" yaml:"query"`

	// PathWords are the path segments that stay. Every other segment is an
	// identifier and becomes "{id}".
	PathWords []string `json:"path_words,omitempty" yaml:"path_words"`
	// PathParents are path segments after which an identifier always follows.
	PathParents []string `json:"path_parents,omitempty" yaml:"path_parents"`

	// Body says what stays of JSON bodies, where the mode keeps bodies at all.
	Body BodyPolicy `json:"body,omitzero" yaml:"body"`

	// Detect says what is looked for in texts, in the mode redact.
	Detect DetectPolicy `json:"detect,omitzero" yaml:"detect"`

	// Tenant says where the caller stands and Session where the conversation
	// does: the first source with a value counts, as a keyed pseudonym.
	Tenant  []Source `json:"tenant,omitempty" yaml:"tenant"`
	Session []Source `json:"session,omitempty" yaml:"session"`

	// Models are model names that stay whole.
	Models []string `json:"models,omitempty" yaml:"models"`
	// Words are the values that stay in the columns finish_reasons, error_type,
	// error_code, service_tier, reasoning_level, output_type, provider and
	// operation, and in body places of grammar word.
	Words []string `json:"words,omitempty" yaml:"words"`

	// NameParts are the lower-case words of which the names of headers,
	// parameters, members and client libraries may be made; a name with another
	// word in it becomes a pseudonym.
	NameParts []string `json:"name_parts,omitempty" yaml:"name_parts"`
	// ModelParts are those of model names.
	ModelParts []string `json:"model_parts,omitempty" yaml:"model_parts"`
	// WordParts are those of finish reasons, error types and error codes that
	// are not in words.
	WordParts []string `json:"word_parts,omitempty" yaml:"word_parts"`
}

// BodyPolicy gives each place of a JSON body its treatment. A place is a path
// of member names: "messages[].content" is the member content of each element
// of the list messages; '*' as a name is any one name, '**' is any number of
// them, "[]" included. Where several lists name a place, the first of drop,
// pseudonym, keep, json, text counts; a place that none names keeps its length.
type BodyPolicy struct {
	// Drop keeps the length of what is there and below: credentials, and
	// whatever repeats texts, such as log probabilities and token ids.
	Drop []string `json:"drop,omitempty" yaml:"drop"`
	// Pseudonym replaces strings by keyed pseudonyms, and numbers by 0: identities
	// by which exchanges belong together.
	Pseudonym []string `json:"pseudonym,omitempty" yaml:"pseudonym"`
	// Keep are the values that stay as far as they match the grammar.
	Keep map[string]Grammar `json:"keep,omitempty" yaml:"keep"`
	// JSON are texts that are themselves JSON, or hold it: they are opened,
	// and stay JSON.
	JSON []string `json:"json,omitempty" yaml:"json"`
	// Text is what people and models wrote: the mode decides.
	Text []string `json:"text,omitempty" yaml:"text"`
}

// DetectPolicy changes the table of [detect.Rules].
type DetectPolicy struct {
	// Off names rules that are not used.
	Off []string `json:"off,omitempty" yaml:"off"`
	// Terms are words found wherever they stand, in any case: customers,
	// projects, machines.
	Terms []string `json:"terms,omitempty" yaml:"terms"`
}

// scanner makes the detectors that the policy wants.
func (p Policy) scanner() (*detect.Scanner, error) {
	return detect.New(detect.Config{Off: p.Detect.Off, Terms: p.Detect.Terms})
}

// Source is one place in a request.
type Source struct {
	Place Place `json:"place" yaml:"place"`
	// Name is a lower-case header name, a query parameter, or a member of the
	// JSON body: "user", or "metadata.session_id" one level down.
	Name string `json:"name" yaml:"name"`
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
	hash, err := cfg.Policy.Hash()
	if err != nil {
		return trace.Seal{}, err
	}
	return trace.Seal{Mode: cfg.Mode, Version: cfg.Version, PolicyHash: hash}, nil
}

// Hash is the SHA-256 of the policy, in hexadecimal: of its JSON with sorted
// those lists whose order means nothing, and without the name.
func (p Policy) Hash() (string, error) {
	p = p.sorted()
	p.Name, p.Extends = "", ""
	doc, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("encode policy: %w", err)
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:]), nil
}

// sorted is the policy with its sets sorted, each item once.
func (p Policy) sorted() Policy {
	for _, list := range []*[]string{
		&p.DropHeaders, &p.LinkHeaders, &p.DropQuery, &p.PathWords, &p.PathParents,
		&p.Body.Drop, &p.Body.Pseudonym, &p.Body.JSON, &p.Body.Text,
		&p.Detect.Off, &p.Detect.Terms, &p.Models, &p.Words, &p.NameParts, &p.ModelParts, &p.WordParts,
	} {
		*list = slices.Compact(slices.Sorted(slices.Values(*list)))
	}
	return p
}

// isZero reports a policy that names nothing.
func (p Policy) isZero() bool {
	if p.Name != "" || p.Schema != "" || len(p.Headers)+len(p.Query)+len(p.Body.Keep)+len(p.Tenant)+len(p.Session) > 0 {
		return false
	}
	p = p.sorted()
	return len(p.DropHeaders)+len(p.LinkHeaders)+len(p.DropQuery)+len(p.PathWords)+len(p.PathParents)+
		len(p.Body.Drop)+len(p.Body.Pseudonym)+len(p.Body.JSON)+len(p.Body.Text)+
		len(p.Detect.Off)+len(p.Detect.Terms)+len(p.Models)+len(p.Words)+len(p.NameParts)+len(p.ModelParts)+len(p.WordParts) == 0
}

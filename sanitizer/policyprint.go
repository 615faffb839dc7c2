package sanitizer

import (
	"maps"
	"slices"
	"strings"
)

// YAML is the policy in the form that [ReadPolicy] reads, its lists sorted and
// each rule with its explanation.
func (p Policy) YAML() string {
	p = p.sorted()
	w := &policyWriter{}
	w.text("# What `lambdac record` and `lambdac sanitize` keep. Nothing that is not named here\n")
	w.text("# is kept: of any other field stay the name, where it is made of name_parts, and the\n")
	w.text("# length of its value. Names are literal, nothing is a regular expression.\n")
	w.text("schema: " + PolicySchema + "\nname: " + quoted(p.Name) + "\n")
	w.list("", "drop_headers", "Header fields that never keep a value. A * at the end = any rest.", p.DropHeaders)
	w.list("", "link_headers", "Header fields that become a keyed pseudonym: they link exchanges.", p.LinkHeaders)
	w.table("", "headers", "Header fields whose value stays, as far as it matches the grammar.", p.Headers)
	w.list("", "drop_query", "Query parameters that never keep a value.", p.DropQuery)
	w.table("", "query", "Query parameters whose value stays.", p.Query)
	w.list("", "path_words", "Path segments that stay; any other becomes {id}.", p.PathWords)
	w.list("", "path_parents", "Path segments that are followed by an identifier.", p.PathParents)
	w.body(&p.Body)
	w.text("\n# Detectors, in the mode redact.\ndetect:\n")
	w.list("  ", "off", "Rules that are not used.", p.Detect.Off)
	w.list("  ", "terms", "Words found wherever they stand: customers, projects, machines.", p.Detect.Terms)
	w.sources("tenant", "Where the caller stands: the first that has a value counts, as a pseudonym.", p.Tenant)
	w.sources("session", "Where the conversation stands.", p.Session)
	w.list("", "models", "Model names that stay whole.", p.Models)
	w.list("", "words", "Finish reasons, error types and codes, tiers and levels that stay.", p.Words)
	w.list("", "name_parts", "The words of which names may be made; a name with another one becomes a pseudonym.", p.NameParts)
	w.list("", "model_parts", "The same for model names.", p.ModelParts)
	w.list("", "word_parts", "The same for finish reasons, error types and error codes that are not in words.", p.WordParts)
	return w.out.String()
}

type policyWriter struct{ out strings.Builder }

func (w *policyWriter) text(s string) { w.out.WriteString(s) }

func (w *policyWriter) body(b *BodyPolicy) {
	w.text("\n# JSON bodies, where the mode keeps bodies. a[].b = b of each element of a; * = any\n# name; ** = any depth. The first of drop, pseudonym, keep, json, text counts.\nbody:\n")
	w.list("  ", "drop", "Only the length stays, whatever is below.", b.Drop)
	w.list("  ", "pseudonym", "Identities that carry structure.", b.Pseudonym)
	w.table("  ", "keep", "Values that stay, as far as they match the grammar.", b.Keep)
	w.list("  ", "json", "Texts that hold JSON: opened, and JSON again afterwards.", b.JSON)
	w.list("  ", "text", "What people and models wrote: as the mode says.", b.Text)
}

// width is where lines of a list are broken.
const width = 100

// list writes a flow list over as many lines as it takes.
func (w *policyWriter) list(indent, name, comment string, items []string) {
	w.head(indent, name, comment)
	if len(items) == 0 {
		w.text(" []\n")
		return
	}
	w.text(" [")
	line := width
	for _, item := range items {
		item = quoted(item) + ","
		if line += len(item) + 1; line > width {
			w.text("\n" + indent + "  ")
			line = len(indent) + 2 + len(item)
		} else {
			w.text(" ")
		}
		w.text(item)
	}
	w.text("\n" + indent + "]\n")
}

func (w *policyWriter) table(indent, name, comment string, values map[string]Grammar) {
	w.head(indent, name, comment)
	if len(values) == 0 {
		w.text(" {}\n")
		return
	}
	w.text("\n")
	for _, key := range slices.Sorted(maps.Keys(values)) {
		w.text(indent + "  " + quoted(key) + ": " + string(values[key]) + "\n")
	}
}

func (w *policyWriter) sources(name, comment string, list []Source) {
	w.head("", name, comment)
	if len(list) == 0 {
		w.text(" []\n")
		return
	}
	w.text("\n")
	for _, s := range list {
		w.text("  - {place: " + string(s.Place) + ", name: " + quoted(s.Name) + "}\n")
	}
}

func (w *policyWriter) head(indent, name, comment string) {
	if indent == "" {
		w.text("\n")
	}
	w.text(indent + "# " + comment + "\n" + indent + name + ":")
}

// quoted is s as a YAML string: plain where nothing else can be meant.
func quoted(s string) string {
	switch strings.ToLower(s) {
	case "", "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan":
		return `"` + s + `"`
	}
	if isLetter(s[0]) && madeOf(s, "_-./") {
		return s
	}
	return `"` + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`) + `"`
}

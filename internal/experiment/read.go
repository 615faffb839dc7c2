package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/internal/yamlfile"
)

// maxBytes bounds an experiment file; those of people are a hundredth.
const maxBytes = 1 << 20

// Experiment is a file that was read: its document, and where things are in it.
type Experiment struct {
	Document
	file *yamlfile.File
}

// Read reads an experiment file. Its errors are [*yamlfile.Error] with line and
// column, or those of opening the file.
func Read(path string) (*Experiment, error) {
	x := new(Experiment)
	file, err := yamlfile.Read(path, maxBytes, &x.Document)
	if err != nil {
		return nil, err
	}
	return x, x.checked(file)
}

// At is an error in what stands at a path below spec, such as
// "load.levels[2]", at its place.
func (x *Experiment) At(path string, err error) error { return x.file.At("$.spec."+path, err) }

// checked fills in defaults and returns the first fault of the form.
func (x *Experiment) checked(file *yamlfile.File) error {
	x.file = file
	for _, rule := range rules {
		if err := rule.check(&x.Document); err != nil {
			return file.At(rule.path, err)
		}
	}
	load := &x.Spec.Load
	load.Hold, load.Warmup = orDefault(load.Hold, "60s"), orDefault(load.Warmup, "10s")
	return nil
}

func orDefault(text, standard string) string {
	if text == "" {
		return standard
	}
	return text
}

// rules are what the form asks for beyond its types, in the order of the file.
var rules = []struct {
	path  string
	check func(*Document) error
}{
	{"$.apiVersion", func(d *Document) error { return want("apiVersion", d.APIVersion, APIVersion) }},
	{"$.kind", func(d *Document) error { return want("kind", d.Kind, Kind) }},
	{"$.metadata.name", func(d *Document) error { return checkName(d.Metadata.Name) }},
	{"$.spec.trace.path", func(d *Document) error { return needed("trace.path: the trace to replay", d.Spec.Trace.Path) }},
	{"$.spec.target.url", func(d *Document) error { return needed("target.url: the base URL of the service", d.Spec.Target.URL) }},
	{"$.spec.load.mode", func(d *Document) error { return d.Spec.Load.checkMode() }},
	{"$.spec.load", func(d *Document) error { return d.Spec.Load.oneWay() }},
	{"$.spec.telemetry.gpu", func(d *Document) error {
		if d.Spec.Telemetry == nil {
			return nil
		}
		return oneOf("gpu", d.Spec.Telemetry.GPU, "", "auto", "on", "off")
	}},
	{"$.spec.probes", func(d *Document) error { return oneOf("probes", d.Spec.Probes, "", "builtin") }},
	{"$.spec.baseline.run", func(d *Document) error {
		if d.Spec.Baseline == nil {
			return nil
		}
		return needed("baseline.run: the run to compare with", d.Spec.Baseline.Run)
	}},
	{"$.spec.control.synthetic", func(d *Document) error {
		if c := d.Spec.Control; c != nil && !c.Synthetic {
			return errors.New("a control arm is synthetic: write synthetic: true, or take control out")
		}
		return nil
	}},
	{"$.spec.arms", func(d *Document) error { return reserved("arms", d.Spec.Arms) }},
	{"$.spec.expect", func(d *Document) error { return reserved("expect", d.Spec.Expect) }},
	{"$.spec.retry", func(d *Document) error { return reserved("retry", d.Spec.Retry) }},
	{"$.spec.schedule", func(d *Document) error { return reserved("schedule", d.Spec.Schedule) }},
}

func want(key, got, wanted string) error {
	if got != wanted {
		return fmt.Errorf("%s is %q: want %s", key, got, wanted)
	}
	return nil
}

func needed(what, got string) error {
	if got == "" {
		return fmt.Errorf("nothing is said of %s", what)
	}
	return nil
}

func oneOf(key, got string, known ...string) error {
	if !slices.Contains(known, got) {
		return fmt.Errorf("%s %q: want one of %s", key, got, strings.TrimPrefix(strings.Join(known, ", "), ", "))
	}
	return nil
}

func reserved(key string, got any) error {
	if got != nil {
		return fmt.Errorf("%s is a name for later, it does nothing yet: take it out", key)
	}
	return nil
}

func checkName(name string) error {
	if name == "" {
		return errors.New("the experiment has no name: write metadata: {name: …}")
	}
	ok := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_'
	}
	if len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return !ok(r) }) {
		return fmt.Errorf("name %q: want up to 64 of a-z, 0-9, - and _", name)
	}
	return nil
}

func (l *Load) checkMode() error {
	closed := len(l.Concurrency) > 0
	if l.Mode == "open" && closed || l.Mode == "closed" && !closed {
		return fmt.Errorf("mode %s does not go with these loads: concurrency is for a closed loop, all else for an open one", l.Mode)
	}
	return oneOf("mode", l.Mode, "", "open", "closed")
}

// oneWay checks that the loads are said in one way.
func (l *Load) oneWay() error {
	given := 0
	for _, set := range []bool{l.Rate != 0, len(l.Levels) > 0, len(l.Scale) > 0, len(l.Concurrency) > 0, l.Search != nil} {
		if set {
			given++
		}
	}
	if given != 1 {
		return fmt.Errorf("want one of rate, levels, scale, concurrency and search, got %d of them", given)
	}
	return nil
}

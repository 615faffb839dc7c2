// Package deptest holds the import table of ARCHITECTURE.md and fails on an
// arrow outside it.
package deptest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/lambdac/lambdac/"

// ours says which packages of ours each package may import, and why it may
// exist beside the others.
var ours = map[string]struct {
	imports []string
	reason  string
}{
	"trace":               {nil, "the nouns; everything may import it, it imports nothing"},
	"internal/sse":        {nil, "event framing, no knowledge of LLMs"},
	"internal/tokens":     {nil, "vocabularies, loaded on first use"},
	"internal/textstats":  {[]string{"trace", "internal/tokens"}, "numbers from texts that are not kept"},
	"internal/yamlfile":   {nil, "the YAML files of people: strict, bounded, faults at their place"},
	"internal/experiment": {[]string{"internal/yamlfile"}, "the experiment file as data"},
	"internal/testenv":    {nil, "the one way to skip a test"},
	"internal/jsonschema": {nil, "published schemas and the structs behind them; tests only"},
	"bpf":                 {nil, "the kernel side: programs and their loader"},
	"internal/hostcheck":  {nil, "what this host lets the recorder do"},
	"internal/leaktest":   {nil, "searches written files for planted values; tests only"},
	"analyzer/stats":      {nil, "numbers in, structs out"},
	"trace/tracedir":      {[]string{"trace"}, "directories of Parquet"},
	"internal/twin":       {[]string{"trace"}, "the serving model in virtual time"},
	"internal/llmwire":    {[]string{"trace", "internal/sse"}, "API families"},
	"internal/sim":        {[]string{"trace", "internal/twin", "internal/llmwire", "internal/sse"}, "the twin behind HTTP"},
	"internal/tlslib":     {nil, "TLS implementations in processes, and where to probe them"},
	"recorder":            {[]string{"trace", "bpf", "internal/tlslib", "internal/llmwire", "internal/sse"}, "bytes seen to exchanges"},
	"sanitizer":           {[]string{"trace", "internal/llmwire", "internal/textstats", "internal/tokens", "internal/yamlfile", "sanitizer/detect"}, "exchanges to records"},
	"sanitizer/audit":     {[]string{"trace/tracedir"}, "the gate in front of what leaves; independent of the detectors"},
	"sanitizer/detect":    {nil, "text to findings: credentials and personal data"},
	"replayer":            {[]string{"trace", "internal/fault", "internal/llmwire", "internal/sse", "internal/textstats", "internal/tokens"}, "records to requests on schedule"},
	"analyzer":            {[]string{"trace", "trace/tracedir", "analyzer/stats"}, "runs to findings"},
	"internal/fault":      {[]string{"trace", "internal/llmwire", "internal/sse"}, "faults put into exchanges, seeded"},
	"analyzer/report":     {[]string{"trace", "analyzer"}, "findings to pages"},
	"internal/telemetry":  {[]string{"trace"}, "samples of host, GPUs, servers and client on one clock"},
	"datasets":            {[]string{"trace", "trace/tracedir", "internal/llmwire", "internal/tokens"}, "other people's traces, and ours for others"},

	"internal/datagen":          {[]string{"trace", "trace/tracedir", "internal/twin", "analyzer"}, "makes the datasets; make datasets only"},
	"internal/kerneltest":       {nil, "runs test binaries on other kernels; make test-kernel only"},
	"internal/kerneltest/guest": {nil, "the only program on those"},
}

// only names, for each third-party module, the packages that alone may import
// it.
var only = map[string][]string{
	"github.com/parquet-go/parquet-go":   {"trace/tracedir", "internal/leaktest"},
	"github.com/google/gopacket":         {"recorder"},
	"github.com/tsenart/vegeta":          {"replayer"},
	"gonum.org/v1/gonum":                 {"analyzer/stats"},
	"gonum.org/v1/plot":                  {"analyzer/report"},
	"github.com/pkoukk/tiktoken-go":      {"internal/tokens"},
	"github.com/go-json-experiment/json": {"internal/fault", "internal/llmwire", "sanitizer", "datasets"},
	"github.com/klauspost/compress":      {"recorder", "internal/leaktest", "datasets", "trace/tracedir"},
	"github.com/andybalholm/brotli":      {"recorder"},
	"golang.org/x/crypto":                {"recorder"},
	"golang.org/x/net":                   {"recorder"},
	"github.com/spf13/cobra":             {"cmd/lambdac"},
	"github.com/goccy/go-yaml":           {"internal/yamlfile"},
	"github.com/rogpeppe/go-internal":    {},
	"github.com/google/go-cmp":           {"internal/jsonschema"},
	"github.com/cilium/ebpf":             {"bpf"},
	"github.com/Shopify/toxiproxy":       {"internal/fault"},
	"github.com/NVIDIA/go-nvml":          {"internal/telemetry"},
	"github.com/prometheus/procfs":       {"internal/telemetry"},
	"github.com/prometheus/common":       {"internal/telemetry"},
	"github.com/prometheus/client_model": {"internal/telemetry"},
	"github.com/zricethezav/gitleaks":    {},
	"github.com/charmbracelet/bubbletea": {"cmd/lambdac"},
	"charm.land/bubbletea":               {"cmd/lambdac"},
	"charm.land/lipgloss":                {"cmd/lambdac"},
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func list(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("decode go list: %v", err)
		}
		packages = append(packages, p)
	}
}

func TestImports(t *testing.T) {
	seen := make(map[string]bool)
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		seen[name] = true
		if name == "internal/deptest" {
			continue
		}
		row, known := ours[name]
		if !known && name != "cmd/lambdac" {
			t.Errorf("%s has no row in the import table: say what it is for and what it may import", name)
		}
		for _, imported := range p.Imports {
			target, isOurs := strings.CutPrefix(imported, module)
			if isOurs && name != "cmd/lambdac" && !slices.Contains(row.imports, target) {
				t.Errorf("%s imports %s: not in its row", name, target)
			}
			if !isOurs {
				checkThirdParty(t, name, imported)
			}
		}
	}
	for name := range ours {
		if !seen[name] {
			t.Errorf("the import table has a row for %s, which does not exist", name)
		}
	}
}

func checkThirdParty(t *testing.T, name, imported string) {
	t.Helper()
	if name == "trace" && strings.Contains(strings.Split(imported, "/")[0], ".") {
		t.Errorf("trace imports %s: it is standard library only", imported)
	}
	for prefix, allowed := range only {
		if (imported == prefix || strings.HasPrefix(imported, prefix+"/")) && !slices.Contains(allowed, name) {
			t.Errorf("%s imports %s, which only %v may", name, imported, allowed)
		}
	}
}

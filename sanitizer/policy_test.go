package sanitizer

import (
	"slices"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

func TestSeal(t *testing.T) {
	seal, err := Seal(Config{Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	if seal.Mode != trace.ModeShape || seal.Version != "1.2.3" || len(seal.PolicyHash) != 64 {
		t.Errorf("seal %+v", seal)
	}
	hash := func(change func(*Policy)) string {
		p := DefaultPolicy()
		change(&p)
		seal, err := Seal(Config{Policy: p})
		if err != nil {
			t.Fatal(err)
		}
		return seal.PolicyHash
	}
	if hash(func(p *Policy) { slices.Reverse(p.PathWords) }) != seal.PolicyHash {
		t.Error("the order of a set changes the hash")
	}
	if hash(func(p *Policy) { p.Headers["x-tier"] = GrammarFlag }) == seal.PolicyHash {
		t.Error("another policy has the same hash")
	}
	if hash(func(p *Policy) { slices.Reverse(p.Tenant) }) == seal.PolicyHash {
		t.Error("the order of sources, which counts, does not change the hash")
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"mode", func(c *Config) { c.Mode = trace.ModeImport }, `choose mode "import": use shape, filler or redact`},
		{"vocabulary", func(c *Config) { c.Vocabulary = "p50k_base" }, `choose vocabulary "p50k_base": use cl100k_base or o200k_base`},
		{"share", func(c *Config) { c.FeatureShare = 1.5 }, "choose feature share 1.5"},
		{"grammar", func(c *Config) { c.Policy.Headers["x-a"] = "regexp" }, `unknown grammar "regexp": use one of beta`},
		{"upper case", func(c *Config) { c.Policy.LinkHeaders = []string{"X-A"} }, `header "X-A" is not a lower-case`},
		{"overlap", func(c *Config) { c.Policy.LinkHeaders = []string{"accept"} }, "take it out of one"},
		{"place", func(c *Config) { c.Policy.Tenant = []Source{{"cookie", "a"}} }, `unknown place "cookie"`},
		{"no name", func(c *Config) { c.Policy.Session = []Source{{PlaceBody, ""}} }, "has no name"},
	} {
		cfg := Config{Policy: DefaultPolicy()}
		tc.change(&cfg)
		if _, err := New(cfg, &memory{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want an error with %q", tc.name, err, tc.want)
		}
	}
}

// A policy names the tenant's place and allows more values.
func TestPolicyIsFollowed(t *testing.T) {
	p := DefaultPolicy()
	p.Tenant = []Source{{PlaceBody, "metadata.team"}}
	p.Headers["x-tier"] = GrammarFlag
	p.PathWords = append(p.PathWords, "special")
	out := &memory{}
	s := start(t, Config{Policy: p, Key: testKey}, out)
	for i, team := range []string{"red", "red", "blue"} {
		x := chat(uint64(i), int64(i)*1e9, `{"metadata":{"x":1,"team":"`+team+`"},"messages":[]}`)
		x.Target = "/special/route"
		x.ReqHeader = append(x.ReqHeader, trace.Field{Name: "X-Tier", Value: "true"})
		if err := s.Take(x); err != nil {
			t.Fatal(err)
		}
	}
	r := out.records
	if r[0].TenantID == nil || *r[0].TenantID != *r[1].TenantID || *r[0].TenantID == *r[2].TenantID {
		t.Error("the tenant does not follow the body field")
	}
	if r[0].PathTemplate != "/special/{id}" || r[0].ReqHeaders["x-tier"] != "true" {
		t.Errorf("path %q, header %q", r[0].PathTemplate, r[0].ReqHeaders["x-tier"])
	}
}

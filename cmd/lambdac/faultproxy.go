package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/internal/fault"
	"github.com/lambdac/lambdac/internal/yamlfile"
)

// faultProxyFlags are the flags of fault-proxy.
type faultProxyFlags struct {
	faults   faultFlags
	listen   string
	target   string
	rules    string
	idHeader string
	seed     uint64
	list     bool
	asJSON   bool
}

func newFaultProxy() *cobra.Command {
	var o faultProxyFlags
	c := &cobra.Command{
		Use:   "fault-proxy --target URL --fault FAULT… [--rules FILE]",
		Short: "Stand in front of a service and inject faults",
		Long: `Pass requests on to a service, with faults in some of them, until the program
is stopped; then print what each fault did. --list names the faults.

With an http:// or https:// target the faults of all layers are there, for LLM
and embedding APIs, and for vector stores that speak JSON over HTTP: Qdrant,
Chroma and OpenSearch are known, others are described by --rules. With
tcp://HOST:PORT any protocol passes, gRPC among them, and only faults of layer
network are there: their share is one of connections.

Which requests are hit follows from --seed and the request: from its header
--id-header, else from method, path and body. So equal requests are hit alike
in every run. A fault's window counts from the start of the program.

A rules file tells where a store's JSON holds what:

  rules:
    - name: my-store
      path: /search/*              # * stands for one segment
      hits: $.result[*].points     # lists of hits, best first
      score: score                 # within a hit
      metadata: payload
      document: payload.text
      query_vector: $.vector       # in the request
      threshold: $.min_score
    - name: my-embeddings
      path: /embed
      vectors: $[*]

columns instead of hits names parallel lists, as Chroma answers; distance: true
says that a smaller score is better; query_text, total and method are the rest.`,
		Example: `  lambdac fault-proxy --listen 127.0.0.1:6334 --target http://127.0.0.1:6333 --fault rerank,share=20%
  lambdac fault-proxy --target https://llm.staging --fault delay,delay=2s,share=5%,from=1m,for=30s --fault cut,share=1%
  lambdac fault-proxy --target tcp://127.0.0.1:50051 --fault network.latency,latency=100ms
  lambdac fault-proxy --list`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return faultProxy(c, &o) },
	}
	f := c.Flags()
	o.faults.register(f)
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "address to listen on; port 0 = any")
	f.StringVar(&o.target, "target", "", "the service: http://, https:// or tcp://HOST:PORT")
	f.StringVar(&o.rules, "rules", "", "YAML file that tells where a store's JSON holds what (default: Qdrant, Chroma, OpenSearch and embedding APIs)")
	f.StringVar(&o.idHeader, "id-header", "X-Request-Id", "header field that tells requests apart")
	f.Uint64Var(&o.seed, "seed", 1, "seed of which requests are hit")
	f.BoolVar(&o.list, "list", false, "name the faults and their parameters, and end")
	f.BoolVar(&o.asJSON, "json", false, "at the end, print what the faults did as one JSON document")
	return c
}

// relay is a proxy of either sort.
type relay interface {
	Serve(ctx context.Context, ln net.Listener) error
	Report() fault.Report
}

func faultProxy(c *cobra.Command, o *faultProxyFlags) error {
	if o.list {
		return listFaults(c.OutOrStdout())
	}
	u := newUI(c)
	proxy, stores, err := o.relay(c.Context())
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", o.listen)
	if err != nil {
		return usage("choose another --listen, such as 127.0.0.1:0", "listen: %w", err)
	}
	out := c.OutOrStdout()
	if o.asJSON {
		out = c.ErrOrStderr() // the document alone goes to stdout
	}
	if _, err := fmt.Fprintf(out, "listening %s, in front of %s\n", ln.Addr(), o.target); err != nil {
		return errors.Join(err, ln.Close())
	}
	if err := proxy.Serve(c.Context(), ln); err != nil {
		return err
	}
	return o.tell(c, u, proxy.Report(), stores)
}

// relay makes the proxy; stores are the names of the faults that need rules.
func (o *faultProxyFlags) relay(ctx context.Context) (r relay, stores []string, err error) {
	const see = "see lambdac fault-proxy --help"
	if o.target == "" {
		return nil, nil, usage(see, "--target is needed")
	}
	specs, err := o.faults.specs()
	if err != nil {
		return nil, nil, err
	}
	if len(specs) == 0 {
		return nil, nil, usage("lambdac fault-proxy --list names them", "no --fault: nothing would be injected")
	}
	for i := range specs {
		if specs[i].NeedsRules() {
			stores = append(stores, specs[i].Name)
		}
	}
	u, err := url.Parse(o.target)
	if err != nil || u.Host == "" || u.User != nil || !slices.Contains([]string{"http", "https", "tcp"}, u.Scheme) {
		return nil, nil, usage("give it as http://HOST:PORT, https://HOST or tcp://HOST:PORT", "--target is not the address of a service")
	}
	if u.Scheme == "tcp" {
		if u.Port() == "" {
			return nil, nil, usage("give it as tcp://HOST:PORT", "--target has no port")
		}
		if o.rules != "" {
			return nil, nil, usage("use an http:// target", "--rules are about JSON over HTTP, and tcp:// targets are only passed on")
		}
		t, err := fault.NewTunnel(ctx, u.Host, specs, o.seed)
		return t, nil, faultError(err)
	}
	rules, err := readRules(o.rules)
	if err != nil {
		return nil, nil, err
	}
	p, err := fault.NewProxy(ctx, fault.ProxyConfig{Target: u, Faults: specs, Seed: o.seed, Rules: rules, IDHeader: o.idHeader})
	return p, stores, faultError(err)
}

// maxRules bounds a file of rules.
const maxRules = 256 << 10

// readRules reads a file of rules; "" = those that are built in.
func readRules(name string) ([]fault.Rule, error) {
	if name == "" {
		return fault.BuiltinRules(), nil
	}
	var doc struct {
		Rules []fault.Rule `json:"rules"`
	}
	file, err := yamlfile.Read(name, maxRules, &doc)
	if err != nil {
		return nil, err
	}
	if len(doc.Rules) == 0 {
		return nil, usage("begin it with rules: and a list; see lambdac fault-proxy --help", "%q holds no rule", name)
	}
	if err := fault.CheckRules(doc.Rules); err != nil {
		told := (*fault.Error)(nil)
		if errors.As(err, &told) {
			return nil, file.At("$."+told.Field, err)
		}
		return nil, err
	}
	return doc.Rules, nil
}

// faultProxyResult is what fault-proxy prints with --json.
type faultProxyResult struct {
	Schema   string       `json:"schema"`
	Version  string       `json:"version"`
	Warnings []string     `json:"warnings"`
	Target   string       `json:"target"`
	Seed     uint64       `json:"seed"`
	Report   fault.Report `json:"report"`
}

const faultProxySchema = "lambdac.fault-proxy/v1"

// tell prints what the faults did.
func (o *faultProxyFlags) tell(c *cobra.Command, u *ui, r fault.Report, stores []string) error {
	result := faultProxyResult{Schema: faultProxySchema, Version: version, Warnings: []string{}, Target: o.target, Seed: o.seed, Report: r}
	idle := false
	for _, f := range r.Faults {
		if f.Chosen == 0 || f.Acted > 0 {
			continue
		}
		what := fmt.Sprintf("fault %q acted on none of the %d requests that it was chosen for", f.Name, f.Chosen)
		if slices.Contains(stores, f.Name) {
			idle = true
			what += ": no rule found in them what it changes (compare --rules with what the store is sent and answers)"
		}
		result.Warnings = append(result.Warnings, what)
	}
	if r.Unreached > 0 {
		result.Warnings = append(result.Warnings, fmt.Sprintf("%d connections were open before a fault's window began, and passed without it", r.Unreached))
	}
	for _, w := range result.Warnings {
		u.warn("%s", w)
	}
	var err error
	if o.asJSON {
		err = printJSON(c.OutOrStdout(), result)
	} else {
		err = printFaultReport(c.OutOrStdout(), r)
	}
	if err == nil && idle {
		return &exitError{code: exitInvalid}
	}
	return err
}

func printFaultReport(w io.Writer, r fault.Report) error {
	if _, err := fmt.Fprintf(w, "%d requests, %d without an answer of the service's own\n", r.Requests, r.Failed); err != nil {
		return err
	}
	for _, f := range r.Faults {
		extra := ""
		if f.Extra > 0 {
			extra = fmt.Sprintf(", %d further requests", f.Extra)
		}
		if _, err := fmt.Fprintf(w, "  %-24s in window and target %6d  chosen %6d  acted %6d%s\n", f.Name, f.Matched, f.Chosen, f.Acted, extra); err != nil {
			return err
		}
	}
	return nil
}

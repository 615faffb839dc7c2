package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lambdac/lambdac/internal/hostcheck"
	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/internal/yamlfile"
	"github.com/lambdac/lambdac/recorder"
	"github.com/lambdac/lambdac/trace"
)

// recordFlags are the flags of record.
type recordFlags struct {
	pcaps   []string
	iface   string
	ebpf    ebpfFlags
	ports   []int
	keyLog  string
	bodyCap int64
	config  string
	rules   []string
	// fileRules are those of the configuration file.
	fileRules []llmwire.Rule
	mode      string
	tokenizer string
	policy    string
	vantage   string
	span      time.Duration
	out       string
	force     bool
	asJSON    bool
}

func newRecord() *cobra.Command {
	var o recordFlags
	c := &cobra.Command{
		Use:   "record (--ebpf --port P | --iface IF --port P | --pcap FILE…) -o DIR",
		Short: "Capture exchanges into a sanitized trace",
		Long: `Record LLM traffic from inside the kernel (eBPF), a network interface or
capture files. Exchanges are sanitized in memory before the first byte reaches
the disk: the default mode "shape" keeps times, sizes, token counts and keyed
block ids, and no text.
"filler" also keeps bodies that can be sent again, in which each text is so
many meaningless words as it had tokens, and equal beginnings stay equal.
"redact" keeps the texts, with words in the place of the credentials, numbers
and addresses that are found; it does not find names of people, and is for
trusted places only.
Stops cleanly on SIGINT and SIGTERM.

A configuration file is YAML. Its keys are iface, port, tls_keylog, body_cap,
mode, policy and vantage, which stand for the flags of these names where they
are not given, and api_rules, which are tried after --api-rule:

  port: [8000, 8001]
  api_rules:
    - {path: /gw/*/chat, kind: openai.chat}`,
		Example: `  lambdac record --port 8000 --for 10m -o traces/live
  lambdac record --ebpf --comm vllm --tls -o traces/vllm
  lambdac record --pcap monday.pcap --pcap tuesday.pcapng -o traces/week
  lambdac record --iface eth0 --port 8000 --for 10m -o traces/live
  lambdac record --pcap tls.pcap --tls-keylog keys.log -o traces/tls
  lambdac record --pcap gw.pcap --api-rule '/gw/*/chat=openai.chat' -o traces/gw
  lambdac record --config lambdac.yaml --pcap gw.pcap -o traces/gw
  tcpdump -i any -s 0 -w - port 8000 | lambdac record --pcap - -o traces/live`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			o.pcaps = append(o.pcaps, args...)
			return record(c, &o)
		},
	}
	o.bind(c.Flags())
	return c
}

func (o *recordFlags) bind(f *pflag.FlagSet) {
	section(f, "What is recorded", o.bindSource)
	section(f, "Inside the kernel (--ebpf)", o.ebpf.bind)
	section(f, "What is kept", o.bindKept)
	section(f, "Output", o.bindOutput)
}

func (o *recordFlags) bindSource(f *pflag.FlagSet) {
	f.StringArrayVar(&o.pcaps, "pcap", nil, "capture file, pcap or pcapng; - = standard input (repeatable)")
	f.StringVar(&o.iface, "iface", "", "network interface to capture from, or any")
	f.IntSliceVar(&o.ports, "port", nil, "server port (repeatable); needed with --iface, a filter with --ebpf and --pcap")
	f.StringVar(&o.vantage, "vantage", string(trace.VantageServer), "where the packets were seen: client, server or proxy")
	f.StringVar(&o.keyLog, "tls-keylog", "", "secrets of TLS connections: the file that clients or servers write by SSLKEYLOGFILE")
	f.StringArrayVar(&o.rules, "api-rule", nil, "PATH=KIND: what requests to a path are, such as '/gw/*/chat=openai.chat' (repeatable; the first that fits is believed)")
	f.Int64Var(&o.bodyCap, "body-cap", 16<<20, "read this many bytes of a body at most; what is over is counted")
	f.DurationVar(&o.span, "for", 0, "stop after this long (interface or pipe)")
	f.StringVar(&o.config, "config", "", "configuration file; a flag goes before its key")
}

func (o *recordFlags) bindKept(f *pflag.FlagSet) {
	f.StringVar(&o.mode, "mode", string(trace.ModeShape), "what to keep of texts: shape, filler or redact")
	f.StringVar(&o.policy, "policy", "", policyHelp)
	f.StringVar(&o.tokenizer, "tokenizer", "", "vocabulary in which filler counts: cl100k_base or o200k_base (default: the one that fits the model)")
}

func (o *recordFlags) bindOutput(f *pflag.FlagSet) {
	f.StringVarP(&o.out, "out", "o", "", "trace directory to make")
	f.BoolVar(&o.force, "force", false, "replace an existing trace directory")
	f.BoolVar(&o.asJSON, "json", false, "print the summary as JSON")
}

const seeRecord = "see lambdac record --help"

func (o *recordFlags) check() error {
	switch {
	case o.out == "":
		return usage(seeRecord, "-o is needed: where the trace goes")
	case len(o.pcaps) > 0 && o.iface != "":
		return usage(seeRecord, "--pcap and --iface exclude each other")
	case o.ebpf.asked && (len(o.pcaps) > 0 || o.iface != ""):
		return usage(seeRecord, "--ebpf excludes --pcap and --iface")
	case o.byEBPF() && !o.ebpf.asked && len(o.ports) == 0 && !o.ebpf.filtered():
		return usage(seeRecord, "nothing to record: give --port P, --iface IF --port P or --pcap FILE")
	case o.iface != "" && len(o.ports) == 0:
		return usage("add --port 8000", "--iface needs the server's port")
	case count(o.pcaps, "-") > 1:
		return usage(seeRecord, "the standard input can be read once only")
	case o.span < 0:
		return usage(seeRecord, "--for %s: want a time above 0", o.span)
	case o.span > 0 && !o.flows():
		return usage("leave --for out: a file has its own end", "--for is for traffic of this moment: an interface or a pipe")
	}
	return cmp.Or(o.ebpf.check(o.byEBPF(), o.ports), o.checkMode(), o.checkPorts(), o.checkBodyCap(), o.checkVantage())
}

func (o *recordFlags) checkMode() error {
	switch trace.Mode(o.mode) {
	case trace.ModeShape, trace.ModeFiller, trace.ModeRedact:
	default:
		return usage(seeRecord, "mode %q: want shape, filler or redact", o.mode)
	}
	switch o.tokenizer {
	case "", tokens.CL100K, tokens.O200K:
		return nil
	}
	return usage("leave it out for the one that fits the model", "tokenizer %q: want %s or %s", o.tokenizer, tokens.CL100K, tokens.O200K)
}

func (o *recordFlags) checkPorts() error {
	for _, p := range o.ports {
		if p < 1 || p > 65535 {
			return usage(seeRecord, "port %d: want 1 to 65535", p)
		}
	}
	return nil
}

func (o *recordFlags) checkBodyCap() error {
	if o.bodyCap < 1 {
		return usage("leave it out for 16 MiB", "body cap %d: want a number of bytes above 0", o.bodyCap)
	}
	return nil
}

func (o *recordFlags) checkVantage() error {
	switch trace.Vantage(o.vantage) {
	case trace.VantageClient, trace.VantageServer, trace.VantageProxy:
		return nil
	}
	return usage(seeRecord, "vantage %q: want client, server or proxy", o.vantage)
}

func record(c *cobra.Command, o *recordFlags) error {
	if o.config != "" {
		err := o.readConfig(o.config, c.Flags())
		if _, wrong := errors.AsType[*yamlfile.Error](err); wrong {
			return usage("the keys are in docs/schema/record-config.v1.json and lambdac record --help", "%w", err)
		} else if err != nil {
			return err
		}
	}
	if err := o.check(); err != nil {
		return err
	}
	cfg := recorder.Config{Vantage: trace.Vantage(o.vantage), BodyCap: o.bodyCap}
	if o.keyLog != "" {
		var err error
		if cfg.KeyLog, err = recorder.OpenKeyLog(o.keyLog); err != nil {
			return err
		}
	}
	for _, text := range o.rules {
		rule, err := llmwire.ParseRule(text)
		if err != nil {
			return usage("quote it for the shell: --api-rule '/gw/*/chat=openai.chat'", "%w", err)
		}
		cfg.Rules = append(cfg.Rules, rule)
	}
	cfg.Rules = append(cfg.Rules, o.fileRules...)
	policy, err := loadPolicy(o.policy)
	if err != nil {
		return err
	}
	ctx := c.Context()
	if o.span > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.span)
		defer cancel()
	}
	if err := keepPrivate(); err != nil {
		return err
	}
	src, err := openSource(ctx, o)
	if err != nil {
		return err
	}
	defer src.Close()
	u := newUI(c)
	u.say("recording from %s", sourceName(o))
	r := recording{
		out: o.out, force: o.force, live: o.flows(), how: cfg, mode: trace.Mode(o.mode), tokenizer: o.tokenizer, policy: policy,
		progress: showProgress(u, src, sizeOf(o.pcaps)),
	}
	rep, err := r.from(ctx, src)
	u.endLine()
	if err != nil && !damaged(err) {
		for _, warning := range rep.Warnings {
			u.warn("%s", warning)
		}
		return err
	}
	if err := show(c, o.out, o.asJSON); err != nil {
		return err
	}
	if r.live && ctx.Err() != nil {
		rep.Source.Cut = nil // the pipe was left where it was
	}
	return recorded(&rep, err, !r.live && ctx.Err() != nil, o.out)
}

// recorded is the exit code of a recording whose trace is there: 2 where
// nothing can be done with it, or where a part of the input is missing.
func recorded(rep *recorder.Report, damage error, stopped bool, out string) error {
	kept := "what could be read is in " + out
	switch {
	case damage != nil:
		return &exitError{exitInvalid, damage, kept}
	case rep.Totals.ExchangesSeen == 0:
		return nothing(rep)
	case len(rep.Source.Cut) > 0:
		return &exitError{exitInvalid, errors.New(rep.Source.Cut[0]), kept}
	case stopped:
		return &exitError{exitInvalid, errors.New("stopped before the capture's end"), kept}
	}
	return nil
}

// openSource opens what to record from. It does not outlast ctx: a pipe may
// be opened, and its first bytes waited for, for ever.
func openSource(ctx context.Context, o *recordFlags) (recorder.Source, error) {
	switch {
	case o.byEBPF():
		return o.choose()
	case o.iface != "":
		return openInterface(o)
	}
	type opened struct {
		src recorder.Source
		err error
	}
	done := make(chan opened, 1)
	go func() {
		src, err := recorder.OpenFiles(o.pcaps, o.ports...)
		done <- opened{src, err}
	}()
	select {
	case got := <-done:
		return got.src, got.err
	case <-ctx.Done():
		return nil, &exitError{exitInvalid, errors.New("stopped before the capture began"), "is anything written to the pipe?"}
	}
}

func openInterface(o *recordFlags) (recorder.Source, error) {
	if err := preflight(hostcheck.UseIface, hostcheck.Want{}); err != nil {
		return nil, err
	}
	return recorder.OpenInterface(o.iface, o.ports)
}

func count(list []string, item string) (n int) {
	for _, each := range list {
		if each == item {
			n++
		}
	}
	return n
}

// flows reports whether the traffic is of this moment.
func (o *recordFlags) flows() bool { return o.byEBPF() || o.iface != "" || flows(o.pcaps) }

// byEBPF reports whether the kernel is to be asked: by flag, or since no other
// source is named.
func (o *recordFlags) byEBPF() bool {
	return o.ebpf.asked || o.iface == "" && len(o.pcaps) == 0
}

func sourceName(o *recordFlags) string {
	switch {
	case o.ebpf.why != "" && o.iface == "":
		return fmt.Sprintf("inside the kernel (%s): %s", o.ebpf.why, o.ebpf.describe(o.ports))
	case o.ebpf.why != "":
		return fmt.Sprintf("interface %s (%s), ports %v", o.iface, o.ebpf.why, o.ports)
	case o.iface != "":
		return fmt.Sprintf("interface %s, ports %v", o.iface, o.ports)
	case len(o.pcaps) == 1 && o.pcaps[0] == "-":
		return "the standard input"
	case len(o.pcaps) == 1:
		return o.pcaps[0]
	}
	return fmt.Sprintf("%d capture files", len(o.pcaps))
}

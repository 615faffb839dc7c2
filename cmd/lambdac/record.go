package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/internal/hostcheck"
	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/recorder"
	"github.com/lambdac/lambdac/trace"
)

// recordFlags are the flags of record.
type recordFlags struct {
	pcaps   []string
	iface   string
	ports   []int
	keyLog  string
	rules   []string
	mode    string
	vantage string
	span    time.Duration
	out     string
	force   bool
	asJSON  bool
}

func newRecord() *cobra.Command {
	var o recordFlags
	c := &cobra.Command{
		Use:   "record (--pcap FILE… | --iface IF --port P) -o DIR",
		Short: "Capture exchanges into a sanitized trace",
		Long: `Record LLM traffic from capture files or a network interface. Exchanges are
sanitized in memory before the first byte reaches the disk: the default mode
"shape" keeps times, sizes, token counts and keyed block ids, and no text.
Stops cleanly on SIGINT and SIGTERM.`,
		Example: `  lambdac record --pcap monday.pcap --pcap tuesday.pcapng -o traces/week
  lambdac record --iface eth0 --port 8000 --for 10m -o traces/live
  lambdac record --pcap tls.pcap --tls-keylog keys.log -o traces/tls
  lambdac record --pcap gw.pcap --api-rule '/gw/*/chat=openai.chat' -o traces/gw
  tcpdump -i any -s 0 -w - port 8000 | lambdac record --pcap - -o traces/live`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			o.pcaps = append(o.pcaps, args...)
			return record(c, &o)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.pcaps, "pcap", nil, "capture file, pcap or pcapng; - = standard input (repeatable)")
	f.StringVar(&o.iface, "iface", "", "network interface to capture from, or any")
	f.IntSliceVar(&o.ports, "port", nil, "server port (repeatable); needed with --iface, a filter with --pcap")
	f.StringVar(&o.keyLog, "tls-keylog", "", "secrets of TLS connections: the file that clients or servers write by SSLKEYLOGFILE")
	f.StringArrayVar(&o.rules, "api-rule", nil, "PATH=KIND: what requests to a path are, such as '/gw/*/chat=openai.chat' (repeatable; the first that fits is believed)")
	f.StringVar(&o.mode, "mode", string(trace.ModeShape), "what to keep of texts: shape")
	f.StringVar(&o.vantage, "vantage", string(trace.VantageServer), "where the packets were seen: client, server or proxy")
	f.DurationVar(&o.span, "for", 0, "stop after this long (interface or pipe)")
	f.StringVarP(&o.out, "out", "o", "", "trace directory to make")
	f.BoolVar(&o.force, "force", false, "replace an existing trace directory")
	f.BoolVar(&o.asJSON, "json", false, "print the summary as JSON")
	return c
}

func (o *recordFlags) check() error {
	const see = "see lambdac record --help"
	switch {
	case o.out == "":
		return usage(see, "-o is needed: where the trace goes")
	case len(o.pcaps) > 0 && o.iface != "":
		return usage(see, "--pcap and --iface exclude each other")
	case len(o.pcaps) == 0 && o.iface == "":
		return usage(see, "nothing to record: give --pcap FILE or --iface IF --port P")
	case o.iface != "" && len(o.ports) == 0:
		return usage("add --port 8000", "--iface needs the server's port")
	case count(o.pcaps, "-") > 1:
		return usage(see, "the standard input can be read once only")
	case o.span < 0:
		return usage(see, "--for %s: want a time above 0", o.span)
	case o.span > 0 && !o.flows():
		return usage("leave --for out: a file has its own end", "--for is for traffic of this moment: an interface or a pipe")
	case o.mode != string(trace.ModeShape):
		return usage("use --mode shape", "mode %q: only shape is built", o.mode)
	}
	for _, p := range o.ports {
		if p < 1 || p > 65535 {
			return usage(see, "port %d: want 1 to 65535", p)
		}
	}
	switch trace.Vantage(o.vantage) {
	case trace.VantageClient, trace.VantageServer, trace.VantageProxy:
		return nil
	}
	return usage(see, "vantage %q: want client, server or proxy", o.vantage)
}

func record(c *cobra.Command, o *recordFlags) error {
	if err := o.check(); err != nil {
		return err
	}
	cfg := recorder.Config{Vantage: trace.Vantage(o.vantage)}
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
		out: o.out, force: o.force, live: o.flows(), how: cfg,
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
	if o.iface != "" {
		if err := preflight(hostcheck.UseIface, hostcheck.Want{}); err != nil {
			return nil, err
		}
		return recorder.OpenInterface(o.iface, o.ports)
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

func count(list []string, item string) (n int) {
	for _, each := range list {
		if each == item {
			n++
		}
	}
	return n
}

// flows reports whether the traffic is of this moment.
func (o *recordFlags) flows() bool { return o.iface != "" || flows(o.pcaps) }

func sourceName(o *recordFlags) string {
	switch {
	case o.iface != "":
		return fmt.Sprintf("interface %s, ports %v", o.iface, o.ports)
	case len(o.pcaps) == 1 && o.pcaps[0] == "-":
		return "the standard input"
	case len(o.pcaps) == 1:
		return o.pcaps[0]
	}
	return fmt.Sprintf("%d capture files", len(o.pcaps))
}

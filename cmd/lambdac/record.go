package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/recorder"
	"github.com/lambdac/lambdac/sanitizer"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
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
	f.DurationVar(&o.span, "for", 0, "stop after this long (live capture)")
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
	src, err := openSource(o)
	if err != nil {
		return err
	}
	defer src.Close()
	ctx := c.Context()
	if o.span > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.span)
		defer cancel()
	}
	u := newUI(c)
	u.say("recording from %s (%s)", sourceName(o), why(o))
	rep, err := recordFrom(ctx, src, o.out, o.force, cfg)
	for _, warning := range rep.Warnings {
		u.warn("%s", warning)
	}
	broken := (*recorder.CaptureError)(nil)
	if err != nil && !errors.As(err, &broken) {
		return err
	}
	if err := show(c.OutOrStdout(), o.out, o.asJSON); err != nil {
		return err
	}
	if err != nil {
		return &exitError{exitInvalid, err, "what could be read is in " + o.out}
	}
	if rep.Totals.ExchangesSeen == 0 {
		return &exitError{exitInvalid, errors.New("no HTTP exchange was seen"), "check the port and the interface; is the traffic encrypted? then give --tls-keylog; see the losses above"}
	}
	return nil
}

func openSource(o *recordFlags) (recorder.Source, error) {
	if o.iface != "" {
		return recorder.OpenInterface(o.iface, o.ports)
	}
	if len(o.pcaps) == 1 && o.pcaps[0] == "-" {
		return recorder.OpenReader(os.Stdin, "standard input", o.ports...)
	}
	return recorder.OpenFiles(o.pcaps, o.ports...)
}

func sourceName(o *recordFlags) string {
	if o.iface != "" {
		return fmt.Sprintf("interface %s, ports %v", o.iface, o.ports)
	}
	return fmt.Sprintf("%d capture files", len(o.pcaps))
}

// why says in a few words which source is used.
func why(o *recordFlags) string {
	if o.iface != "" {
		return "AF_PACKET, as asked for"
	}
	return "as asked for"
}

// recordFrom runs the way of every recording: source, recorder, sanitizer,
// directory. Whatever ends it, what was written is complete and readable.
func recordFrom(ctx context.Context, src recorder.Source, out string, force bool, how recorder.Config) (recorder.Report, error) {
	live := src.Name() != "pcap"
	how.Version, how.KeepText = version, true
	cfg := sanitizer.Config{Policy: sanitizer.DefaultPolicy(), Mode: trace.ModeShape, Version: version, Live: live}
	seal, err := sanitizer.Seal(cfg)
	if err != nil {
		return recorder.Report{}, fmt.Errorf("seal trace: %w", err)
	}
	dir, err := tracedir.Create(filepath.Clean(out), newManifest(trace.OriginCapture, &seal), tracedir.Options{Force: force, Live: live})
	if err != nil {
		return recorder.Report{}, fmt.Errorf("create trace: %w", err)
	}
	clean, err := sanitizer.New(cfg, dir)
	if err != nil {
		return recorder.Report{}, errors.Join(fmt.Errorf("start sanitizer: %w", err), dir.Close())
	}
	rep, err := recorder.Run(ctx, src, clean, how)
	err = errors.Join(err, clean.Close())
	told := dir.SetManifest(func(m *trace.Manifest) {
		m.Clean = err == nil
		m.Warnings = append(m.Warnings, rep.Warnings...)
		if broken := (*recorder.CaptureError)(nil); errors.As(err, &broken) {
			m.Warnings = append(m.Warnings, fmt.Sprintf("a capture file is damaged at byte %d: %s", broken.Offset, broken.Problem))
		}
	})
	return rep, errors.Join(err, told, dir.Close())
}

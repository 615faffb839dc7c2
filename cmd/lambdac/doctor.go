package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/hostcheck"
)

const doctorSchema = "lambdac.doctor/v1"

// doctorResult is doctor --json: what this host lets the recorder do.
type doctorResult struct {
	// Schema is lambdac.doctor/v1.
	Schema string `json:"schema"`
	// Version is that of the program.
	Version string `json:"version"`
	// Uses are the ways to record and how each comes out.
	Uses []doctorUse `json:"uses"`
	// Findings are all that was looked at, in a fixed order.
	Findings []hostcheck.Finding `json:"findings"`
	// Programs are what the kernel is given to run.
	Programs []doctorProgram `json:"programs"`
	// Rings are the buffers between kernel and recorder.
	Rings doctorRings `json:"rings"`
	// Processes are those that listen for TCP connections, by number, and what
	// would be recorded of them.
	Processes []doctorProcess `json:"processes"`
	// Telemetry are the sources of this machine that a replay samples.
	Telemetry []doctorSource `json:"telemetry"`
	// Warnings say what could not be looked at.
	Warnings []string `json:"warnings"`
}

// doctorUse is one way to record.
type doctorUse struct {
	// Use is the way: ebpf, tls or iface.
	Use hostcheck.Use `json:"use"`
	// State is the worst of the findings that concern it: ok, limited or no.
	State hostcheck.State `json:"state"`
}

// doctorProgram is one BPF program.
type doctorProgram struct {
	// Name is that of its function.
	Name string `json:"name"`
	// Instructions is its size; none is above 4,096.
	Instructions int `json:"instructions"`
}

// doctorRings are the rings as they are without flags.
type doctorRings struct {
	// DataBytes is the size of the ring of what was read and written.
	DataBytes int64 `json:"data_bytes"`
	// ControlBytes is the size of the ring of connections' lives.
	ControlBytes int64 `json:"control_bytes"`
}

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	ports  []int
	target string
	asJSON bool
}

func newDoctor() *cobra.Command {
	var o doctorFlags
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Show what this host lets the recorder do, or what it can send",
		Long: `Show what this host lets the recorder do, what is in the way and what to do
about it, and which running processes would be recorded. The kernel verifies
the programs, and nothing is attached. It also shows what of this machine a
replay could sample beside its load.
Of processes only number, short name and ports are shown.

With --target it looks at the other end: whether the target answers (one GET),
and how many streams per second this machine can send and measure, by a ladder
of loads against a stub of its own (about 20 s); the target gets none of them.

Exit code 0: record --ebpf works here, if with a loss that is named, or the target
answers; 1: it does not; 3: wrong usage.`,
		Example: "  lambdac doctor\n  lambdac doctor --port 8000\n  lambdac doctor --target http://staging:8000\n  lambdac doctor --json | jq '.findings[] | select(.state != \"ok\")'",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return doctor(c, &o) },
	}
	c.Flags().IntSliceVar(&o.ports, "port", nil, "only processes that listen on this port (repeatable)")
	c.Flags().StringVar(&o.target, "target", "", "base URL of a service that a replay shall send to")
	c.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON document")
	return c
}

func doctor(c *cobra.Command, o *doctorFlags) error {
	for _, p := range o.ports {
		if p < 1 || p > 65535 {
			return usage("see lambdac doctor --help", "port %d: want 1 to 65535", p)
		}
	}
	if o.target != "" {
		return doctorTarget(c, o.target, o.asJSON)
	}
	if runtime.GOOS != "linux" {
		return usage("record from capture files: --pcap FILE", "doctor knows Linux only")
	}
	r := examine(o.ports)
	r.addTelemetry(c.Context())
	var err error
	if o.asJSON {
		err = printJSON(c.OutOrStdout(), r)
	} else {
		err = printDoctor(c.OutOrStdout(), r)
	}
	if err != nil {
		return err
	}
	u := newUI(c)
	for _, warning := range r.Warnings {
		u.warn("%s", warning)
	}
	if hostcheck.Verdict(r.Findings, hostcheck.UseEBPF) == hostcheck.StateNo {
		return &exitError{code: exitMissed}
	}
	return nil
}

// thisHost are the findings about this machine and process.
func thisHost(want hostcheck.Want) []hostcheck.Finding {
	host := hostcheck.Read(os.DirFS("/"))
	host.ClockSynced = hostcheck.ClockSynced()
	return host.Judge(want)
}

// ringBytes is the memory of both rings as they are without flags.
func ringBytes() int64 {
	data, control := (&bpf.Options{}).Rings()
	return int64(data) + int64(control)
}

// examine looks at this host, and at the processes that listen on the ports.
func examine(ports []int) *doctorResult {
	r := &doctorResult{
		Schema: doctorSchema, Version: version,
		Programs: []doctorProgram{}, Processes: []doctorProcess{}, Telemetry: []doctorSource{}, Warnings: []string{},
	}
	r.Findings = thisHost(hostcheck.Want{RingBytes: ringBytes()})
	r.addPrograms()
	for _, use := range []hostcheck.Use{hostcheck.UseEBPF, hostcheck.UseTLS, hostcheck.UseIface} {
		r.Uses = append(r.Uses, doctorUse{use, hostcheck.Verdict(r.Findings, use)})
	}
	r.addProcesses(ports)
	r.addTLS()
	return r
}

// printDoctor writes the result for a person.
func printDoctor(w io.Writer, r *doctorResult) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, use := range r.Uses {
		fmt.Fprintf(t, "%s\t%s\n", useNames[use.Use], use.State)
	}
	fmt.Fprintln(t)
	for _, f := range r.Findings {
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Check, f.State, f.Found)
		if f.State != hostcheck.StateOK {
			fmt.Fprintf(t, "\t\t%sremedy: %s\n", effect(f), f.Remedy)
		}
	}
	fmt.Fprintf(t, "rings\t\t%d MiB data, %d MiB control\n", r.Rings.DataBytes>>20, r.Rings.ControlBytes>>20)
	fmt.Fprintln(t, "\nprogram\tinstructions")
	for _, p := range r.Programs {
		fmt.Fprintf(t, "%s\t%d\n", p.Name, p.Instructions)
	}
	printTelemetry(t, r.Telemetry)
	printProcesses(t, r.Processes)
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	return nil
}

// useNames are the ways to record, as they are asked for.
var useNames = map[hostcheck.Use]string{
	hostcheck.UseEBPF:  "record --ebpf",
	hostcheck.UseTLS:   "record --ebpf --tls",
	hostcheck.UseIface: "record --iface",
}

// effect says which ways to record a finding blocks or limits.
func effect(f hostcheck.Finding) string {
	if len(f.Blocks) == 0 {
		return ""
	}
	names := make([]string, len(f.Blocks))
	for i, use := range f.Blocks {
		names[i] = useNames[use]
	}
	verb := "limits "
	if f.State == hostcheck.StateNo {
		verb = "blocks "
	}
	return verb + strings.Join(names, ", ") + "; "
}

// preflight returns nil where this host lets a recording begin, else one line
// that says what is in the way and a hint that says what to do.
func preflight(use hostcheck.Use, want hostcheck.Want) error {
	if runtime.GOOS != "linux" {
		return nil // what opens the source says that it is not built
	}
	err := hostcheck.Refuse(thisHost(want), use)
	if refusal, is := errors.AsType[*hostcheck.Refusal](err); is {
		return &exitError{exitUsage, fmt.Errorf("%s does not work here: %w", useNames[use], err), refusal.Remedy()}
	}
	return err
}

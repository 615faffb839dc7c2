package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/hostcheck"
	"github.com/lambdac/lambdac/recorder"
)

// ebpfFlags are the flags of record that are about capture inside the kernel.
type ebpfFlags struct {
	asked   bool
	tls     bool
	pids    []int
	cgroups []string
	comms   []string
	paths   []string
	side    string
	ring    string
	memory  string
	cpu     float64
	// why says why the source was chosen; "" where the user named another.
	why string
}

func (o *ebpfFlags) bind(f *pflag.FlagSet) {
	f.BoolVar(&o.asked, "ebpf", false, "see what server processes read and write, from inside the kernel; the default where it allows that and neither --pcap nor --iface is given")
	f.BoolVar(&o.tls, "tls", false, "read TLS inside the libraries of the processes; costs them time at each call of these: see the README")
	f.IntSliceVar(&o.pids, "pid", nil, "only this process (repeatable)")
	f.StringArrayVar(&o.cgroups, "cgroup", nil, "only processes in this control group: its folder, or the path below /sys/fs/cgroup (repeatable)")
	f.StringArrayVar(&o.comms, "comm", nil, "only threads of this name, at most 15 bytes (repeatable)")
	f.StringArrayVar(&o.paths, "unix", nil, "the AF_UNIX socket that a server listens on (repeatable)")
	f.StringVar(&o.side, "side", "server", "the side of connections to look at: server, client or both")
	f.StringVar(&o.ring, "ring", "64MiB", "size of the data ring, from 64KiB; a 64th of it, but at least 1MiB, is that of the control ring")
	f.StringVar(&o.memory, "max-memory", "512MiB", "copy less, bodies first, when the recording uses more than 80 % of this memory besides the rings")
	f.Float64Var(&o.cpu, "max-cpu", 1, "likewise of this many cores, what it costs the servers included")
}

// filtered reports whether something says what to record.
func (o *ebpfFlags) filtered() bool {
	return len(o.pids)+len(o.cgroups)+len(o.comms)+len(o.paths) > 0
}

// check looks at the flags; used says that the recording is by eBPF.
func (o *ebpfFlags) check(used bool, ports []int) error {
	switch {
	case !used && (o.filtered() || o.tls):
		return usage(seeRecord, "--tls, --pid, --cgroup, --comm and --unix are for --ebpf")
	case used && len(ports) == 0 && !o.filtered():
		return usage("add --port 8000, or --pid, --cgroup, --comm or --unix", "--ebpf needs to know what to record")
	}
	switch o.side {
	case "server", "client", "both":
	default:
		return usage(seeRecord, "side %q: want server, client or both", o.side)
	}
	if _, err := parseSize(o.ring, mostRing); err != nil {
		return usage("such as --ring 64MiB", "ring: %w", err)
	}
	if _, err := parseSize(o.memory, mostMemory); err != nil {
		return usage("such as --max-memory 512MiB", "max-memory: %w", err)
	}
	if !(o.cpu > 0 && o.cpu <= 1024) {
		return usage("such as --max-cpu 0.5", "--max-cpu %g: want a number of cores above 0", o.cpu)
	}
	return nil
}

// limits are what the recording may use.
func (o *ebpfFlags) limits() (recorder.Limits, error) {
	memory, err := parseSize(o.memory, mostMemory)
	if err != nil {
		return recorder.Limits{}, fmt.Errorf("max-memory: %w", err)
	}
	return recorder.Limits{Memory: int64(memory), CPU: o.cpu}, nil
}

// options are the flags as the kernel side takes them.
func (o *ebpfFlags) options(ports []int, keyLog bool) (bpf.Options, error) {
	size, err := parseSize(o.ring, mostRing)
	if err != nil {
		return bpf.Options{}, fmt.Errorf("ring: %w", err)
	}
	opts := bpf.Options{
		Ports: ports, TGIDs: o.pids, Comms: o.comms, Paths: o.paths, RingBytes: size,
		NoServer: o.side == "client", Client: o.side != "server",
		Nested: o.tls, KeepTLS: keyLog && !o.tls,
	}
	for _, name := range o.cgroups {
		id, err := cgroupID(name)
		if err != nil {
			return bpf.Options{}, err
		}
		opts.Cgroups = append(opts.Cgroups, id)
	}
	return opts, nil
}

// What --ring and --max-memory may be at most.
const (
	mostRing   = 1 << 30
	mostMemory = 1 << 40
)

// parseSize reads a number of bytes, with KiB, MiB or GiB behind it, up to most.
func parseSize(text string, most int) (int, error) {
	shift := 0
	number := text
	for unit, by := range map[string]int{"KiB": 10, "MiB": 20, "GiB": 30} {
		if rest, ok := strings.CutSuffix(text, unit); ok {
			number, shift = rest, by
		}
	}
	n, err := strconv.Atoi(number)
	if err != nil || n <= 0 || n > most>>shift {
		return 0, fmt.Errorf("size %q: want 1 to %dGiB, such as 64MiB", text, most>>30)
	}
	return n << shift, nil
}

// openEBPF opens the source of the kernel side, or says in one line why not.
func openEBPF(o *recordFlags) (recorder.Source, error) {
	opts, err := o.ebpf.options(o.ports, o.keyLog != "")
	if err != nil {
		return nil, err
	}
	use := hostcheck.UseEBPF
	if opts.Nested {
		use = hostcheck.UseTLS
	}
	if err := preflight(use, hostcheck.Want{RingBytes: int64(opts.RingBytes)}); err != nil {
		return nil, err
	}
	limits, err := o.ebpf.limits()
	if err != nil {
		return nil, err
	}
	src, err := recorder.OpenEBPF(opts, limits)
	if err != nil {
		return nil, &exitError{exitUsage, err, "see lambdac doctor; --iface any captures packets instead"}
	}
	return src, nil
}

// choose opens what to record from, where the user named no interface and no
// file: the kernel, or where this host does not allow that, the packets of all
// interfaces. It notes why.
func (o *recordFlags) choose() (recorder.Source, error) {
	src, err := openEBPF(o)
	if err == nil {
		o.ebpf.why = "this host allows eBPF"
		if o.ebpf.asked {
			o.ebpf.why = "eBPF, as asked"
		}
		return src, nil
	}
	refused := (*exitError)(nil)
	if o.ebpf.asked || o.ebpf.filtered() || o.ebpf.tls || !errors.As(err, &refused) {
		return nil, err
	}
	o.iface = "any"
	if src, err = openInterface(o); err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("%w; and %w", refused.err, err), refused.hint}
	}
	o.ebpf.why = fmt.Sprintf("no eBPF here: %v", refused.err)
	return src, nil
}

// describe says what is recorded, in words.
func (o *ebpfFlags) describe(ports []int) string {
	var parts []string
	add := func(name string, n int, list any) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %v", name, list))
		}
	}
	add("ports", len(ports), ports)
	add("processes", len(o.pids), o.pids)
	add("control groups", len(o.cgroups), o.cgroups)
	add("threads named", len(o.comms), o.comms)
	add("sockets", len(o.paths), o.paths)
	parts = append(parts, o.side+" side")
	return strings.Join(parts, ", ")
}

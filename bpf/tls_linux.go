//go:build amd64 || arm64

package bpf

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
)

// Probes is the programs of TLS libraries. All its methods may be called from any
// goroutine, Attach and Close from one at a time.
type Probes struct {
	kernel *Kernel
	coll   *ebpf.Collection
	multi  bool
}

// Probe is one function of a program or library: its places are counted from
// the file's start. Func is a number of tls.bpf.c's enum tls_func.
type Probe struct {
	Func    uint8
	Entry   uint64
	Returns []uint64
}

// LoadProbes loads the programs of TLS libraries. It wants a kernel loaded with
// [Options.Nested]; the options must be those it was loaded with.
func (k *Kernel) LoadProbes(o Options) (*Probes, error) {
	spec, err := loadTls()
	if err != nil {
		return nil, fmt.Errorf("read bpf object: %w", err)
	}
	if err := o.apply(spec); err != nil {
		return nil, err
	}
	shared := make(map[string]*ebpf.Map)
	for name := range spec.Maps {
		if m := k.coll.Maps[name]; m != nil && name[0] != '.' {
			shared[name] = m
		}
	}
	t := &Probes{kernel: k, multi: features.HaveBPFLinkUprobeMulti() == nil}
	if !t.multi {
		for _, p := range spec.Programs {
			p.AttachType = ebpf.AttachNone
		}
	}
	t.coll, err = ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: shared})
	if err != nil {
		return nil, fmt.Errorf("load bpf programs of tls: %w", err)
	}
	var own uint32
	err = k.coll.Variables[coreVarOwnTgid].Get(&own)
	if err == nil {
		err = t.coll.Variables[tlsVarOwnTgid].Set(own)
	}
	if err != nil {
		t.coll.Close()
		return nil, fmt.Errorf("tell bpf programs of tls our process: %w", err)
	}
	k.probes.Store(t)
	return t, nil
}

// Multi reports whether the kernel attaches a file's probes at once, for which
// CAP_BPF and CAP_PERFMON suffice; else CAP_SYS_ADMIN is needed.
func (t *Probes) Multi() bool { return t.multi }

// Close unloads the programs. Attachments are closed on their own.
func (t *Probes) Close() error {
	t.kernel.probes.Store(nil)
	t.coll.Close()
	return nil
}

// Attachment is the probes on one file.
type Attachment struct{ links []link.Link }

// Close takes the probes away.
func (a *Attachment) Close() error {
	var errs []error
	for _, l := range a.links {
		errs = append(errs, l.Close())
	}
	a.links = nil
	return errors.Join(errs...)
}

// Numbers of tls_func.
const (
	sslWriteEx   = 4
	sslHandshake = 7
)

// ErrNoReturns says that a function's returns are not known where they must be.
var ErrNoReturns = errors.New("the returns of its functions are not known, and this kernel's own way to see them would harm the process")

// AttachC puts probes on a library with OpenSSL's functions. With atReturns,
// their ends are seen at the return instructions, else by the kernel's return
// probes, which put an address of their own on the stack.
func (t *Probes) AttachC(file *os.File, probes []Probe, atReturns bool) (*Attachment, error) {
	var entries, exits places
	for _, p := range probes {
		hidden := atReturns && len(p.Returns) == 0 && p.Func <= sslHandshake
		switch {
		case hidden && p.Func <= sslWriteEx:
			return nil, ErrNoReturns
		case hidden: // of what else has an end, others tell the same
			continue
		case p.Func > sslHandshake: // what it does is known at its entry
		case atReturns:
			exits.add(p.Func, p.Returns...)
		default:
			exits.add(p.Func, p.Entry)
		}
		entries.add(p.Func, p.Entry)
	}
	return t.attach(file, []part{
		{tlsProgTlsExit, exits, !atReturns},
		{tlsProgTlsEntry, entries, false},
	})
}

// AttachGo puts probes on the methods of crypto/tls, always at their return
// instructions: return probes crash Go, whose stacks move.
func (t *Probes) AttachGo(file *os.File, probes []Probe) (*Attachment, error) {
	var entries, exits places
	for _, p := range probes {
		if len(p.Returns) == 0 {
			return nil, ErrNoReturns
		}
		entries.add(p.Func, p.Entry)
		exits.add(p.Func, p.Returns...)
	}
	return t.attach(file, []part{
		{tlsProgGoReturn, exits, false},
		{tlsProgGoEntry, entries, false},
	})
}

// places are addresses in a file, with the function at each.
type places struct{ at, funcs []uint64 }

func (p *places) add(fn uint8, at ...uint64) {
	for _, a := range at {
		p.at = append(p.at, a)
		p.funcs = append(p.funcs, uint64(fn))
	}
}

// part is one program and where it goes.
type part struct {
	program string
	places  places
	onExit  bool
}

// attach attaches programs, in this order: an exit without its entry is
// nothing, an entry without its exit would stay noted.
func (t *Probes) attach(file *os.File, parts []part) (*Attachment, error) {
	// By descriptor, so that it is the file that was looked at.
	exe, err := link.OpenExecutable(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
	if err != nil {
		return nil, fmt.Errorf("attach probes: %w", err)
	}
	a := &Attachment{}
	for _, p := range parts {
		if len(p.places.at) == 0 {
			continue
		}
		if t.multi {
			err = a.attachMulti(exe, t.coll.Programs[p.program], p)
		} else {
			err = a.attachEach(exe, t.coll.Programs[p.program], p)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("attach probes: %w", err), a.Close())
		}
	}
	return a, nil
}

func (a *Attachment) attachMulti(exe *link.Executable, prog *ebpf.Program, p part) error {
	o := &link.UprobeMultiOptions{Addresses: p.places.at, Cookies: p.places.funcs}
	attach := exe.UprobeMulti
	if p.onExit {
		attach = exe.UretprobeMulti
	}
	l, err := attach(nil, prog, o)
	if err != nil {
		return err
	}
	a.links = append(a.links, l)
	return nil
}

func (a *Attachment) attachEach(exe *link.Executable, prog *ebpf.Program, p part) error {
	attach := exe.Uprobe
	if p.onExit {
		attach = exe.Uretprobe
	}
	for i, at := range p.places.at {
		l, err := attach("", prog, &link.UprobeOptions{Address: at, Cookie: p.places.funcs[i]})
		if err != nil {
			return err
		}
		a.links = append(a.links, l)
	}
	return nil
}

// streamKey and stream are those of cipher.h.
type streamKey struct{ TGID, Object uint64 }

type stream struct {
	Length
	RBIO, WBIO uint64
	Generation uint32
	Flags      uint32
	Source     uint8
	_          [7]uint8
}

// Length is that of a stream's plaintext, read and written; false where the
// stream has ended.
func (t *Probes) Length(tgid uint32, ssl uint64, generation uint32) (l Length, ok bool) {
	var s stream
	err := t.kernel.coll.Maps[coreMapStreams].Lookup(streamKey{uint64(tgid), ssl}, &s)
	return s.Length, err == nil && s.Generation == generation
}

// FileKey names a file in a [Code] event.
type FileKey struct{ Inode, Dev uint64 }

// CodeFile is the file of a [Code] event.
func (c *Control) CodeFile() FileKey { return FileKey{c.SSL, uint64(c.Start)} }

// Known says that a file needs no more [Code] events.
func (t *Probes) Known(f FileKey) error {
	if err := t.kernel.coll.Maps[coreMapCodeFiles].Put(f, uint64(math.MaxUint64)); err != nil {
		return fmt.Errorf("note known file: %w", err)
	}
	return nil
}

// ForgetFiles makes all files unknown again.
func (t *Probes) ForgetFiles() error {
	m := t.kernel.coll.Maps[coreMapCodeFiles]
	var known []FileKey
	var key FileKey
	var told uint64
	for it := m.Iterate(); it.Next(&key, &told); {
		known = append(known, key)
	}
	for _, key := range known {
		if err := m.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("forget known files: %w", err)
		}
	}
	return nil
}

//go:build amd64 || arm64

package bpf

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

// Kernel is the programs, loaded and attached. Control, Data, Wait and Close
// are for one goroutine; the others may be called from any.
type Kernel struct {
	coll    *ebpf.Collection
	links   []link.Link
	control *ringbuf.Reader
	data    *ringbuf.Reader
	// said and moved are the last events read of them.
	said, moved ringbuf.Record
	spills      spills
	// probes are those of TLS libraries, nil without.
	probes atomic.Pointer[Probes]
}

// Load loads and attaches the programs and finds the connections that are open
// already. It needs CAP_BPF and CAP_PERFMON; what the kernel refuses is an
// error that matches [ebpf.ErrNotSupported] or fs.ErrPermission where it says
// so.
func Load(o Options) (*Kernel, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	coll, err := o.load()
	if err != nil {
		return nil, err
	}
	k := &Kernel{coll: coll}
	if err := k.start(&o); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

// load loads the programs and maps, and attaches nothing.
func (o *Options) load() (*ebpf.Collection, error) {
	spec, err := loadCore()
	if err != nil {
		return nil, fmt.Errorf("read bpf object: %w", err)
	}
	if err := o.apply(spec); err != nil {
		return nil, err
	}
	// Before 5.11 map memory counted as locked memory; harmless after.
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("raise memlock limit: %w", err)
	}
	coll, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, fmt.Errorf("load bpf programs: %w", err)
	}
	return coll, nil
}

func (k *Kernel) start(o *Options) (err error) {
	if err := o.fill(k.coll); err != nil {
		return err
	}
	if k.control, err = ringbuf.NewReader(k.coll.Maps[coreMapControlRing]); err != nil {
		return fmt.Errorf("open control ring: %w", err)
	}
	if k.data, err = ringbuf.NewReader(k.coll.Maps[coreMapDataRing]); err != nil {
		return fmt.Errorf("open data ring: %w", err)
	}
	past := time.Unix(0, 0)
	k.control.SetDeadline(past)
	k.data.SetDeadline(past)
	return k.attach(o)
}

// attach begins with the life of connections, so that the iterator finds all
// that it misses, and ends with the calls. The iterator also tells the
// programs which process is ours.
func (k *Kernel) attach(o *Options) error {
	for _, name := range []string{coreProgOnSetState, coreProgOnReceiveReset, coreProgOnSendReset, coreProgOnDestroy, coreProgOnProcessExit} {
		if err := k.attachTracing(name); err != nil {
			return err
		}
	}
	if o.Nested {
		if err := k.attachTracing(coreProgOnProcessExec); err != nil {
			return err
		}
	}
	for pass := range uint32(2) {
		if err := k.coll.Variables[coreVarJoinPass].Set(pass); err != nil {
			return fmt.Errorf("set pass of join: %w", err)
		}
		if err := k.visit(coreProgJoin); err != nil {
			return err
		}
	}
	return k.attachTracing(coreProgOnSysExit)
}

func (k *Kernel) attachTracing(name string) error {
	l, err := link.AttachTracing(link.TracingOptions{Program: k.coll.Programs[name]})
	if err != nil {
		return fmt.Errorf("attach %q: %w", name, err)
	}
	k.links = append(k.links, l)
	return nil
}

// visit runs an iterator to its end.
func (k *Kernel) visit(name string) error {
	l, err := link.AttachIter(link.IterOptions{Program: k.coll.Programs[name]})
	if err != nil {
		return fmt.Errorf("attach %q: %w", name, err)
	}
	defer l.Close()
	r, err := l.Open()
	if err != nil {
		return fmt.Errorf("open iterator %q: %w", name, err)
	}
	defer r.Close()
	if _, err := io.Copy(io.Discard, r); err != nil {
		return fmt.Errorf("run iterator %q: %w", name, err)
	}
	return nil
}

// Control reads the next event of the control ring; false = there is none now.
func (k *Kernel) Control(c *Control) (bool, error) {
	ok, err := read(k.control, &k.said)
	if !ok || err != nil {
		return false, err
	}
	return true, c.parse(k.said.RawSample)
}

// Data reads the next event of the data ring; false = there is none now. Its
// bytes are valid until the next call of Data.
func (k *Kernel) Data(d *Data) (bool, error) {
	ok, err := read(k.data, &k.moved)
	if !ok || err != nil {
		return false, err
	}
	return true, d.parse(k.moved.RawSample)
}

func read(r *ringbuf.Reader, into *ringbuf.Record) (bool, error) {
	if r.AvailableBytes() == 0 {
		return false, nil
	}
	err := r.ReadInto(into)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read ring: %w", err)
	}
	return true, nil
}

// Fill is how full the data ring is, from 0 to 1.
func (k *Kernel) Fill() float64 {
	return float64(k.data.AvailableBytes()) / float64(k.data.BufferSize())
}

// Counts reads the counters.
func (k *Kernel) Counts() (Counts, error) { return readCounts(k.coll.Maps[coreMapCounters]) }

// SetLadder says how much is copied of what comes from now on.
func (k *Kernel) SetLadder(step Step) error {
	err := k.coll.Variables[coreVarLadderStep].Set(uint32(step))
	if p := k.probes.Load(); p != nil {
		err = errors.Join(err, p.coll.Variables[tlsVarLadderStep].Set(uint32(step)))
	}
	if err != nil {
		return fmt.Errorf("set ladder step: %w", err)
	}
	return nil
}

// Ignore says whether the bytes of a connection are counted, and no more. Where
// there are too many of these, they are copied like others.
func (k *Kernel) Ignore(cookie uint64, on bool) (err error) {
	if on {
		err = k.coll.Maps[coreMapIgnored].Put(cookie, uint8(1))
		err = cmp.Or(err, k.coll.Variables[coreVarIgnores].Set(uint32(1)))
	} else {
		err = k.coll.Maps[coreMapIgnored].Delete(cookie)
	}
	if err != nil && !errors.Is(err, unix.E2BIG) && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("ignore connection: %w", err)
	}
	return nil
}

// Lengths visits the connections that are open, with what calls moved on them.
func (k *Kernel) Lengths(visit func(Length)) error {
	var at uint64
	var c connValue
	entries := k.coll.Maps[coreMapConns].Iterate()
	for entries.Next(&at, &c) {
		visit(c.Length)
	}
	if err := entries.Err(); err != nil {
		return fmt.Errorf("read connections: %w", err)
	}
	return nil
}

// Forget takes a connection out of the kernel side's table that was closed and
// of which no call has told the rest.
func (k *Kernel) Forget(socket, cookie uint64) error {
	var c connValue
	err := k.coll.Maps[coreMapConns].Lookup(socket, &c)
	if err == nil && c.Cookie == cookie {
		err = k.coll.Maps[coreMapConns].Delete(socket)
	}
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("forget connection: %w", err)
	}
	return nil
}

// Length is what calls moved on a connection, to the server and to the client:
// Skipped are the last bytes of it, of which the ladder left no record.
type Length struct {
	Cookie       uint64
	Pos, Skipped [2]int64
}

// connValue is struct conn of conn.h.
type connValue struct {
	Length
	_ [88]byte
}

// Detach ends the flow of events. Those in the rings can still be read.
func (k *Kernel) Detach() error {
	var errs []error
	for _, l := range k.links {
		errs = append(errs, l.Close())
	}
	k.links = nil
	return errors.Join(errs...)
}

// Close detaches and unloads the programs.
func (k *Kernel) Close() error {
	errs := []error{k.Detach()}
	for _, r := range []*ringbuf.Reader{k.control, k.data} {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	k.coll.Close()
	return errors.Join(errs...)
}

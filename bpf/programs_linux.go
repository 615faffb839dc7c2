//go:build amd64 || arm64

package bpf

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// MaxInstructions is what each program keeps to: the limit of kernels that run
// programs of users without privileges, which small hosts are held to as well.
const MaxInstructions = 4096

// Program is one of the programs.
type Program struct {
	// Name is that of its function, by which the kernel lists it too.
	Name string
	// Instructions is its size, functions that it calls included.
	Instructions int
}

// Programs lists the programs that are built in, by name. It needs no
// privileges.
func Programs() ([]Program, error) {
	var list []Program
	for _, read := range []func() (*ebpf.CollectionSpec, error){loadCore, loadTls} {
		spec, err := read()
		if err != nil {
			return nil, fmt.Errorf("read bpf object: %w", err)
		}
		for name, p := range spec.Programs {
			list = append(list, Program{name, int(p.Instructions.Size() / asm.InstructionSize)})
		}
	}
	slices.SortFunc(list, func(a, b Program) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// Try lets the kernel verify the programs, and unloads them again; nothing is
// attached. It takes a second or two.
func Try() error {
	o := Options{Nested: true, RingBytes: minRing, ControlBytes: minRing}
	coll, err := o.load()
	if err != nil {
		return err
	}
	k := &Kernel{coll: coll}
	defer coll.Close()
	probes, err := k.LoadProbes(o)
	if err != nil {
		return err
	}
	return probes.Close()
}

//go:build amd64 || arm64

package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
)

// apply writes the options into a collection that is not loaded yet. Variables
// and maps that it does not have are left out, so that it serves every object.
func (o *Options) apply(spec *ebpf.CollectionSpec) error {
	callCap := o.CallCap
	if callCap == 0 {
		callCap = 16 << 20
	}
	flag := func(on bool) uint32 {
		if on {
			return 1
		}
		return 0
	}
	var errs []error
	for name, value := range map[string]uint32{
		coreVarCallCap:       uint32(callCap),
		coreVarFilterPorts:   uint32(len(o.Ports)),
		coreVarFilterTgids:   uint32(len(o.TGIDs)),
		coreVarFilterCgroups: uint32(len(o.Cgroups)),
		coreVarFilterComms:   uint32(len(o.Comms)),
		coreVarFilterPaths:   uint32(len(o.Paths)),
		coreVarWantServer:    flag(!o.NoServer),
		coreVarWantClient:    flag(o.Client),
		coreVarWantTcp:       flag(!o.onlyUnix()),
		coreVarWantUnix:      flag(len(o.Paths) > 0),
		coreVarKeepTls:       flag(o.KeepTLS),
		coreVarNestOn:        flag(o.Nested),
	} {
		if v := spec.Variables[name]; v != nil {
			errs = append(errs, v.Set(value))
		}
	}
	data, control := o.Rings()
	if m := spec.Maps[coreMapDataRing]; m != nil {
		m.MaxEntries = uint32(data)
	}
	if m := spec.Maps[coreMapControlRing]; m != nil {
		m.MaxEntries = uint32(control)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("set options of bpf programs: %w", err)
	}
	return nil
}

// fill writes the sets of the filters.
func (o *Options) fill(coll *ebpf.Collection) error {
	var errs []error
	put := func(name string, key any) {
		errs = append(errs, coll.Maps[name].Put(key, uint8(1)))
	}
	for _, p := range o.Ports {
		put(coreMapPorts, uint32(p))
	}
	for _, id := range o.TGIDs {
		put(coreMapTgids, uint32(id))
	}
	for _, id := range o.Cgroups {
		put(coreMapCgroups, id)
	}
	for _, c := range o.Comms {
		var key [commBytes]byte
		copy(key[:], c)
		put(coreMapComms, key)
	}
	for _, p := range o.Paths {
		var key [pathBytes]byte
		copy(key[:], p)
		put(coreMapPaths, key)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("set filters: %w", err)
	}
	return nil
}

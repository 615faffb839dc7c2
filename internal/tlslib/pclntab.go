package tlslib

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// The table of functions that each Go program carries, stripped or not
// (runtime.pcHeader and runtime.functab of the Go sources, Go 1.18 on).
const (
	magic118 = 0xfffffff0
	magic120 = 0xfffffff1
	// goHeadLen is the size of the header with pointers of eight bytes.
	goHeadLen = 72
	// moduleText is the place of text in runtime.moduledata: after pcHeader,
	// six slices, findfunctab, minpc and maxpc.
	moduleText = 8 + 6*24 + 3*8
)

var (
	errNoTable  = errors.New("it has no table of functions as Go 1.18 and later write it")
	errNoText   = errors.New("the start of its Go code is not known")
	errBadTable = errors.New("its table of functions is damaged")
)

// goTable is the table of functions of a Go program.
type goTable struct {
	data  []byte // from the header on
	addr  uint64 // of the header, in memory
	nfunc uint64
	names []byte
	funcs []byte // of the function table on
}

// goFunc is a function in the table: its start and that of the next, from the
// start of the Go code.
type goFunc struct{ from, to uint64 }

// findGoTable finds the table by its section, whose name depends on the way of
// linking.
func (m *image) findGoTable() (*goTable, error) {
	for _, s := range m.f.Sections {
		if s.Name != ".gopclntab" && s.Name != ".data.rel.ro.gopclntab" {
			continue
		}
		data, err := m.section(s)
		if err != nil {
			return nil, err
		}
		return parseGoTable(data, s.Addr)
	}
	return nil, errNoTable
}

func parseGoTable(data []byte, addr uint64) (*goTable, error) {
	if len(data) < goHeadLen || data[7] != 8 {
		return nil, errNoTable
	}
	if magic := binary.LittleEndian.Uint32(data); magic != magic118 && magic != magic120 {
		return nil, errNoTable
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(data[8+8*i:]) }
	t := &goTable{data: data, addr: addr, nfunc: word(0)}
	names, funcs := word(3), word(7)
	size := uint64(len(data))
	if names > size || funcs > size || t.nfunc > (size-funcs)/8 {
		return nil, errBadTable
	}
	t.names, t.funcs = data[names:], data[funcs:]
	return t, nil
}

// find returns the functions with the given names.
func (t *goTable) find(wanted map[string]Func) (map[Func]goFunc, error) {
	found := make(map[Func]goFunc)
	for i := range t.nfunc {
		entry := t.funcs[8*i:]
		if len(entry) < 12 {
			return nil, errBadTable
		}
		info := uint64(binary.LittleEndian.Uint32(entry[4:]))
		if info+8 > uint64(len(t.funcs)) {
			return nil, errBadTable
		}
		name := uint64(binary.LittleEndian.Uint32(t.funcs[info+4:]))
		if name >= uint64(len(t.names)) {
			return nil, errBadTable
		}
		if fn, ok := wanted[cString(t.names[name:])]; ok {
			found[fn] = goFunc{uint64(binary.LittleEndian.Uint32(entry)), uint64(binary.LittleEndian.Uint32(entry[8:]))}
		}
	}
	return found, nil
}

// cString is a name as far as it may be one of ours, without an allocation.
func cString(b []byte) string {
	end := bytes.IndexByte(b[:min(len(b), maxName)], 0)
	return string(b[:max(end, 0)])
}

// goText is the address of the start of the Go code: runtime.text. The section
// of code begins earlier in programs with C in them, and since Go 1.26 the
// table does not hold it, so it is taken from the program's symbols or from
// its module data, the structure that begins with a pointer to the table.
func (m *image) goText(t *goTable) (uint64, error) {
	var text uint64
	err := m.walkSymbols(func(name []byte, s symbol) bool {
		if string(name) == "runtime.text" {
			text = s.addr
		}
		return text == 0
	})
	if err != nil {
		return 0, err
	}
	if text == 0 {
		text = m.moduleText(t)
	}
	if text == 0 && binary.LittleEndian.Uint64(t.data[24:]) != 0 {
		text = binary.LittleEndian.Uint64(t.data[24:])
	}
	if text == 0 {
		return 0, errNoText
	}
	return text, nil
}

// moduleText looks for the module data in all writable data, and for its
// pointers in the relocations where the file leaves them to the loader.
func (m *image) moduleText(t *goTable) uint64 {
	var key [8]byte
	binary.LittleEndian.PutUint64(key[:], t.addr)
	for _, p := range m.f.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X != 0 {
			continue
		}
		data, err := m.bytes(p.Off, p.Filesz)
		if err != nil {
			continue
		}
		for at := 0; ; at++ {
			i := bytes.Index(data[at:], key[:])
			if i < 0 {
				break
			}
			at += i
			if at%8 == 0 && at+moduleText+8 <= len(data) {
				if text := binary.LittleEndian.Uint64(data[at+moduleText:]); m.startsCode(text) {
					return text
				}
			}
		}
	}
	return m.relocatedText(t)
}

// relaSize is the size of one relocation (Elf64_Rela).
const relaSize = 24

// relocatedText is moduleText by the relocations of a position-independent
// program: those that put the table's address somewhere, and the one that puts
// the text's address at its distance behind it.
func (m *image) relocatedText(t *goTable) uint64 {
	for _, s := range m.f.Sections {
		if s.Type != elf.SHT_RELA {
			continue
		}
		table, err := m.section(s)
		if err != nil {
			continue
		}
		bases := make(map[uint64]bool)
		eachRelative(m.f.Machine, table, func(at, value uint64) bool {
			if value == t.addr {
				bases[at+moduleText] = true
			}
			return true
		})
		var text uint64
		eachRelative(m.f.Machine, table, func(at, value uint64) bool {
			if bases[at] && m.startsCode(value) {
				text = value
			}
			return text == 0
		})
		if text != 0 {
			return text
		}
	}
	return 0
}

// eachRelative visits relocations that add only the place of loading.
func eachRelative(machine elf.Machine, table []byte, visit func(at, value uint64) bool) {
	relative := uint32(elf.R_X86_64_RELATIVE)
	if machine == elf.EM_AARCH64 {
		relative = uint32(elf.R_AARCH64_RELATIVE)
	}
	for ; len(table) >= relaSize; table = table[relaSize:] {
		if binary.LittleEndian.Uint32(table[8:]) != relative {
			continue
		}
		if !visit(binary.LittleEndian.Uint64(table), binary.LittleEndian.Uint64(table[16:])) {
			return
		}
	}
}

func (m *image) startsCode(addr uint64) bool {
	_, ok := m.place(addr)
	return ok
}

// goMethods are the methods of crypto/tls that see plaintext.
var goMethods = map[string]Func{
	"crypto/tls.(*Conn).Read":  GoRead,
	"crypto/tls.(*Conn).Write": GoWrite,
}

// goTLS finds crypto/tls in a Go program; nil where it is not linked in.
func (m *image) goTLS() (*Implementation, error) {
	t, err := m.findGoTable()
	if err != nil {
		return nil, err
	}
	found, err := t.find(goMethods)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	text, err := m.goText(t)
	if err != nil {
		return nil, err
	}
	im := &Implementation{Kind: Go}
	for _, fn := range []Func{GoRead, GoWrite} {
		f, ok := found[fn]
		if !ok {
			continue // the linker leaves out what nothing calls
		}
		p, err := m.goPoint(fn, text, f)
		if err != nil {
			return nil, err
		}
		im.Points = append(im.Points, p)
	}
	return im, nil
}

func (m *image) goPoint(fn Func, text uint64, f goFunc) (Point, error) {
	if f.to <= f.from || f.to-f.from > maxCode {
		return Point{}, errBadTable
	}
	entry, ok := m.place(text + f.from)
	if !ok {
		return Point{}, errBadTable
	}
	code, ok := m.memory(text+f.from, f.to-f.from)
	if !ok {
		return Point{}, errBadTable
	}
	flow, err := disassemble(m.f.Machine, code)
	if err != nil {
		return Point{}, fmt.Errorf("read code of crypto/tls: %w", err)
	}
	if len(flow.returns) == 0 {
		return Point{}, errNoReturn
	}
	return Point{fn, entry + quietEntry(m.f.Machine, code), shifted(flow.returns, entry)}, nil
}

// shifted adds an offset to each.
func shifted(offs []uint64, by uint64) []uint64 {
	out := make([]uint64, len(offs))
	for i, off := range offs {
		out[i] = off + by
	}
	return out
}

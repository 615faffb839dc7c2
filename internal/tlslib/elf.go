package tlslib

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// maxTable bounds one table of a file that is read whole: the symbols of
	// the largest programs take 100 MiB.
	maxTable = 256 << 20
	// maxRead bounds all that is read of one file.
	maxRead = 1 << 30
	// maxCode bounds one function that is disassembled.
	maxCode = 1 << 20
)

var (
	errForeign = errors.New("not a 64-bit program for this kind of processor")
	errTooBig  = errors.New("its tables are too large")
)

// image is an ELF file as far as probes need it. Its methods take any file
// without harm: sizes are bounded, and what is not as it should be is an error.
type image struct {
	f    *elf.File
	r    io.ReaderAt
	size int64
	// left is how much may still be read.
	left uint64
}

// openImage reads the headers of a file of the given size.
func openImage(r io.ReaderAt, size int64) (img *image, err error) {
	defer func() {
		// The package for ELF files is made for good ones.
		if p := recover(); p != nil {
			img, err = nil, fmt.Errorf("read program: damaged headers: %v", p)
		}
	}()
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("read program: %w", err)
	}
	native := f.Machine == elf.EM_X86_64 || f.Machine == elf.EM_AARCH64
	if f.Class != elf.ELFCLASS64 || f.ByteOrder != binary.ByteOrder(binary.LittleEndian) || !native {
		return nil, errForeign
	}
	return &image{f, r, size, maxRead}, nil
}

// bytes reads n bytes at a place in the file.
func (m *image) bytes(off, n uint64) ([]byte, error) {
	if n > min(maxTable, m.left) {
		return nil, errTooBig
	}
	m.left -= n
	if off > uint64(m.size) || n > uint64(m.size)-off {
		return nil, io.ErrUnexpectedEOF
	}
	b := make([]byte, n)
	if _, err := m.r.ReadAt(b, int64(off)); err != nil {
		return nil, fmt.Errorf("read program: %w", err)
	}
	return b, nil
}

// section reads a section as it is in the file.
func (m *image) section(s *elf.Section) ([]byte, error) {
	if s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 {
		return nil, fmt.Errorf("read section %q: no plain bytes", s.Name)
	}
	b, err := m.bytes(s.Offset, s.FileSize)
	if err != nil {
		return nil, fmt.Errorf("read section %q: %w", s.Name, err)
	}
	return b, nil
}

// place is where an address of code is in the file.
func (m *image) place(addr uint64) (uint64, bool) {
	for _, p := range m.f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			return addr - p.Vaddr + p.Off, true
		}
	}
	return 0, false
}

// memory reads n bytes at an address as the program loader would place them.
func (m *image) memory(addr, n uint64) ([]byte, bool) {
	for _, p := range m.f.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz && n <= p.Filesz-(addr-p.Vaddr) {
			b, err := m.bytes(addr-p.Vaddr+p.Off, n)
			return b, err == nil
		}
	}
	return nil, false
}

// symbol is a function or object that a file names.
type symbol struct{ addr, size uint64 }

// symbolSize is the size of one entry of a symbol table (Elf64_Sym).
const symbolSize = 24

// walkSymbols visits the symbols that a file defines, exported ones first,
// until visit returns false.
func (m *image) walkSymbols(visit func(name []byte, s symbol) bool) error {
	for _, kind := range []elf.SectionType{elf.SHT_DYNSYM, elf.SHT_SYMTAB} {
		for _, s := range m.f.Sections {
			if s.Type != kind || s.Link >= uint32(len(m.f.Sections)) {
				continue
			}
			table, err := m.section(s)
			if err != nil {
				return err
			}
			names, err := m.section(m.f.Sections[s.Link])
			if err != nil {
				return err
			}
			if !walkTable(table, names, visit) {
				return nil
			}
		}
	}
	return nil
}

func walkTable(table, names []byte, visit func(name []byte, s symbol) bool) bool {
	for ; len(table) >= symbolSize; table = table[symbolSize:] {
		at := uint64(binary.LittleEndian.Uint32(table))
		undefined := binary.LittleEndian.Uint16(table[6:]) == uint16(elf.SHN_UNDEF)
		if undefined || at >= uint64(len(names)) {
			continue
		}
		name := names[at:]
		if end := bytes.IndexByte(name[:min(len(name), maxName)], 0); end >= 0 {
			s := symbol{binary.LittleEndian.Uint64(table[8:]), binary.LittleEndian.Uint64(table[16:])}
			if !visit(name[:end], s) {
				return false
			}
		}
	}
	return true
}

// maxName bounds the names that are looked at; ours are short.
const maxName = 256

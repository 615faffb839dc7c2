package tlslib

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"
)

// tinyELF is a program of one segment with a Go function table and a symbol
// table of the given content.
func tinyELF(table, syms []byte) []byte {
	names := []byte("\x00.gopclntab\x00.dynsym\x00SSL_read\x00SSL_write\x00runtime.text\x00.shstrtab\x00")
	tableName := uint32(0)
	if table != nil {
		tableName = 1
	}
	const headers = 64 + 56
	tableAt := uint64(headers)
	symsAt := tableAt + uint64(len(table))
	namesAt := symsAt + uint64(len(syms))
	sectionsAt := namesAt + uint64(len(names))
	var b bytes.Buffer
	put := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) } // a Buffer takes all
	h := elf.Header64{
		Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1,
		Phoff: 64, Shoff: sectionsAt, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64, Shnum: 4, Shstrndx: 3,
	}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	put(h)
	put(elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_X | elf.PF_R), Filesz: sectionsAt, Memsz: sectionsAt})
	b.Write(table)
	b.Write(syms)
	b.Write(names)
	put(elf.Section64{})
	put(elf.Section64{Name: tableName, Type: uint32(elf.SHT_PROGBITS), Addr: tableAt, Off: tableAt, Size: uint64(len(table))})
	put(elf.Section64{Name: 12, Type: uint32(elf.SHT_DYNSYM), Off: symsAt, Size: uint64(len(syms)), Link: 3, Entsize: symbolSize})
	put(elf.Section64{Name: 53, Type: uint32(elf.SHT_STRTAB), Off: namesAt, Size: uint64(len(names))})
	return b.Bytes()
}

// tinySymbol is a defined symbol with its name at a place in tinyELF's names.
func tinySymbol(name uint32, addr, size uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, name)
	b = append(b, 0x12, 0, 1, 0)
	b = binary.LittleEndian.AppendUint64(b, addr)
	return binary.LittleEndian.AppendUint64(b, size)
}

func TestTinyPrograms(t *testing.T) {
	const sslRead = 1 + 11 + 8
	tests := []struct {
		name   string
		file   []byte
		kind   Kind
		reason string
	}{
		{"a function", tinyELF(nil, tinySymbol(sslRead, 120, 1)), OpenSSL, ""},
		{"a function outside of the code", tinyELF(nil, tinySymbol(sslRead, 1<<40, 1)), OpenSSL, "the place of its functions in the file is not known"},
		{"a Go table of another version", tinyELF([]byte("none"), nil), Go, errNoTable.Error()},
		{"a Go table with more functions than bytes", tinyELF(goHeader(1<<60), nil), Go, errBadTable.Error()},
		{"not a program", []byte("#!/bin/sh"), Unknown, "its headers are damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := examine("libssl.so", bytes.NewReader(tt.file), int64(len(tt.file)))
			if len(got) != 1 || got[0].Kind != tt.kind || got[0].Reason != tt.reason {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// goHeader is the head of a Go function table.
func goHeader(functions uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, magic120)
	b = append(b, 0, 0, 1, 8)
	b = binary.LittleEndian.AppendUint64(b, functions)
	return append(b, make([]byte, goHeadLen-len(b))...)
}

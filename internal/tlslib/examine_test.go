package tlslib

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/testenv"
)

// examinePath examines a file of this machine.
func examinePath(t *testing.T, path string) []Implementation {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return examine(path, bytes.NewReader(b), int64(len(b)))
}

func functions(im *Implementation) []Func {
	var out []Func
	for _, p := range im.Points {
		out = append(out, p.Func)
	}
	return out
}

// fileOffset is where a symbol is in its file by the standard library's
// reading of it.
func fileOffset(t *testing.T, path, name string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dynamic, _ := f.DynamicSymbols()
	static, _ := f.Symbols()
	for _, s := range slices.Concat(dynamic, static) {
		if s.Name == name && s.Section != elf.SHN_UNDEF {
			sec := f.Sections[s.Section]
			return s.Value - sec.Addr + sec.Offset
		}
	}
	t.Fatalf("%s has no %s", path, name)
	return 0
}

func nameOf(fn Func) string {
	for name, f := range symbols {
		if f == fn {
			return name
		}
	}
	return ""
}

func checkEntries(t *testing.T, path string, im *Implementation) {
	t.Helper()
	for _, p := range im.Points {
		most := uint64(0)
		if p.Func == BIOWrite {
			most = 32
		}
		if want := fileOffset(t, path, nameOf(p.Func)); p.Entry < want || p.Entry > want+most {
			t.Errorf("%s is at %#x, want %#x", nameOf(p.Func), p.Entry, want)
		}
		if !slices.IsSorted(p.Returns) || len(p.Returns) > 0 && p.Returns[0] <= p.Entry {
			t.Errorf("%s at %#x returns at %#x", nameOf(p.Func), p.Entry, p.Returns)
		}
	}
}

func TestSystemLibraries(t *testing.T) {
	ssl := []Func{
		SSLRead, SSLReadEx, SSLWrite, SSLWriteEx, SSLReadEarly, SSLWriteEarly, SSLHandshake,
		SSLSetFD, SSLSetRFD, SSLSetWFD, SSLSetBIO, SSLFree,
	}
	tests := []struct {
		name, command, linked string
		want                  []Func
	}{
		{"library of OpenSSL", "openssl", "libssl.so", ssl},
		{"its library of algorithms", "openssl", "libcrypto.so", []Func{BIOWrite}},
		{"OpenSSL in the program of Node.js", "node", "", append(slices.Clone(ssl), BIOWrite)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := library(t, testenv.Command(t, tt.command), tt.linked)
			got := examinePath(t, path)
			if len(got) != 1 || got[0].Kind != OpenSSL || got[0].Reason != "" {
				t.Fatalf("%s: got %+v", path, got)
			}
			if diff := cmp.Diff(tt.want, functions(&got[0])); diff != "" {
				t.Errorf("functions (-want +got):\n%s", diff)
			}
			checkEntries(t, path, &got[0])
		})
	}
}

// library is the path of a library that a program is linked with; the program
// itself for "".
func library(t *testing.T, program, name string) string {
	t.Helper()
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		t.Fatal(err)
	}
	if name == "" {
		return program
	}
	out, err := exec.Command("ldd", program).Output()
	if err != nil {
		t.Fatalf("list libraries of %s: %v", program, err)
	}
	for line := range bytes.Lines(out) {
		fields := bytes.Fields(line)
		if len(fields) > 2 && bytes.HasPrefix(fields[0], []byte(name)) {
			path, err := filepath.EvalSymlinks(string(fields[2]))
			if err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	testenv.Missing(t, name+" of "+program, "install it")
	return ""
}

func TestOtherLibraries(t *testing.T) {
	path := library(t, testenv.Command(t, "curl"), "libgnutls.so")
	got := examinePath(t, path)
	if len(got) != 1 || got[0].Kind != GnuTLS || got[0].Reason == "" || got[0].Points != nil {
		t.Errorf("%s: got %+v", path, got)
	}
	if got := examinePath(t, library(t, testenv.Command(t, "curl"), "libc.so")); got != nil {
		t.Errorf("the C library: got %+v", got)
	}
}

// tlsProgram says when it runs and waits for the end of its input.
const tlsProgram = `package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"os"
)

func main() {
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if len(os.Args) < 2 {
		return
	}
	c, err := tls.Dial("tcp", os.Args[1], nil)
	if err != nil {
		return
	}
	c.Write([]byte("x"))
	c.Read(make([]byte, 1))
}
`

// buildGo builds a program of one file.
func buildGo(t *testing.T, source, out string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	out = filepath.Join(dir, out)
	args := append(append([]string{"build", "-o", out}, flags...), file)
	if msg, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, msg)
	}
	return out
}

// Stripped programs must give the places that the same programs with symbols
// give.
func TestGoPrograms(t *testing.T) {
	cgo := "package main\n\n// int one(void) { return 1; }\nimport \"C\"\n" + tlsProgram[len("package main\n"):]
	tests := []struct {
		name, source string
		flags        []string
	}{
		{"plain", tlsProgram, nil},
		{"position-independent", tlsProgram, []string{"-buildmode=pie"}},
		{"with C, by the system's linker", cgo, nil},
		{"with C, position-independent", cgo, []string{"-buildmode=pie"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			whole := buildGo(t, tt.source, "whole", tt.flags...)
			stripped := buildGo(t, tt.source, "stripped", append(tt.flags, "-ldflags=-s -w")...)
			got, want := examinePath(t, stripped), examinePath(t, whole)
			for _, im := range [][]Implementation{got, want} {
				if len(im) != 1 || im[0].Kind != Go || im[0].Reason != "" || len(im[0].Points) != 2 {
					t.Fatalf("got %+v", im)
				}
			}
			for i, name := range []string{"crypto/tls.(*Conn).Read", "crypto/tls.(*Conn).Write"} {
				p, with := got[0].Points[i], want[0].Points[i]
				if at := fileOffset(t, whole, name); with.Entry < at || with.Entry > at+64 {
					t.Errorf("%s is at %#x, want behind %#x", name, with.Entry, at)
				}
				const pushRBP = 0x55
				if runtime.GOARCH == "amd64" && codeAt(t, whole, with.Entry)[0] != pushRBP {
					t.Errorf("%s at %#x does not begin with a push", name, with.Entry)
				}
				if !bytes.Equal(codeAt(t, stripped, p.Entry), codeAt(t, whole, with.Entry)) {
					t.Errorf("%s stripped: other code at %#x than at %#x with symbols", name, p.Entry, with.Entry)
				}
				if diff := cmp.Diff(shifted(with.Returns, -with.Entry), shifted(p.Returns, -p.Entry)); diff != "" {
					t.Errorf("returns of %s (-with symbols +stripped):\n%s", name, diff)
				}
				if len(p.Returns) < 2 {
					t.Errorf("%s: %d returns", name, len(p.Returns))
				}
			}
		})
	}
}

// codeAt is what a file has at a place: instructions that hold no addresses.
func codeAt(t *testing.T, path string, at uint64) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data[at : at+16]
}

func TestGoWithoutTLS(t *testing.T) {
	path := buildGo(t, "package main\n\nfunc main() { println(1) }\n", "plain", "-ldflags=-s -w")
	if got := examinePath(t, path); got != nil {
		t.Errorf("got %+v", got)
	}
}

func TestDisassemble(t *testing.T) {
	tests := []struct {
		name    string
		machine elf.Machine
		code    []byte
		want    flow
		fails   bool
	}{
		{"mark of a branch's target, then a return", elf.EM_X86_64, []byte{0xf3, 0x0f, 0x1e, 0xfa, 0xc3}, flow{returns: []uint64{4}}, false},
		{"two returns", elf.EM_X86_64, []byte{0x74, 0x01, 0xc3, 0x90, 0xc3}, flow{returns: []uint64{2, 4}}, false},
		{"a jump inside", elf.EM_X86_64, []byte{0xeb, 0x00, 0xc3}, flow{returns: []uint64{2}}, false},
		{"ends in another function", elf.EM_X86_64, []byte{0xe9, 0x00, 0x10, 0x00, 0x00}, flow{leaves: true}, false},
		{"a return's code inside an instruction", elf.EM_X86_64, []byte{0xb8, 0xc3, 0xc3, 0xc3, 0xc3, 0xc3}, flow{returns: []uint64{5}}, false},
		{"cut in an instruction", elf.EM_X86_64, []byte{0xb8, 0xc3}, flow{}, true},
		{"ARM: return", elf.EM_AARCH64, []byte{0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6}, flow{returns: []uint64{4}}, false},
		{"ARM: ends in another function", elf.EM_AARCH64, []byte{0x00, 0x04, 0x00, 0x14}, flow{leaves: true}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := disassemble(tt.machine, tt.code)
			if (err != nil) != tt.fails {
				t.Fatalf("err = %v", err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(flow{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestQuietStart(t *testing.T) {
	tests := []struct {
		name string
		code []byte
		want uint64
	}{
		{"a push at once", []byte{0x55, 0xc3}, 0},
		{"a push behind the mark of a branch's target", []byte{0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x54, 0xc3}, 4},
		// sub $24, %rsp; mov %fs:40, %rax; mov %rax, 8(%rsp); xor %eax, %eax; test %edx, %edx; jle
		{"a branch behind the stack's guard", []byte{
			0x48, 0x83, 0xec, 0x18, 0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0, 0x48, 0x89, 0x44, 0x24, 0x08, 0x31, 0xc0, 0x85, 0xd2, 0x7e, 0x01, 0x90, 0xc3,
		}, 22},
		{"a call", []byte{0x48, 0x83, 0xec, 0x08, 0xe8, 0, 0, 0, 0, 0xc3}, 4},
		{"a call by a register", []byte{0x48, 0x83, 0xec, 0x08, 0xff, 0xd0, 0xc3}, 0},
		{"an argument is moved before", []byte{0x48, 0x89, 0xe1, 0x55, 0xc3}, 0},
		{"an argument is overwritten before", []byte{0x31, 0xff, 0x55, 0xc3}, 0},
		// sub $8, %rsp; push %rbx; jmp to the push
		{"a loop to it", []byte{0x48, 0x83, 0xec, 0x08, 0x53, 0xeb, 0xfd}, 0},
		{"a loop behind it", []byte{0x48, 0x83, 0xec, 0x08, 0x53, 0x90, 0xeb, 0xfd}, 4},
		{"a return", []byte{0x48, 0x83, 0xec, 0x08, 0xc3}, 0},
		{"cut in an instruction", []byte{0x48, 0x83}, 0},
		{"nothing", nil, 0},
	}
	for _, tt := range tests {
		if got := quietStart(elf.EM_X86_64, tt.code); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	if got := quietStart(elf.EM_AARCH64, []byte{0xfd, 0x7b, 0xbf, 0xa9, 0xc0, 0x03, 0x5f, 0xd6}); got != 0 {
		t.Errorf("ARM: %d", got)
	}
}

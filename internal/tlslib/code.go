package tlslib

import (
	"debug/elf"
	"errors"
	"fmt"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"
)

var errNoReturn = errors.New("its code has no return that can be found")

// flow is what a function's code does at its end.
type flow struct {
	returns []uint64 // from the function's start
	// leaves: it may end in another function, whose return is its own.
	leaves bool
}

// disassemble finds the returns of a function whose code is given. It fails
// where an instruction is not understood, since returns behind it may then be
// none.
func disassemble(machine elf.Machine, code []byte) (flow, error) {
	if machine == elf.EM_AARCH64 {
		return disassembleARM(code), nil
	}
	var f flow
	for at := 0; at < len(code); {
		if n := skipped(code[at:]); n > 0 {
			at += n
			continue
		}
		inst, err := x86asm.Decode(code[at:], 64)
		if err == nil && inst.Op == 0 {
			err = x86asm.ErrUnrecognized
		}
		if err != nil {
			return flow{}, fmt.Errorf("read instruction at %d of %d: %w", at, len(code), err)
		}
		switch inst.Op {
		case x86asm.RET:
			f.returns = append(f.returns, uint64(at))
		case x86asm.JMP:
			rel, direct := inst.Args[0].(x86asm.Rel)
			to := at + inst.Len + int(rel)
			f.leaves = f.leaves || !direct || to < 0 || to >= len(code)
		}
		at += inst.Len
	}
	return f, nil
}

// skipped is the length of an instruction that the disassembler does not know
// and that does nothing to the flow: ENDBR64, F3 0F 1E FA.
func skipped(b []byte) int {
	if len(b) >= 4 && b[0] == 0xf3 && b[1] == 0x0f && b[2] == 0x1e && b[3] == 0xfa {
		return 4
	}
	return 0
}

// disassembleARM takes instructions of four bytes, so that one which is not
// understood hides none behind it.
func disassembleARM(code []byte) flow {
	var f flow
	for at := 0; at+4 <= len(code); at += 4 {
		inst, err := arm64asm.Decode(code[at : at+4])
		if err != nil {
			continue
		}
		switch inst.Op {
		case arm64asm.RET:
			f.returns = append(f.returns, uint64(at))
		case arm64asm.BR:
			f.leaves = true
		case arm64asm.B:
			rel, direct := inst.Args[0].(arm64asm.PCRel)
			if direct && inst.Args[1] == nil {
				to := at + int(rel)
				f.leaves = f.leaves || to < 0 || to >= len(code)
			}
		}
	}
	return f
}

// quietEntry finds, in the code with which Go's compiler begins a function, the
// instruction behind the check of the stack that saves the frame pointer: a
// probe there is reached once for each call, with the registers and the stack
// pointer of the entry, and the kernel does a push itself, where it runs other
// instructions by a single step with two more traps (0.5 µs in place of 4.5).
// It is 0, the entry, where the function begins otherwise.
func quietEntry(machine elf.Machine, code []byte) uint64 {
	if machine != elf.EM_X86_64 {
		return 0
	}
	for at, n := 0, 0; n < maxPrologue; n++ {
		inst, err := x86asm.Decode(code[at:], 64)
		if err != nil {
			return 0
		}
		switch inst.Op {
		case x86asm.PUSH:
			if inst.Args[0] == x86asm.RBP {
				return uint64(at)
			}
			return 0
		case x86asm.CMP, x86asm.JBE, x86asm.JB:
		case x86asm.LEA, x86asm.MOV, x86asm.SUB:
			if inst.Args[0] != x86asm.R12 && inst.Args[0] != x86asm.R13 {
				return 0
			}
		default:
			return 0
		}
		at += inst.Len
	}
	return 0
}

// maxPrologue is more than the instructions of a check of the stack.
const maxPrologue = 10

// quietStart finds, in the code with which a C compiler begins a function, the
// first instruction that the kernel does itself (see quietEntry): a push, a call
// or a branch. It is reached once for each call, with the registers of the
// arguments as they came; the stack pointer may have moved. It is 0, the entry,
// where the function begins otherwise.
func quietStart(machine elf.Machine, code []byte) uint64 {
	if machine != elf.EM_X86_64 {
		return 0
	}
	for at, n := skipped(code), 0; n < maxPrologue; n++ {
		inst, err := x86asm.Decode(code[at:], 64)
		switch {
		case err != nil:
			return 0
		case emulated(inst):
			if returnsTo(code, at) {
				return 0
			}
			return uint64(at)
		case !keepsArguments(inst):
			return 0
		}
		at += inst.Len
	}
	return 0
}

// emulated reports whether the kernel does an instruction without a step.
func emulated(inst x86asm.Inst) bool {
	switch inst.Op {
	case x86asm.PUSH:
		_, register := inst.Args[0].(x86asm.Reg)
		return register
	case x86asm.CALL, x86asm.JMP, x86asm.JE, x86asm.JNE, x86asm.JL, x86asm.JLE, x86asm.JG, x86asm.JGE, x86asm.JS, x86asm.JNS:
		_, direct := inst.Args[0].(x86asm.Rel)
		return direct
	}
	return false
}

// keepsArguments reports whether an instruction changes no register in which an
// argument is, nor where the code goes on.
func keepsArguments(inst x86asm.Inst) bool {
	switch inst.Op {
	case x86asm.TEST, x86asm.CMP:
		return true
	case x86asm.SUB:
		return inst.Args[0] == x86asm.RSP
	case x86asm.MOV, x86asm.XOR:
		_, memory := inst.Args[0].(x86asm.Mem)
		return memory || inst.Args[0] == x86asm.RAX || inst.Args[0] == x86asm.EAX
	}
	return false
}

// returnsTo reports whether a branch leads back into the first instructions, up
// to the one at the end, or whether that cannot be told.
func returnsTo(code []byte, end int) bool {
	for at := 0; at < len(code); {
		if n := skipped(code[at:]); n > 0 {
			at += n
			continue
		}
		inst, err := x86asm.Decode(code[at:], 64)
		if err != nil || inst.Op == 0 {
			return true
		}
		at += inst.Len
		if rel, direct := inst.Args[0].(x86asm.Rel); direct && inst.Op != x86asm.CALL {
			if to := at + int(rel); to > 0 && to <= end {
				return true
			}
		}
	}
	return false
}

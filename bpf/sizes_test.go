//go:build linux && (amd64 || arm64)

package bpf

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// TestInstructions: each program is as small as a small host wants it.
func TestInstructions(t *testing.T) {
	list, err := Programs()
	if err != nil || len(list) == 0 {
		t.Fatalf("%d programs, %v", len(list), err)
	}
	for _, p := range list {
		if p.Instructions > MaxInstructions || p.Instructions == 0 {
			t.Errorf("%s: %d instructions", p.Name, p.Instructions)
		}
	}
}

// TestStack: at most 512 bytes of stack and 8 frames in any chain of calls,
// where each frame takes a multiple of 32 bytes (check_max_stack_depth of
// Linux 6.1's verifier; later ones are milder, so that the running kernel may
// load what an older one refuses).
func TestStack(t *testing.T) {
	for object, load := range map[string]func() (*ebpf.CollectionSpec, error){"core": loadCore, "tls": loadTls} {
		spec, err := load()
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range spec.Programs {
			functions := functionsOf(p.Instructions)
			bytes, chain := deepest(functions, name)
			if bytes > 512 || len(chain) > 8 {
				t.Errorf("%s, %s: stack of %d bytes in %v", object, name, bytes, chain)
			}
		}
	}
}

// function is what is needed of one: its own stack and whom it calls.
type function struct {
	stack int
	calls []string
}

func functionsOf(all asm.Instructions) map[string]*function {
	functions := make(map[string]*function)
	var f *function
	for i, ins := range all {
		if name := ins.Symbol(); name != "" && btf.FuncMetadata(&ins) != nil {
			f = &function{}
			functions[name] = f
		}
		if (ins.OpCode.Class().IsLoad() || ins.OpCode.Class().IsStore()) && (ins.Dst == asm.RFP || ins.OpCode.Class().IsLoad() && ins.Src == asm.RFP) && ins.Offset < 0 {
			f.stack = max(f.stack, -int(ins.Offset))
		}
		if i > 0 && all[i-1].OpCode == asm.Mov.Op(asm.RegSource) && all[i-1].Src == asm.RFP &&
			ins.OpCode == asm.Add.Op(asm.ImmSource) && ins.Dst == all[i-1].Dst { // the address of a variable
			f.stack = max(f.stack, -int(ins.Constant))
		}
		if ins.IsFunctionReference() {
			f.calls = append(f.calls, ins.Reference())
		}
	}
	return functions
}

// deepest is the chain of calls with the largest stack.
func deepest(functions map[string]*function, from string) (bytes int, chain []string) {
	f := functions[from]
	for _, called := range f.calls {
		if b, c := deepest(functions, called); b > bytes {
			bytes, chain = b, c
		}
	}
	return bytes + (max(f.stack, 1)+31)/32*32, append([]string{from}, chain...)
}

package recorder

import "github.com/lambdac/lambdac/bpf"

// Limits are what a recording by eBPF may use. Near them less is copied: bodies
// first, arrivals last.
type Limits struct {
	// Memory is in bytes; 0 = 512 MiB.
	Memory int64
	// CPU is in cores, what the recording costs the processes that it watches
	// included; 0 = one.
	CPU float64
}

func (l Limits) memory() float64 {
	if l.Memory > 0 {
		return float64(l.Memory)
	}
	return 512 << 20
}

func (l Limits) cpu() float64 {
	if l.CPU > 0 {
		return l.CPU
	}
	return 1
}

const (
	// shareUp and shareDown are the shares of the budget from which on less is
	// copied, and up to which more may be again.
	shareUp, shareDown = 0.8, 0.7
	// measureEvery is how often use is measured.
	measureEvery = int64(1e9)
	// callCost and libraryCost are what the programs add to a system call, and
	// to a call of a TLS library, in ns: as measured on x86-64, rounded up.
	callCost, libraryCost = 1000, 10_000
)

// ebpfBudget measures what a recording uses of its limits.
type ebpfBudget struct {
	limits Limits
	// usage returns the CPU time that this process has used, in ns, and the
	// bytes of memory that it has; nil = not known.
	usage func() (cpu, memory int64)
	// libraries: TLS is read inside libraries.
	libraries bool
	// share is the larger of the shares of memory and CPU, as of at; used is
	// the CPU time up to then.
	share    float64
	at, used int64
}

// measure looks at the use, if it is time to, and reports whether it did.
func (b *ebpfBudget) measure(k kernel, now int64) (bool, error) {
	if b.usage == nil || now-b.at < measureEvery {
		return false, nil
	}
	counts, err := k.Counts()
	if err != nil {
		return false, err
	}
	cpu, memory := b.usage()
	cpu += b.cost(&counts)
	b.share = float64(memory) / b.limits.memory()
	if b.at != 0 {
		b.share = max(b.share, float64(cpu-b.used)/float64(now-b.at)/b.limits.cpu())
	}
	b.at, b.used = now, cpu
	return true, nil
}

// cost is what the programs have taken of the processes that are watched, in
// ns. A library's call is known by the system call that it made.
func (b *ebpfBudget) cost(c *bpf.Counts) int64 {
	var calls, records uint64
	for d := range 2 {
		calls += c.Want[d].Events + c.Filtered[d].Events
		records += c.Lost["raw_tls"][d].Events
	}
	if !b.libraries {
		records = 0
	}
	return int64(calls)*callCost + int64(records)*libraryCost
}

package recorder

import "github.com/lambdac/lambdac/bpf"

const (
	// maxMemory and maxCPU are what a recording may use: bytes, and cores, what
	// it costs the processes that it watches included.
	maxMemory = int64(512 << 20)
	maxCPU    = 1.0
	// shareUp and shareDown are the shares of the budget from which on less is
	// copied, and up to which more may be again.
	shareUp, shareDown = 0.8, 0.7
	// measureEvery is how often use is measured.
	measureEvery = int64(1e9)
	// callCost and libraryCost are what the programs add to a system call, and
	// to a call of a TLS library, in ns: as measured on x86-64, rounded up.
	callCost, libraryCost = 1000, 10_000
)

// ebpfBudget measures what a recording uses of its budget.
type ebpfBudget struct {
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
	b.share = float64(memory) / float64(maxMemory)
	if b.at != 0 {
		b.share = max(b.share, float64(cpu-b.used)/float64(now-b.at)/maxCPU)
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

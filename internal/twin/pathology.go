package twin

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Pathology is a fault that a server can be given.
type Pathology struct {
	Name string
	// About says in a line what happens.
	About string
	// attach hangs it into an engine at time 0.
	attach func(*Engine)
}

// Names of [Pathologies].
const (
	BatchQuality     = "batch-quality"
	KVFragmentation  = "kv-fragmentation"
	MemoryExhaustion = "memory-exhaustion"
	ColdPages        = "cold-pages"
	ClockRamp        = "clock-ramp"
	KVEvictionStorm  = "kv-eviction-storm"
	SlowTenant       = "slow-tenant"
	StreamCut        = "stream-cut"
	ModelLoadStall   = "model-load-stall"
)

// Pathologies are all that there are. Each has a file of its own, which says how
// strong it is and why. The first, second and fourth are the causes of the three
// counter-intuitive inflection points, the third and fifth look like the second
// and the fourth and are not.
func Pathologies() []Pathology {
	return []Pathology{
		{BatchQuality, "answers get worse as the batch grows", attachBatchQuality},
		{KVFragmentation, "free memory is in ever smaller pieces, until no buffer fits", attachFragmentation},
		{MemoryExhaustion, "memory leaks until none is left", attachExhaustion},
		{ColdPages, "pages of the GPU are mapped anew after a pause, at full clock", attachColdPages},
		{ClockRamp, "the GPU lowers its clock in a pause and takes time to raise it", attachClockRamp},
		{KVEvictionStorm, "KV memory is too small: half of the batch is evicted, and tried again", attachEvictionStorm},
		{SlowTenant, "one tenant in eight slows the steps that its requests are in", attachSlowTenant},
		{StreamCut, "3 % of the streams break off", attachStreamCut},
		{ModelLoadStall, "now and then the model is loaded again, and nothing moves meanwhile", attachModelLoad},
	}
}

// hooks are where pathologies take part in what the engine does.
type hooks struct {
	// arrive sees each job that is taken.
	arrive []func(*seq)
	// delay is by how much a step of a given length lasts longer.
	delay []func(length time.Duration) time.Duration
	// wrong is the share of wrong answers of the batch as it is.
	wrong func() float64
	// evict takes over a preempted sequence.
	evict func(*seq)
	// clock reports whether the clock of the GPU is down at a moment.
	clock func(at int64) bool
}

func (p Params) validatePathologies() error {
	var names []string
	for _, x := range Pathologies() {
		names = append(names, x.Name)
	}
	for _, name := range p.Pathologies {
		if !slices.Contains(names, name) {
			return fmt.Errorf("pathology %q is not known: want %s", name, strings.Join(names, ", "))
		}
	}
	both := slices.Contains(p.Pathologies, KVFragmentation) && slices.Contains(p.Pathologies, MemoryExhaustion)
	return need(!both, "pathologies", p.Pathologies, KVFragmentation+" or "+MemoryExhaustion+", which make two different things of one memory")
}

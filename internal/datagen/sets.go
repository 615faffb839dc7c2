package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lambdac/lambdac/internal/twin"
)

// dataset is one dataset and what its card says.
type dataset struct {
	name  string
	about string
	// notes are further sentences of the card.
	notes string
	write func(path string) error
}

// small is the demo's server, an eighth as fast: it serves some 12 requests
// per second, so that minutes of it are a small file.
func small() twin.Params {
	p := twin.DemoParams(1).Faster(0.125)
	p.ErrorRate = 0.004
	return p
}

// shares are the loads of a run as shares of the capacity.
func shares(p twin.Params, mix uint64, of ...float64) []float64 {
	capacity, err := twin.Capacity(p, twin.BuiltinMix(mix).Jobs, 1)
	if err != nil {
		panic(err) // the parameters are constants
	}
	var loads []float64
	for _, share := range of {
		loads = append(loads, float64(int(share*capacity.Value*10+0.5))/10)
	}
	return loads
}

// all are the datasets.
func all() []dataset {
	sets := []dataset{
		{
			"healthy", "A recording of 800 chats at half of the server's capacity, with every piece of every answer.",
			"Arrivals are Poisson; lengths are lognormal and independent.",
			func(path string) error {
				return (&recording{params: small(), seed: 11, n: 800, perS: 6, chunks: true}).write(path, "healthy")
			},
		},
		{
			"agentic", "A recording of 36 sessions of agents: tool turns seconds apart, a person's every fifth, prompts that grow, and an instruction of 1,536 tokens that all share.",
			"Prefix blocks are chained, 16 tokens each, full blocks only. The server keeps prefixes, so cache_read_tokens is what it found.",
			func(path string) error {
				p := twin.DefaultParams()
				return (&recording{params: p, seed: 12, n: 36, perS: 0.5, agents: true}).write(path, "agentic")
			},
		},
		{
			"saturated", "A run at nine loads from half to 1.6 times the capacity: the server has room for 12 requests and refuses others with 429.",
			"Each load is held twice for 18 s after 4 s of warm-up.",
			func(path string) error {
				p := small()
				return (&plan{
					params: p, seed: 13, mix: 13, replicates: 2, warmup: 4 * second, hold: 18 * second,
					loads: shares(p, 13, 0.5, 0.64, 0.78, 0.91, 1.05, 1.19, 1.33, 1.46, 1.6),
				}).write(path, "saturated")
			},
		},
		release("release-old", "The baseline of a comparison: three loads, each held three times.", small()),
		release("release-new", "The candidate to release-old: the same requests at the same times, at a server whose steps take 8 % longer.", slower(small())),
	}
	loads := sync.OnceValue(func() []float64 { return shares(twin.DemoParams(1), 15, 0.03, 0.3, 0.6) })
	for _, x := range twin.Pathologies() {
		sets = append(sets, pathology(x, loads))
	}
	return sets
}

func slower(p twin.Params) twin.Params {
	p.PerSequence += p.PerSequence * 8 / 100
	p.StepFixed += p.StepFixed * 8 / 100
	return p
}

func release(name, about string, p twin.Params) dataset {
	return dataset{
		name, about, "Requests pair by request_id, load and replicate.",
		func(path string) error {
			return (&plan{
				params: p, seed: 14, mix: 14, replicates: 3, warmup: 4 * second, hold: 40 * second,
				loads: shares(small(), 14, 0.3, 0.5, 0.7),
			}).write(path, name)
		},
	}
}

// pathology is a run with the instruments of host, GPU and server: one load at
// which the server idles, two at which it works, and questions whose answers
// are known among the requests.
func pathology(x twin.Pathology, loads func() []float64) dataset {
	return dataset{
		"pathology-" + x.Name, "A run at a server with a fault of its own: " + x.About + ".",
		"One request in four is one of 100 questions with known answers (features.probe_score). telemetry has the instruments each second. Whether the fault is found in so short a run is in analysis.json.",
		func(path string) error {
			p := twin.DemoParams(1)
			p.WrongRate, p.Pathologies = 1.0/30, []string{x.Name}
			return (&plan{
				params: p, seed: 15, mix: 15, replicates: 4, warmup: 2 * second, hold: 10 * second, requests: 380,
				probeEvery: 4, loads: loads(), age: ages[x.Name],
			}).write(path, "pathology-"+x.Name)
		},
	}
}

// ages let a fault that takes its time be seen in a short run.
var ages = map[string]int{twin.KVFragmentation: 7000, twin.MemoryExhaustion: 7000}

// card is the data card of a dataset.
func (d *dataset) card() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s %s\n\n", d.name, d.about, d.notes)
	fmt.Fprintf(&b, "- **How made**: by `make datasets` (internal/datagen) from the serving model of internal/twin, in virtual time and seeded: no real server, no real user, no text. Capacity and costs are those of the model.\n")
	fmt.Fprintf(&b, "- **Columns and units**: [docs/schema.md](../../docs/schema.md); a unit is in each column's name. Times are virtual from %s on.\n", time.Unix(0, startUnixNs).UTC().Format(time.RFC3339))
	fmt.Fprintf(&b, "- **Unknown**: NULL, with the reason in manifest.json (`null_reasons`).\n")
	fmt.Fprintf(&b, "- **Checksums**: SHA256SUMS in this folder.\n")
	fmt.Fprintf(&b, "- **Licence**: CC0 1.0; the program that made it is Apache-2.0.\n")
	return b.String()
}

package twin

import "github.com/lambdac/lambdac/trace"

// The simulated machine, as samples and exporters name it.
const (
	HostZone = "0/Normal"
	GPUName  = "GPU-00000000-0000-0000-0000-000000000000"

	dmaZone = "0/DMA"

	// GPUMemory is the GPU's, in bytes.
	GPUMemory = 80 << 30
	// ClockUp and ClockDown are clocks of the multiprocessors, in Hz, at the power
	// states 0 and 8. The clock of the memory does not change.
	ClockUp, ClockDown, ClockMemory = 1980e6, 345e6, 2619e6
	stateDown                       = 8
	// throttleIdle is NVML's reason for a GPU that has nothing to do.
	throttleIdle = 1
)

// SMClock is the clock of the GPU's multiprocessors in Hz.
func (r *Reading) SMClock() float64 {
	if r.ClockDown {
		return ClockDown
	}
	return ClockUp
}

// PState is the GPU's power state.
func (r *Reading) PState() int {
	if r.ClockDown {
		return stateDown
	}
	return 0
}

// Throttle are NVML's reasons for the clock as it is.
func (r *Reading) Throttle() int {
	if r.Idle {
		return throttleIdle
	}
	return 0
}

// GPUMemoryUsed is in bytes: weights and KV memory, taken whole at the start as
// servers do.
func (r *Reading) GPUMemoryUsed() float64 { return 0.9 * GPUMemory }

// FreeBytes is what is free of the host's memory.
func (m *MemoryReading) FreeBytes() float64 { return float64(m.FreePages) * pageBytes }

// UsedBytes is the rest of it.
func (m *MemoryReading) UsedBytes() float64 { return float64(m.Pages-m.FreePages) * pageBytes }

// LargestFreeBytes is the size of its longest free piece.
func (m *MemoryReading) LargestFreeBytes() float64 { return float64(m.FreeRun) * pageBytes }

// Samples are the reading as telemetry has it, on a clock on which the engine's
// start is startUnixNs; the server is named by its endpoint.
func (r *Reading) Samples(startUnixNs int64, endpoint string) []trace.Sample {
	s := sampler{at: startUnixNs + r.AtNs}
	r.host(&s)
	for _, f := range r.Memory.Failures {
		metric := trace.MetricAllocFailed
		if f.Killed {
			metric = trace.MetricOOMOrder
		}
		s.out = append(s.out, trace.Sample{
			AtUnixNs: startUnixNs + f.AtNs, Source: trace.SampleHost, Instance: HostZone,
			Metric: metric, Value: new(float64(f.Order)),
		})
	}
	r.gpu(&s)
	r.server(&s, endpoint)
	return s.out
}

// sampler collects the samples of one moment.
type sampler struct {
	at       int64
	source   trace.SampleSource
	instance string
	out      []trace.Sample
}

func (s *sampler) add(metric string, value float64) {
	s.out = append(s.out, trace.Sample{
		AtUnixNs: s.at, Source: s.source, Instance: s.instance, Metric: metric, Value: &value,
	})
}

func (r *Reading) host(s *sampler) {
	m := &r.Memory
	s.source, s.instance = trace.SampleHost, ""
	s.add(trace.MetricCPUUtilization, r.CPU)
	s.add(trace.MetricMemoryAvailable, m.FreeBytes())
	s.add(trace.MetricMemoryFree, m.FreeBytes())
	s.add(trace.MetricMemoryAnon, m.UsedBytes())
	s.add(trace.MetricPageSize, pageBytes)
	s.add(trace.MetricOOMKills, float64(m.Kills))
	s.add(trace.MetricCompactStall, float64(m.Stalls))
	s.add(trace.MetricCompactFail, float64(m.CompactFailed))
	s.add(trace.MetricExtfrag, float64(m.Fallbacks))
	s.instance = HostZone
	s.add(trace.MetricZoneMin, float64(m.MinPages))
	for order, n := range m.Free {
		s.add(trace.BuddyMetric(order), float64(n))
	}
	s.instance = dmaZone
	s.add(trace.MetricZoneMin, 0)
	for order, n := range DMABlocks() {
		s.add(trace.BuddyMetric(order), float64(n))
	}
}

// DMABlocks are the free blocks of the zone 0/DMA by order: nobody takes them, and
// what is free there helps no request.
func DMABlocks() [maxOrder + 1]int { return [maxOrder + 1]int{maxOrder: 3} }

func (r *Reading) gpu(s *sampler) {
	s.source, s.instance = trace.SampleGPU, GPUName
	s.add(trace.MetricGPUUtilization, r.Busy)
	s.add(trace.MetricGPUSMActive, r.SM)
	s.add(trace.MetricGPUDRAMActive, r.DRAM)
	s.add(trace.MetricGPUMemoryUsed, r.GPUMemoryUsed())
	s.add(trace.MetricGPUMemoryLimit, GPUMemory)
	s.add(trace.MetricGPUSMClock, r.SMClock())
	s.add(trace.MetricGPUMemoryClock, ClockMemory)
	s.add(trace.MetricGPUPState, float64(r.PState()))
	s.add(trace.MetricGPUThrottle, float64(r.Throttle()))
}

func (r *Reading) server(s *sampler, endpoint string) {
	st, m := &r.Stats, &r.Memory
	s.source, s.instance = trace.SampleServer, endpoint
	s.add(trace.MetricServerRunning, float64(st.Running))
	s.add(trace.MetricServerWaiting, float64(st.Waiting))
	s.add(trace.MetricServerKVUsage, st.KVUsage)
	s.add(trace.MetricServerPrefixHits, float64(st.PrefixHits))
	s.add(trace.MetricServerPrefixAsked, float64(st.PrefixQueries))
	s.add(trace.MetricServerPreemptions, float64(st.Preemptions))
	s.add(trace.MetricServerPromptTokens, float64(st.PromptTokens))
	s.add(trace.MetricServerOutputTokens, float64(st.GeneratedTokens))
	s.add(trace.MetricServerAllocFailed, float64(m.Failed))
	s.add(trace.MetricServerFreeBytes, m.FreeBytes())
	s.add(trace.MetricServerLargestFree, m.LargestFreeBytes())
}

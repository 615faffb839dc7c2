package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lambdac/lambdac/internal/twin"
)

// allocatorFamilies are what the server says of its memory. No server of today
// has names for that; these are the common names of telemetry as Prometheus
// spells them, which any server can use.
func allocatorFamilies() []family {
	memory := func(name, kind, help string, get func(*twin.MemoryReading) float64) family {
		return one(name, kind, help, "", func(in *instruments) float64 { return get(&in.Memory) })
	}
	return []family{
		memory("server_allocation_failures_total", "counter", "Allocations that the server's memory allocator refused.", func(m *twin.MemoryReading) float64 { return float64(m.Failed) }),
		memory("server_memory_free_bytes", "gauge", "Memory that its allocator holds free.", (*twin.MemoryReading).FreeBytes),
		memory("server_memory_largest_free_bytes", "gauge", "Its largest free piece.", (*twin.MemoryReading).LargestFreeBytes),
	}
}

// nodeFamilies are those of Prometheus' node_exporter (its collectors cpu,
// meminfo, buddyinfo, vmstat and zoneinfo), and the failed allocations by order,
// which the kernel's log has and a tracing exporter can tell.
func nodeFamilies() []family {
	memory := func(name, kind, labels string, get func(*twin.MemoryReading) float64) family {
		return one(name, kind, "As node_exporter has it.", labels, func(in *instruments) float64 { return get(&in.Memory) })
	}
	vmstat := func(field string, get func(*twin.MemoryReading) int64) family {
		return memory("node_vmstat_"+field, "untyped", "", func(m *twin.MemoryReading) float64 { return float64(get(m)) })
	}
	total := func(m *twin.MemoryReading) float64 { return m.FreeBytes() + m.UsedBytes() }
	return []family{
		{"node_cpu_seconds_total", "counter", "Seconds the CPUs spent in each mode.", cpuSeconds},
		memory("node_memory_MemTotal_bytes", "gauge", "", total),
		memory("node_memory_MemFree_bytes", "gauge", "", (*twin.MemoryReading).FreeBytes),
		memory("node_memory_MemAvailable_bytes", "gauge", "", (*twin.MemoryReading).FreeBytes),
		memory("node_memory_AnonPages_bytes", "gauge", "", (*twin.MemoryReading).UsedBytes),
		{"node_buddyinfo_blocks", "gauge", "Count of free blocks according to size.", freeBlocks},
		vmstat("oom_kill", func(m *twin.MemoryReading) int64 { return m.Kills }),
		vmstat("compact_stall", func(m *twin.MemoryReading) int64 { return m.Stalls }),
		vmstat("compact_fail", func(m *twin.MemoryReading) int64 { return m.CompactFailed }),
		memory("node_zoneinfo_min_pages", "gauge", `node="0",zone="Normal"`, func(m *twin.MemoryReading) float64 { return float64(m.MinPages) }),
		{"linux_page_alloc_failed_total", "counter", "Page allocations that failed, by order.", failedByOrder},
	}
}

// cpuSeconds split the time of each CPU.
func cpuSeconds(in *instruments) []point {
	busy := in.CPUSeconds / twin.HostCPUs
	all := float64(in.AtNs) / 1e9
	var out []point
	for cpu := range twin.HostCPUs {
		for _, mode := range []struct {
			name  string
			value float64
		}{{"idle", all - busy}, {"iowait", 0}, {"system", 0.2 * busy}, {"user", 0.8 * busy}} {
			out = append(out, point{fmt.Sprintf(`cpu="%d",mode=%q`, cpu, mode.name), mode.value})
		}
	}
	return out
}

func freeBlocks(in *instruments) []point {
	var out []point
	for _, zone := range []string{"DMA", "Normal"} {
		blocks := in.Memory.Free
		if zone == "DMA" {
			blocks = twin.DMABlocks()
		}
		for order, n := range blocks {
			out = append(out, point{fmt.Sprintf(`node="0",size="%d",zone=%q`, order, zone), float64(n)})
		}
	}
	return out
}

func failedByOrder(in *instruments) []point {
	var out []point
	for _, order := range slices.Sorted(maps.Keys(in.failed)) {
		out = append(out, point{fmt.Sprintf(`node="0",order="%d",zone="Normal"`, order), float64(in.failed[order])})
	}
	return out
}

// gpuFamilies are those of NVIDIA's DCGM exporter.
func gpuFamilies() []family {
	const labels = `gpu="0",UUID="` + twin.GPUName + `",device="nvidia0",modelName="simulated",Hostname="sim"`
	gauge := func(field, help string, get func(*twin.Reading) float64) family {
		return one("DCGM_FI_"+field, "gauge", help, labels, func(in *instruments) float64 { return get(&in.Reading) })
	}
	const mib, mhz = 1 << 20, 1e6
	return []family{
		gauge("DEV_GPU_UTIL", "GPU utilization (in %).", func(r *twin.Reading) float64 { return 100 * r.Busy }),
		gauge("PROF_SM_ACTIVE", "Ratio of cycles with a warp on a multiprocessor.", func(r *twin.Reading) float64 { return r.SM }),
		gauge("PROF_DRAM_ACTIVE", "Ratio of cycles the memory interface is active.", func(r *twin.Reading) float64 { return r.DRAM }),
		gauge("DEV_FB_USED", "Frame buffer used (in MiB).", func(r *twin.Reading) float64 { return r.GPUMemoryUsed() / mib }),
		gauge("DEV_FB_TOTAL", "Frame buffer there is (in MiB).", func(*twin.Reading) float64 { return twin.GPUMemory / mib }),
		gauge("DEV_SM_CLOCK", "SM clock frequency (in MHz).", func(r *twin.Reading) float64 { return r.SMClock() / mhz }),
		gauge("DEV_MEM_CLOCK", "Memory clock frequency (in MHz).", func(*twin.Reading) float64 { return twin.ClockMemory / mhz }),
		gauge("DEV_PSTATE", "Performance state, 0 = highest.", func(r *twin.Reading) float64 { return float64(r.PState()) }),
		gauge("DEV_CLOCKS_EVENT_REASONS", "Why the clocks are as they are, a bit mask.", func(r *twin.Reading) float64 { return float64(r.Throttle()) }),
	}
}

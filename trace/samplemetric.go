package trace

import "strconv"

// The common names of what [Sample] rows hold. They are OpenTelemetry's where
// it has one (system.*, hw.gpu.*, v1.38), else the subsystem's that counts it.
// A counter is cumulative since its source started and may restart from 0;
// the rest are gauges. A share is 0…1.
const (
	// The host, or what an exporter on it says of it (Source host). Bytes
	// unless said otherwise.
	MetricCPUUtilization  = "system.cpu.utilization"  // share of all CPUs since the sample before
	MetricMemoryAvailable = "system.memory.available" // MemAvailable
	MetricMemoryFree      = "system.memory.free"
	MetricMemoryAnon      = "system.memory.anon" // AnonPages: swapped pages are not in it
	MetricPagingIn        = "system.paging.in"   // counter, pgpgin × 1024
	MetricPagingOut       = "system.paging.out"  // counter, pgpgout × 1024

	// Free blocks of each order, by zone: Instance is "node/zone" as
	// /proc/buddyinfo spells them ("0/Normal"); the metric's name ends in the
	// order, 0…10. See [BuddyMetric].
	MetricBuddyPrefix  = "linux.buddy.free_blocks.order_"
	MetricZoneMin      = "linux.zone.watermark_min" // pages, Instance as above
	MetricPageSize     = "linux.page_size"
	MetricOOMVictims   = "linux.oom.victims"        // counter: tasks that the OOM killer chose, by its tracepoint
	MetricOOMKills     = "linux.oom.kills"          // counter
	MetricCompactFail  = "linux.compaction.fail"    // counter
	MetricCompactStall = "linux.compaction.stall"   // counter
	MetricExtfrag      = "linux.page_alloc.extfrag" // counter: fallbacks that split a foreign block
	// The kernel's fragmentation index of an order of which no block is free, 0
	// (lack of memory) … 1 (memory in pieces); none where a block is free. See
	// [ExtfragMetric].
	MetricExtfragPrefix = "linux.extfrag.index.order_"
	MetricOOMOrder      = "linux.oom.order"         // event: an OOM kill, the value is the order asked for; Instance the zone where known
	MetricAllocFailed   = "linux.page_alloc.failed" // event: a page allocation failure, the value is its order; Instance likewise
	MetricPSIPrefix     = "linux.pressure."         // counter, µs: "linux.pressure.memory.some", …full, cpu, io

	// The control group watched; Instance is its path.
	MetricCgroupMemory    = "cgroup.memory.current"
	MetricCgroupLimit     = "cgroup.memory.limit" // absent where unlimited
	MetricCgroupAnon      = "cgroup.memory.anon"
	MetricCgroupOOM       = "cgroup.memory.events.oom"      // counter
	MetricCgroupOOMKill   = "cgroup.memory.events.oom_kill" // counter
	MetricCgroupCPU       = "cgroup.cpu.time"               // counter, s
	MetricCgroupThrottled = "cgroup.cpu.throttled_time"     // counter, s

	// A GPU; Instance is its UUID or index.
	MetricGPUUtilization = "hw.gpu.utilization"  // share of the time in which a kernel ran
	MetricGPUSMActive    = "hw.gpu.sm_active"    // share, GPM or DCGM
	MetricGPUDRAMActive  = "hw.gpu.dram_active"  // share, likewise
	MetricGPUMemoryUsed  = "hw.gpu.memory.usage" // bytes
	MetricGPUMemoryLimit = "hw.gpu.memory.limit" // bytes
	MetricGPUSMClock     = "hw.gpu.clock.sm"     // Hz
	MetricGPUMemoryClock = "hw.gpu.clock.memory" // Hz
	MetricGPUPState      = "hw.gpu.pstate"       // 0 = fastest … 15
	MetricGPUThrottle    = "hw.gpu.throttle"     // bit mask of NVML's clocks event reasons
	MetricGPUPCIeReplay  = "hw.gpu.pcie.replays" // counter
	MetricGPUECC         = "hw.gpu.ecc.errors"   // counter, uncorrected
	MetricGPUPower       = "hw.gpu.power"        // W
	MetricGPUTemperature = "hw.gpu.temperature"  // °C

	// The server's own (Source server); Instance is the endpoint.
	MetricServerRunning      = "server.requests.running"
	MetricServerWaiting      = "server.requests.waiting"
	MetricServerKVUsage      = "server.kv_cache.usage"       // share
	MetricServerPrefixHits   = "server.prefix_cache.hits"    // counter, tokens
	MetricServerPrefixAsked  = "server.prefix_cache.queries" // counter, tokens
	MetricServerPreemptions  = "server.preemptions"          // counter
	MetricServerPromptTokens = "server.tokens.prompt"        // counter
	MetricServerOutputTokens = "server.tokens.output"        // counter
	MetricServerAllocFailed  = "server.allocation_failures"  // counter: its memory allocator said no
	MetricServerFreeBytes    = "server.memory.free"          // bytes its allocator holds free
	MetricServerLargestFree  = "server.memory.largest_free"  // bytes of its largest free block

	// The load generator (Source client).
	MetricClientCPU        = "client.cpu.utilization" // share of its cores
	MetricClientGoroutines = "client.goroutines"
	MetricClientOpenFiles  = "client.open_files"
	MetricClientTimeWait   = "client.tcp.time_wait"
	MetricClientRetrans    = "client.tcp.retransmits"    // counter
	MetricClientGCPause    = "client.gc.pause"           // counter, s
	MetricClientThrottled  = "client.cpu.throttled_time" // counter, s: by the limit of its control group

	// MetricScrapeTime is how long reading a source took, s; of every source.
	MetricScrapeTime = "scrape.duration"
)

// BuddyMetric is the name of the count of free blocks of 2^order pages.
func BuddyMetric(order int) string { return MetricBuddyPrefix + strconv.Itoa(order) }

// ExtfragMetric is the name of the fragmentation index of an order.
func ExtfragMetric(order int) string { return MetricExtfragPrefix + strconv.Itoa(order) }

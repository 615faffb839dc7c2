//go:build cgo && linux

package telemetry

import (
	"context"
	"errors"
	"strconv"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/lambdac/lambdac/trace"
)

// gpus reads NVIDIA GPUs through NVML.
type gpus struct {
	lib     nvml.Interface
	devices []*gpuDevice
}

// gpuDevice is one GPU.
type gpuDevice struct {
	nvml.Device
	name string
	// last and next are GPM's samples, which it counts between; nil = the GPU has
	// none, for noGPM.
	last, next nvml.GpmSample
	sampled    bool
	noGPM      string
}

func openGPU(_ context.Context, _ *Config) (sampler, error) { return openNVML(nvml.New()) }

func openNVML(lib nvml.Interface) (sampler, error) {
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return nil, errors.New(initReason(ret))
	}
	g := &gpus{lib: lib}
	count, ret := lib.DeviceGetCount()
	if ret == nvml.SUCCESS && count == 0 {
		return nil, errors.Join(errors.New("there is no NVIDIA GPU"), g.close())
	}
	for i := range count {
		device, got := lib.DeviceGetHandleByIndex(i)
		if ret = got; ret != nvml.SUCCESS {
			continue
		}
		g.devices = append(g.devices, g.device(device, i))
	}
	if len(g.devices) == 0 {
		return nil, errors.Join(errors.New(initReason(ret)), g.close())
	}
	return g, nil
}

// initReason says why NVML gives nothing at all.
func initReason(ret nvml.Return) string {
	switch ret {
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return "there is no NVIDIA driver (libnvidia-ml.so.1)"
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return "NVIDIA's driver is not loaded"
	case nvml.ERROR_NO_PERMISSION:
		return "NVML may not be used by this user: give access to /dev/nvidiactl and /dev/nvidia*"
	}
	return "NVML: " + ret.Error()
}

func (g *gpus) device(d nvml.Device, index int) *gpuDevice {
	out := &gpuDevice{Device: d, name: strconv.Itoa(index)}
	if uuid, ret := d.GetUUID(); ret == nvml.SUCCESS {
		out.name = uuid
	}
	if out.noGPM = g.prepareGPM(out); out.noGPM != "" {
		out.last, out.next = nil, nil
	}
	return out
}

// has reports whether the installed library has a function. One that it lacks
// must not be called: the process would end.
func (g *gpus) has(function string) bool {
	return function == "" || g.lib.Extensions().LookupSymbol(function) == nil
}

// gpuReading is one value of a GPU.
type gpuReading struct {
	metric string
	// needs is a function that old drivers lack; "" = all have it.
	needs string
	read  func(d nvml.Device) (float64, nvml.Return)
}

func gpuReadings() []gpuReading {
	return []gpuReading{
		{trace.MetricGPUUtilization, "", func(d nvml.Device) (float64, nvml.Return) {
			u, ret := d.GetUtilizationRates()
			return float64(u.Gpu) / 100, ret
		}},
		{trace.MetricGPUMemoryUsed, "", func(d nvml.Device) (float64, nvml.Return) {
			m, ret := d.GetMemoryInfo()
			return float64(m.Used), ret
		}},
		{trace.MetricGPUMemoryLimit, "", func(d nvml.Device) (float64, nvml.Return) {
			m, ret := d.GetMemoryInfo()
			return float64(m.Total), ret
		}},
		{trace.MetricGPUSMClock, "", func(d nvml.Device) (float64, nvml.Return) {
			mhz, ret := d.GetClockInfo(nvml.CLOCK_SM)
			return float64(mhz) * 1e6, ret
		}},
		{trace.MetricGPUMemoryClock, "", func(d nvml.Device) (float64, nvml.Return) {
			mhz, ret := d.GetClockInfo(nvml.CLOCK_MEM)
			return float64(mhz) * 1e6, ret
		}},
		{trace.MetricGPUPState, "", performanceState},
		{trace.MetricGPUPCIeReplay, "", func(d nvml.Device) (float64, nvml.Return) {
			n, ret := d.GetPcieReplayCounter()
			return float64(n), ret
		}},
		{trace.MetricGPUECC, "", func(d nvml.Device) (float64, nvml.Return) {
			n, ret := d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC)
			return float64(n), ret
		}},
		{trace.MetricGPUPower, "", func(d nvml.Device) (float64, nvml.Return) {
			mw, ret := d.GetPowerUsage()
			return float64(mw) / 1000, ret
		}},
		{trace.MetricGPUTemperature, "", func(d nvml.Device) (float64, nvml.Return) {
			c, ret := d.GetTemperature(nvml.TEMPERATURE_GPU)
			return float64(c), ret
		}},
	}
}

func performanceState(d nvml.Device) (float64, nvml.Return) {
	state, ret := d.GetPerformanceState()
	if ret == nvml.SUCCESS && state == nvml.PSTATE_UNKNOWN {
		return 0, nvml.ERROR_NOT_SUPPORTED
	}
	return float64(state), ret
}

// throttle reads why clocks are held down, by the name that the driver has.
func (g *gpus) throttle() gpuReading {
	r := gpuReading{trace.MetricGPUThrottle, "nvmlDeviceGetCurrentClocksEventReasons", func(d nvml.Device) (float64, nvml.Return) {
		mask, ret := d.GetCurrentClocksEventReasons()
		return float64(mask), ret
	}}
	if !g.has(r.needs) { // drivers before 535
		r.needs, r.read = "nvmlDeviceGetCurrentClocksThrottleReasons", func(d nvml.Device) (float64, nvml.Return) {
			mask, ret := d.GetCurrentClocksThrottleReasons()
			return float64(mask), ret
		}
	}
	return r
}

func (g *gpus) sample(ctx context.Context, b *batch) error {
	readings := append(gpuReadings(), g.throttle())
	for _, d := range g.devices {
		for _, r := range readings {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			g.read(d, r, b)
		}
		g.sampleGPM(d, b)
	}
	return nil
}

// read adds one value, or why there is none.
func (g *gpus) read(d *gpuDevice, r gpuReading, b *batch) {
	if !g.has(r.needs) {
		b.null(r.metric, "", d.name, gpuReason(nvml.ERROR_FUNCTION_NOT_FOUND))
		return
	}
	v, ret := r.read(d.Device)
	switch {
	case ret != nvml.SUCCESS:
		b.null(r.metric, "", d.name, gpuReason(ret))
	case r.metric == trace.MetricGPUUtilization && g.partitioned(d):
		b.null(r.metric, "", d.name, "the GPU is partitioned (MIG): not measured there")
	default:
		b.add(r.metric, d.name, v)
	}
}

// partitioned reports whether the GPU is in MIG mode, in which drivers say that
// utilisation is not supported, or 0.
func (g *gpus) partitioned(d *gpuDevice) bool {
	if !g.has("nvmlDeviceGetMigMode") {
		return false
	}
	current, _, ret := d.GetMigMode()
	return ret == nvml.SUCCESS && current == nvml.DEVICE_MIG_ENABLE
}

// gpuReason is why a GPU does not tell a value.
func gpuReason(ret nvml.Return) string {
	switch ret {
	case nvml.ERROR_NOT_SUPPORTED:
		return "this GPU does not support it"
	case nvml.ERROR_FUNCTION_NOT_FOUND:
		return "this driver does not have it"
	case nvml.ERROR_NO_PERMISSION:
		return "the driver does not permit it to this user"
	case nvml.ERROR_GPU_IS_LOST:
		return "the GPU has fallen off the bus"
	}
	return "NVML: " + ret.Error()
}

// prepareGPM allocates what GPM needs and returns why the GPU has none, "" where
// it has.
func (g *gpus) prepareGPM(d *gpuDevice) string {
	for _, f := range []string{"nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc", "nvmlGpmSampleGet", "nvmlGpmSampleFree", "nvmlGpmMetricsGet"} {
		if !g.has(f) {
			return gpuReason(nvml.ERROR_FUNCTION_NOT_FOUND)
		}
	}
	support, ret := d.GpmQueryDeviceSupport()
	if ret == nvml.SUCCESS && support.IsSupportedDevice == 0 {
		ret = nvml.ERROR_NOT_SUPPORTED
	}
	if ret != nvml.SUCCESS {
		return gpuReason(ret)
	}
	if d.last, ret = g.lib.GpmSampleAlloc(); ret != nvml.SUCCESS {
		return gpuReason(ret)
	}
	if d.next, ret = g.lib.GpmSampleAlloc(); ret != nvml.SUCCESS {
		_ = d.last.Free() // nothing was read into it
		return gpuReason(ret)
	}
	return ""
}

// sampleGPM adds the shares of the time since the sample before in which the SMs
// and the memory were at work.
func (g *gpus) sampleGPM(d *gpuDevice, b *batch) {
	metrics := []struct {
		id     nvml.GpmMetricId
		metric string
	}{{nvml.GPM_METRIC_SM_UTIL, trace.MetricGPUSMActive}, {nvml.GPM_METRIC_DRAM_BW_UTIL, trace.MetricGPUDRAMActive}}
	why := d.noGPM
	if why == "" {
		if ret := d.GpmSampleGet(d.next); ret != nvml.SUCCESS {
			why, d.sampled = gpuReason(ret), false
		}
	}
	if why != "" {
		for _, m := range metrics {
			b.null(m.metric, "", d.name, why)
		}
		return
	}
	d.last, d.next = d.next, d.last
	if !d.sampled {
		d.sampled = true
		return // counted from here on
	}
	asked := nvml.GpmMetricsGetType{NumMetrics: uint32(len(metrics)), Sample1: d.next, Sample2: d.last}
	for i, m := range metrics {
		asked.Metrics[i].MetricId = uint32(m.id)
	}
	ret := g.lib.GpmMetricsGet(&asked)
	for i, m := range metrics {
		got := asked.Metrics[i]
		if r := nvml.Return(got.NvmlReturn); ret == nvml.SUCCESS && r != nvml.SUCCESS {
			b.null(m.metric, "", d.name, gpuReason(r))
			continue
		}
		if ret != nvml.SUCCESS {
			b.null(m.metric, "", d.name, gpuReason(ret))
			continue
		}
		b.add(m.metric, d.name, got.Value/100)
	}
}

func (g *gpus) close() error {
	for _, d := range g.devices {
		if d.last != nil {
			_, _ = d.last.Free(), d.next.Free() // the library ends with it
		}
	}
	if ret := g.lib.Shutdown(); ret != nvml.SUCCESS {
		return errors.New("NVML: " + ret.Error())
	}
	return nil
}

//go:build cgo && linux

package telemetry

import (
	"errors"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// fakeGPU is NVML's interface with one GPU whose answers are those of an H200 at
// work. It is a fake: the answers' form is that of the library, their values are
// plausible ones.
type fakeGPU struct {
	lib    *mock.Interface
	device *mock.Device
	// missing are functions that the installed library lacks.
	missing map[string]bool
	// freed counts GPM samples, ended calls of Shutdown.
	freed, ended int
}

func newFakeGPU() *fakeGPU {
	f := &fakeGPU{missing: make(map[string]bool)}
	sm := nvml.GPM_METRIC_SM_UTIL
	f.device = &mock.Device{
		GetUUIDFunc:                      func() (string, nvml.Return) { return "GPU-1", nvml.SUCCESS },
		GetUtilizationRatesFunc:          func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{Gpu: 97, Memory: 40}, nvml.SUCCESS },
		GetMemoryInfoFunc:                func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: 150 << 30, Used: 120 << 30}, nvml.SUCCESS },
		GetPerformanceStateFunc:          func() (nvml.Pstates, nvml.Return) { return nvml.PSTATE_0, nvml.SUCCESS },
		GetPcieReplayCounterFunc:         func() (int, nvml.Return) { return 2, nvml.SUCCESS },
		GetPowerUsageFunc:                func() (uint32, nvml.Return) { return 412_500, nvml.SUCCESS },
		GetCurrentClocksEventReasonsFunc: func() (uint64, nvml.Return) { return nvml.ClocksEventReasonSwPowerCap, nvml.SUCCESS },
		GetMigModeFunc:                   func() (int, int, nvml.Return) { return nvml.DEVICE_MIG_DISABLE, nvml.DEVICE_MIG_DISABLE, nvml.SUCCESS },
		GpmQueryDeviceSupportFunc:        func() (nvml.GpmSupport, nvml.Return) { return nvml.GpmSupport{IsSupportedDevice: 1}, nvml.SUCCESS },
		GpmSampleGetFunc:                 func(nvml.GpmSample) nvml.Return { return nvml.SUCCESS },
		GetTemperatureFunc:               func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 61, nvml.SUCCESS },
		GetTotalEccErrorsFunc:            func(nvml.MemoryErrorType, nvml.EccCounterType) (uint64, nvml.Return) { return 0, nvml.SUCCESS },
		GetClockInfoFunc: func(c nvml.ClockType) (uint32, nvml.Return) {
			return map[nvml.ClockType]uint32{nvml.CLOCK_SM: 1980, nvml.CLOCK_MEM: 3201}[c], nvml.SUCCESS
		},
	}
	f.lib = &mock.Interface{
		InitFunc:                   func() nvml.Return { return nvml.SUCCESS },
		ShutdownFunc:               func() nvml.Return { f.ended++; return nvml.SUCCESS },
		DeviceGetCountFunc:         func() (int, nvml.Return) { return 1, nvml.SUCCESS },
		DeviceGetHandleByIndexFunc: func(int) (nvml.Device, nvml.Return) { return f.device, nvml.SUCCESS },
		ExtensionsFunc: func() nvml.ExtendedInterface {
			return &mock.ExtendedInterface{LookupSymbolFunc: func(name string) error {
				if f.missing[name] {
					return errors.New("undefined symbol")
				}
				return nil
			}}
		},
		GpmSampleAllocFunc: func() (nvml.GpmSample, nvml.Return) {
			return &mock.GpmSample{FreeFunc: func() nvml.Return { f.freed++; return nvml.SUCCESS }}, nvml.SUCCESS
		},
		GpmMetricsGetFunc: func(g *nvml.GpmMetricsGetType) nvml.Return {
			for i := range g.NumMetrics {
				m := &g.Metrics[i]
				m.Value = 35
				if m.MetricId == uint32(sm) {
					m.Value = 62.5
				}
			}
			return nvml.SUCCESS
		},
	}
	return f
}

// read opens the fake and returns its second reading.
func (f *fakeGPU) read(t *testing.T) []string {
	t.Helper()
	s, err := openNVML(f.lib)
	if err != nil {
		t.Fatal(err)
	}
	var b *batch
	for range 2 {
		b = &batch{source: trace.SampleGPU}
		if err := s.sample(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.close(); err != nil || f.ended != 1 {
		t.Errorf("close: error %v, %d calls of Shutdown", err, f.ended)
	}
	return lines(b.rows)
}

// working is what the fake says where nothing is wrong.
func working() []string {
	return []string{
		"hw.gpu.utilization GPU-1 0.97", "hw.gpu.memory.usage GPU-1 1.28849e+11", "hw.gpu.memory.limit GPU-1 1.61061e+11",
		"hw.gpu.clock.sm GPU-1 1.98e+09", "hw.gpu.clock.memory GPU-1 3.201e+09", "hw.gpu.pstate GPU-1 0", "hw.gpu.pcie.replays GPU-1 2",
		"hw.gpu.ecc.errors GPU-1 0", "hw.gpu.power GPU-1 412.5", "hw.gpu.temperature GPU-1 61", "hw.gpu.throttle GPU-1 4",
		"hw.gpu.sm_active GPU-1 0.625", "hw.gpu.dram_active GPU-1 0.35",
	}
}

// but replaces the row of a metric.
func but(rows []string, changed ...string) []string {
	for _, c := range changed {
		metric, _, _ := strings.Cut(c, " ")
		for i, r := range rows {
			if strings.HasPrefix(r, metric+" ") {
				rows[i] = c
			}
		}
	}
	return rows
}

func TestGPU(t *testing.T) {
	rows := []struct {
		name  string
		spoil func(f *fakeGPU)
		want  []string
	}{
		{"at work", func(*fakeGPU) {}, working()},
		{"not supported is not 0", func(f *fakeGPU) {
			f.device.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{}, nvml.ERROR_NOT_SUPPORTED }
			f.device.GetTotalEccErrorsFunc = func(nvml.MemoryErrorType, nvml.EccCounterType) (uint64, nvml.Return) {
				return 0, nvml.ERROR_NOT_SUPPORTED
			}
		}, but(working(), "hw.gpu.utilization GPU-1 NULL: this GPU does not support it", "hw.gpu.ecc.errors GPU-1 NULL: this GPU does not support it")},
		{"partitioned: the driver says 0", func(f *fakeGPU) {
			f.device.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{}, nvml.SUCCESS }
			f.device.GetMigModeFunc = func() (int, int, nvml.Return) {
				return nvml.DEVICE_MIG_ENABLE, nvml.DEVICE_MIG_ENABLE, nvml.SUCCESS
			}
		}, but(working(), "hw.gpu.utilization GPU-1 NULL: the GPU is partitioned (MIG): not measured there")},
		{"no permission for one", func(f *fakeGPU) {
			f.device.GetPcieReplayCounterFunc = func() (int, nvml.Return) { return 0, nvml.ERROR_NO_PERMISSION }
		}, but(working(), "hw.gpu.pcie.replays GPU-1 NULL: the driver does not permit it to this user")},
		{"unknown performance state", func(f *fakeGPU) {
			f.device.GetPerformanceStateFunc = func() (nvml.Pstates, nvml.Return) { return nvml.PSTATE_UNKNOWN, nvml.SUCCESS }
		}, but(working(), "hw.gpu.pstate GPU-1 NULL: this GPU does not support it")},
		{"a GPU before Hopper has no GPM", func(f *fakeGPU) {
			f.device.GpmQueryDeviceSupportFunc = func() (nvml.GpmSupport, nvml.Return) { return nvml.GpmSupport{}, nvml.SUCCESS }
		}, but(working(), "hw.gpu.sm_active GPU-1 NULL: this GPU does not support it", "hw.gpu.dram_active GPU-1 NULL: this GPU does not support it")},
		{"GPM has one of the metrics", func(f *fakeGPU) {
			f.lib.GpmMetricsGetFunc = func(g *nvml.GpmMetricsGetType) nvml.Return {
				g.Metrics[0].Value, g.Metrics[1].NvmlReturn = 50, uint32(nvml.ERROR_NO_DATA)
				return nvml.SUCCESS
			}
		}, but(working(), "hw.gpu.sm_active GPU-1 0.5", "hw.gpu.dram_active GPU-1 NULL: NVML: ERROR_NO_DATA")},
		{"an old driver: other names, no GPM", func(f *fakeGPU) {
			for _, name := range []string{"nvmlDeviceGetCurrentClocksEventReasons", "nvmlGpmQueryDeviceSupport", "nvmlDeviceGetMigMode"} {
				f.missing[name] = true
			}
			f.device.GetCurrentClocksEventReasonsFunc, f.device.GpmQueryDeviceSupportFunc, f.device.GetMigModeFunc = nil, nil, nil // panics if called
			f.device.GetCurrentClocksThrottleReasonsFunc = func() (uint64, nvml.Return) { return 8, nvml.SUCCESS }
		}, but(working(), "hw.gpu.throttle GPU-1 8", "hw.gpu.sm_active GPU-1 NULL: this driver does not have it", "hw.gpu.dram_active GPU-1 NULL: this driver does not have it")},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f := newFakeGPU()
			row.spoil(f)
			if diff := cmp.Diff(row.want, f.read(t)); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGPUFallsOff: a GPU that is lost in a run tells nothing, and says so.
func TestGPUFallsOff(t *testing.T) {
	f := newFakeGPU()
	s, err := openNVML(f.lib)
	if err != nil {
		t.Fatal(err)
	}
	f.device.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{}, nvml.ERROR_GPU_IS_LOST }
	f.device.GpmSampleGetFunc = func(nvml.GpmSample) nvml.Return { return nvml.ERROR_GPU_IS_LOST }
	b := &batch{}
	if err := s.sample(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(lines(b.rows), "\n")
	for _, metric := range []string{trace.MetricGPUUtilization, trace.MetricGPUSMActive} {
		if !strings.Contains(got, metric+" GPU-1 NULL: the GPU has fallen off the bus") {
			t.Errorf("%s is not said to be lost:\n%s", metric, got)
		}
	}
	if err := s.close(); err != nil || f.freed != 2 {
		t.Errorf("close: error %v, %d samples freed, want 2", err, f.freed)
	}
}

func TestNoGPU(t *testing.T) {
	rows := []struct {
		name  string
		spoil func(f *fakeGPU)
		want  string
		ended int
	}{
		{"no driver", func(f *fakeGPU) { f.lib.InitFunc = func() nvml.Return { return nvml.ERROR_LIBRARY_NOT_FOUND } }, "there is no NVIDIA driver (libnvidia-ml.so.1)", 0},
		{"not loaded", func(f *fakeGPU) { f.lib.InitFunc = func() nvml.Return { return nvml.ERROR_DRIVER_NOT_LOADED } }, "NVIDIA's driver is not loaded", 0},
		{"no permission", func(f *fakeGPU) { f.lib.InitFunc = func() nvml.Return { return nvml.ERROR_NO_PERMISSION } }, "NVML may not be used by this user: give access to /dev/nvidiactl and /dev/nvidia*", 0},
		{"no GPU", func(f *fakeGPU) {
			f.lib.DeviceGetCountFunc = func() (int, nvml.Return) { return 0, nvml.SUCCESS }
		}, "there is no NVIDIA GPU", 1},
		{"no GPU may be used", func(f *fakeGPU) {
			f.lib.DeviceGetHandleByIndexFunc = func(int) (nvml.Device, nvml.Return) { return nil, nvml.ERROR_NO_PERMISSION }
		}, "NVML may not be used by this user: give access to /dev/nvidiactl and /dev/nvidia*", 1},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f := newFakeGPU()
			row.spoil(f)
			_, err := openNVML(f.lib)
			if err == nil || err.Error() != row.want || f.ended != row.ended {
				t.Errorf("error %v, Shutdown %d times; want %q, %d", err, f.ended, row.want, row.ended)
			}
		})
	}
}

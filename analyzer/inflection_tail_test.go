package analyzer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// service answers in lognormal times; at low load its slowest tenth take ratio
// times as long.
type service struct {
	loads   []float64
	runs    int
	answers int
	ratio   float64
	runSD   float64 // of log latency, of each run
	edit    func(o *Observation, low []*ObservedRun)
}

func idleService() service {
	return service{loads: []float64{2, 10, 20, 30}, runs: 4, answers: 300, ratio: 1.8, runSD: 0.05}
}

func (s service) observe(seed uint64) Observation {
	rng := rand.New(rand.NewPCG(seed, 9))
	o := Observation{Telemetry: new(Telemetry), Seed: 1}
	o.Runs = observedRuns(s.loads, s.runs, 60, func(run *ObservedRun, load float64) {
		luck := math.Exp(s.runSD * rng.NormFloat64())
		for range s.answers {
			u := rng.NormFloat64()
			us := 50e3 * luck * math.Exp(0.3*u)
			if load == s.loads[0] && u > 1.28 {
				us *= s.ratio
			}
			run.Answers = append(run.Answers, Answer{
				StartUnixNs: run.Level.StartUnixNs + rng.Int64N(60*second), LatencyUs: int64(us), LagUs: 50,
				InputTokens: int32(100 + rng.IntN(900)), Conn: ConnReused,
			})
		}
		for at := run.Level.StartUnixNs; at < run.Level.EndUnixNs; at += second {
			busy := 0.6 * load / s.loads[len(s.loads)-1]
			for metric, v := range map[string]float64{
				trace.MetricGPUSMActive: busy + 0.01*rng.NormFloat64(), trace.MetricGPUUtilization: 0.99,
				trace.MetricGPUSMClock: 1.98e9, trace.MetricGPUPState: 0, trace.MetricGPUThrottle: 0,
			} {
				sampled(o.Telemetry, at, metric, "gpu0", v)
			}
		}
	})
	if s.edit != nil {
		var low []*ObservedRun
		for i := range o.Runs {
			if o.Runs[i].Level.OfferedPerS == s.loads[0] {
				low = append(low, &o.Runs[i])
			}
		}
		s.edit(&o, low)
	}
	return o
}

// change sets the readings of a metric in the windows of runs.
func (t *Telemetry) change(metric string, runs []*ObservedRun, v float64) {
	for _, s := range t.of(metric) {
		for i := range s.readings {
			for _, r := range runs {
				if r.Level.InWindow(s.readings[i].at) {
					s.readings[i].value = v
				}
			}
		}
	}
}

func eachAnswer(runs []*ObservedRun, f func(r *ObservedRun, a *Answer)) {
	for _, r := range runs {
		for i := range r.Answers {
			f(r, &r.Answers[i])
		}
	}
}

const slowUs = 50e3 * 1.8 * 1.5

func TestQuietTail(t *testing.T) {
	rows := []struct {
		name      string
		change    func(*service)
		verdict   Verdict
		indicated bool
		says      string
	}{
		{"tail", func(*service) {}, Found, true, "unexplained tail"},
		{"no tail", func(s *service) { s.ratio = 1 }, NotFound, false, "is not 1.4 times"},
		{"runs that differ by more", func(s *service) { s.runSD, s.ratio = 0.8, 1.8 }, Insufficient, true, "more runs"},
		{"two runs a load", func(s *service) { s.runs = 2 }, Insufficient, false, "3 against 3"},
		{"few answers", func(s *service) { s.answers = 100 }, Insufficient, false, "300 answered requests in each run"},
		{"no low load", func(s *service) { s.loads = []float64{10, 20, 30} }, Insufficient, false, "a low load"},
		{"one load", func(s *service) { s.loads = []float64{2} }, Insufficient, false, "two loads"},
		{"GPU busy", func(s *service) {
			s.edit = func(o *Observation, low []*ObservedRun) { o.Telemetry.change(trace.MetricGPUSMActive, low, 0.8) }
		}, NotFound, false, "GPU is not idle"},
		{"utilisation only", func(s *service) {
			s.edit = func(o *Observation, _ []*ObservedRun) { delete(o.Telemetry.series, trace.MetricGPUSMActive) }
		}, Insufficient, false, "SM or DRAM activity"},
		{"low utilisation only", func(s *service) {
			s.edit = func(o *Observation, low []*ObservedRun) {
				delete(o.Telemetry.series, trace.MetricGPUSMActive)
				o.Telemetry.change(trace.MetricGPUUtilization, low, 0.18)
			}
		}, Insufficient, true, "SM or DRAM activity"},
		{"case 22: utilisation 0 throughout, not supported", func(s *service) {
			s.edit = func(o *Observation, low []*ObservedRun) {
				delete(o.Telemetry.series, trace.MetricGPUSMActive)
				o.Telemetry.change(trace.MetricGPUUtilization, low, 0)
			}
		}, Insufficient, false, "SM or DRAM activity"},
		{"no telemetry", func(s *service) {
			s.edit = func(o *Observation, _ []*ObservedRun) { o.Telemetry = nil }
		}, Insufficient, false, "SM clock"},
		{"clock falls when idle", func(s *service) {
			s.edit = func(o *Observation, low []*ObservedRun) { o.Telemetry.change(trace.MetricGPUSMClock, low, 0.6e9) }
		}, Insufficient, true, "lock the clocks"},
		{"P8 when idle", func(s *service) {
			s.edit = func(o *Observation, low []*ObservedRun) { o.Telemetry.change(trace.MetricGPUPState, low, 8) }
		}, Insufficient, true, "power_state"},
		{"throttled", func(s *service) {
			s.edit = func(o *Observation, low []*ObservedRun) { o.Telemetry.change(trace.MetricGPUThrottle, low, 0x40) }
		}, Insufficient, true, "throttling"},
		{"idle bit is not throttling", func(s *service) {
			s.edit = func(o *Observation, low []*ObservedRun) { o.Telemetry.change(trace.MetricGPUThrottle, low, 1) }
		}, Found, true, "unexplained"},
		{"long prompts are slow, and more at low load", func(s *service) {
			s.ratio = 1
			s.edit = func(o *Observation, low []*ObservedRun) {
				lengthen := func(a *Answer) { a.InputTokens, a.LatencyUs = 5000, 400e3+a.LatencyUs }
				for i := range o.Runs {
					lengthen(&o.Runs[i].Answers[0])
				}
				for _, r := range low {
					for i := range 15 {
						lengthen(&r.Answers[i])
					}
				}
			}
		}, Insufficient, true, "prompt_mix"},
		{"prompts not counted", func(s *service) {
			s.edit = func(_ *Observation, low []*ObservedRun) {
				eachAnswer(low, func(_ *ObservedRun, a *Answer) { a.InputTokens = 0 })
			}
		}, Insufficient, true, "lengths of the prompts"},
		{"slow at the start only", func(s *service) {
			s.edit = func(_ *Observation, low []*ObservedRun) {
				eachAnswer(low, func(r *ObservedRun, a *Answer) {
					if a.LatencyUs > slowUs {
						a.StartUnixNs = r.Level.StartUnixNs + a.StartUnixNs%(5*second)
					}
				})
			}
		}, Insufficient, true, "cold_start"},
		{"slow on new connections only", func(s *service) {
			s.edit = func(_ *Observation, low []*ObservedRun) {
				eachAnswer(low, func(_ *ObservedRun, a *Answer) {
					if a.LatencyUs > slowUs {
						a.Conn = ConnOpened
					}
				})
			}
		}, Insufficient, true, "new_connections"},
		{"the client was late", func(s *service) {
			s.edit = func(_ *Observation, low []*ObservedRun) {
				eachAnswer(low, func(_ *ObservedRun, a *Answer) {
					if a.LatencyUs > slowUs {
						a.LagUs = a.LatencyUs - 90e3
					}
				})
			}
		}, Insufficient, true, "client"},
		{"a timer delays all", func(s *service) {
			s.ratio = 1
			s.edit = func(_ *Observation, low []*ObservedRun) {
				eachAnswer(low, func(_ *ObservedRun, a *Answer) { a.LatencyUs += 60e3 })
			}
		}, Insufficient, true, "batching_timer"},
	}
	for _, row := range rows {
		s := idleService()
		row.change(&s)
		checkInflection(t, row.name, Inflections(s.observe(1))[2], row.verdict, row.indicated, row.says)
	}
}

func TestCalibrateQuietTail(t *testing.T) {
	n := scale(200, 1000)
	for _, c := range []struct {
		name  string
		ratio float64
		runSD float64
		least float64 // share found
		most  float64
	}{
		{"no tail", 1, 0.05, 0, 0.07}, {"no tail, runs differ by 40 %", 1, 0.4, 0, 0.07}, {"tail of 1.8", 1.8, 0.05, 0.95, 1},
	} {
		s := idleService()
		s.ratio, s.runSD = c.ratio, c.runSD
		checkShare(t, c.name, n, c.least, c.most, func(i int) bool { return Inflections(s.observe(uint64(i)))[2].Verdict == Found })
	}
}

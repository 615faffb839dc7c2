package twin

import "testing"

// BenchmarkEngine serves the default server at saturation, all events on.
func BenchmarkEngine(b *testing.B) {
	v, err := newVirtual(DefaultParams(), []Job{{InputTokens: 500, OutputTokens: 200}}, 1)
	if err != nil {
		b.Fatal(err)
	}
	e := v.engine
	e.quiet = false
	b.ReportAllocs()
	tokens := 0
	for b.Loop() {
		for len(e.open) < 150 {
			v.submit(e.now)
		}
		for _, ev := range e.Advance(e.NextEventNs()) {
			if ev.Kind == FirstToken || ev.Kind == Token {
				tokens++
			}
		}
	}
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkCapacity measures the demo's capacity to 0.05 %.
func BenchmarkCapacity(b *testing.B) {
	mix := BuiltinMix(1).Jobs
	for b.Loop() {
		if _, err := Capacity(DemoParams(1), mix, 1); err != nil {
			b.Fatal(err)
		}
	}
}

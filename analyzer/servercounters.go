package analyzer

import "github.com/lambdac/lambdac/trace"

// serverCounters begin again at 0 when a server restarts.
func serverCounters() []string {
	return []string{
		trace.MetricServerPrefixHits, trace.MetricServerPrefixAsked, trace.MetricServerPreemptions,
		trace.MetricServerPromptTokens, trace.MetricServerOutputTokens, trace.MetricServerAllocFailed,
	}
}

// addCounters tells of each level what the server's own counters say.
func (a *Analysis) addCounters(loads []*load, t *Telemetry) {
	for i, l := range loads {
		restarted := false
		for _, metric := range serverCounters() {
			_, restarts := t.counted(metric, l.shown())
			restarted = restarted || restarts > 0
		}
		if restarted {
			a.Levels[i].Flags = append(a.Levels[i].Flags, "server_restarted")
		}
		hits, _ := t.counted(trace.MetricServerPrefixHits, l.shown())
		asked, _ := t.counted(trace.MetricServerPrefixAsked, l.shown())
		if hits != nil && asked != nil && *asked > 0 {
			a.Levels[i].PrefixHitShare = finite(*hits / *asked)
		}
	}
}

// counted is what all instances of a counter counted in the windows of runs, nil
// where it was not read, and how often it began again.
func (t *Telemetry) counted(metric string, runs []*run) (by *float64, restarts int) {
	for _, s := range t.of(metric) {
		for _, r := range runs {
			n, again, ok := s.increase(r.level.StartUnixNs, r.level.EndUnixNs)
			if !ok {
				continue
			}
			if by == nil {
				by = new(0.0)
			}
			*by += n
			restarts += again
		}
	}
	return by, restarts
}

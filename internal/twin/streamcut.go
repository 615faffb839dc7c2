package twin

// cutShare is the share of the answers that break off.
const cutShare = 0.03

// attachStreamCut breaks off streams after a token drawn for each, by seed and
// job, whatever the load.
func attachStreamCut(e *Engine) {
	e.hooks.arrive = append(e.hooks.arrive, func(s *seq) {
		h := hashOf(hashOf(e.seed, streamCut), s.job.ID)
		if s.doomed || s.job.OutputTokens == 0 || unit(h) >= cutShare {
			return
		}
		s.cutAt = 1 + int(mix64(h)%uint64(s.job.OutputTokens))
	})
}

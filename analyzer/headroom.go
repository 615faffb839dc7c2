package analyzer

// headroomOf relates the recorded peak to λc.
func headroomOf(peak *float64, c LambdaC) Headroom {
	h := Headroom{RecordedPeakPerS: peak}
	limit := c.Low
	if limit == nil {
		limit = c.Point
	}
	switch {
	case peak == nil:
		h.Reason = "the recorded trace is shorter than a minute"
	case c.Verdict != Found || limit == nil || *limit <= 0:
		h.Reason = "no lower bound of λc"
	default:
		h.Share = new(1 - *peak / *limit)
	}
	return h
}

package sanitizer

import "time"

// pace keeps the work on live traffic below a share of the time, so that a
// recorder that has its goroutine is not held up: what there is no time for is
// kept as shape.
type pace struct {
	from  time.Time
	spent time.Duration
	// work is the time spent since the beginning, on so many bytes.
	work  time.Duration
	bytes int64
}

const (
	// paceSpan is how long a burst is remembered.
	paceSpan = time.Second
	// paceShare is the share of the time that may be spent.
	paceShare = 0.5
	// paceBurst may be spent before any time has passed.
	paceBurst = 100 * time.Millisecond
)

// behind reports that no more may be spent now.
func (p *pace) behind(now time.Time) bool {
	if now.Sub(p.from) > paceSpan {
		p.from, p.spent = now, 0
	}
	return p.spent > paceBurst+time.Duration(paceShare*float64(now.Sub(p.from)))
}

// spend notes work on n bytes that began at a time.
func (p *pace) spend(began time.Time, n int) {
	d := time.Since(began)
	p.spent, p.work, p.bytes = p.spent+d, p.work+d, p.bytes+int64(n)
}

// rate is how much was done in MB/s of the time spent.
func (p *pace) rate() float64 {
	return float64(p.bytes) / 1e6 / max(p.work, time.Microsecond).Seconds()
}

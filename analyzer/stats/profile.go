package stats

import "math"

// profile is a log-likelihood over one parameter, all others maximized out,
// scanned on a grid that is fine enough to hold its highest peak.
type profile struct {
	at     func(x float64) float64
	grid   []float64
	values []float64
}

func scan(grid []float64, at func(float64) float64) profile {
	p := profile{at: at, grid: grid, values: make([]float64, len(grid))}
	for i, x := range grid {
		p.values[i] = at(x)
	}
	return p
}

// peak returns the grid's best point refined by golden section between its
// neighbours.
func (p profile) peak() (x, value float64) {
	best := 0
	for i, v := range p.values {
		if v > p.values[best] {
			best = i
		}
	}
	low, high := p.grid[max(0, best-1)], p.grid[min(len(p.grid)-1, best+1)]
	x, value = goldenMax(low, high, 1e-9*(math.Abs(high)+high-low), p.at)
	if p.values[best] >= value {
		return p.grid[best], p.values[best]
	}
	return x, value
}

// OpenInterval is a profile interval; an end is open where the profile does
// not fall by the cut inside the range of the parameter.
type OpenInterval struct {
	Low, High         float64
	LowOpen, HighOpen bool
}

// Width is High − Low, +Inf where an end is open.
func (i OpenInterval) Width() float64 {
	if i.LowOpen || i.HighOpen {
		return math.Inf(1)
	}
	return i.High - i.Low
}

// Union returns the hull of both intervals.
func (i OpenInterval) Union(j OpenInterval) OpenInterval {
	return OpenInterval{
		Low: min(i.Low, j.Low), High: max(i.High, j.High),
		LowOpen: i.LowOpen || j.LowOpen, HighOpen: i.HighOpen || j.HighOpen,
	}
}

// interval returns {x : 2(ℓmax − ℓ(x)) ≤ cut} around the peak; where that set
// has several parts, their hull.
func (p profile) interval(peak, top, cut float64) OpenInterval {
	inside := func(v float64) bool { return 2*(top-v) <= cut }
	low, high := peak, peak
	lowAt, highAt := -1, len(p.grid)
	for i, x := range p.grid {
		if inside(p.values[i]) {
			low, high = min(low, x), max(high, x)
		}
	}
	for i, x := range p.grid {
		if x < low {
			lowAt = i
		}
		if x > high && highAt == len(p.grid) {
			highAt = i
		}
	}
	out := OpenInterval{Low: low, High: high, LowOpen: lowAt < 0, HighOpen: highAt == len(p.grid)}
	if !out.LowOpen {
		out.Low = p.cross(p.grid[lowAt], low, top-cut/2)
	}
	if !out.HighOpen {
		out.High = p.cross(p.grid[highAt], high, top-cut/2)
	}
	return out
}

// cross bisects for ℓ = level between a point outside and one inside.
func (p profile) cross(outside, inside, level float64) float64 {
	for range 60 {
		mid := (outside + inside) / 2
		if math.Abs(outside-inside) <= 1e-9*(1+math.Abs(mid)) {
			break
		}
		if p.at(mid) >= level {
			inside = mid
		} else {
			outside = mid
		}
	}
	return (outside + inside) / 2
}

// goldenMax finds a local maximum of f in [low, high] to within tolerance.
func goldenMax(low, high, tolerance float64, f func(float64) float64) (x, value float64) {
	const ratio = 0.6180339887498949 // 1/φ
	a, b := low, high
	c, d := b-ratio*(b-a), a+ratio*(b-a)
	fc, fd := f(c), f(d)
	for b-a > tolerance {
		if fc >= fd {
			b, d, fd = d, c, fc
			c = b - ratio*(b-a)
			fc = f(c)
		} else {
			a, c, fc = c, d, fd
			d = a + ratio*(b-a)
			fd = f(d)
		}
	}
	if fc >= fd {
		return c, fc
	}
	return d, fd
}

// between returns the knots with perGap−1 points evenly inside each gap.
func between(knots []float64, perGap int) []float64 {
	grid := make([]float64, 0, len(knots)*perGap)
	for i := range len(knots) - 1 {
		for j := range perGap {
			grid = append(grid, knots[i]+(knots[i+1]-knots[i])*float64(j)/float64(perGap))
		}
	}
	return append(grid, knots[len(knots)-1])
}

package report

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lambdac/lambdac/analyzer"
)

// errorChart draws the error rate over the offered load: levels with their
// intervals, the published curve, and the interval of λc as a band.
func errorChart(a *analyzer.Analysis, f *figure) {
	f.X.Label.Text, f.Y.Label.Text = loadLabel(a), "error rate, %"
	var levels, unjudged points
	for i := range a.Levels {
		l := &a.Levels[i]
		to := &levels
		if !l.Judged {
			to = &unjudged
		}
		if e := l.ErrorRate; e.Point != nil && e.Low != nil && e.High != nil {
			to.add(l.OfferedPerS, *e.Point*100, *e.Low*100, *e.High*100)
		}
	}
	top := max(levels.top(), unjudged.top(), 0.95) * 1.05
	f.critical(a, top)
	if len(a.Curve) > 1 {
		curve := make(plotter.XYs, 0, len(a.Curve))
		for _, c := range a.Curve {
			curve = append(curve, plotter.XY{X: c.OfferedPerS, Y: c.ErrorRate * 100})
		}
		f.line(curve, f.theme.second, nil, "fitted "+familyName(a))
	}
	f.levels(&levels, f.theme.first, "measured, 95 %")
	f.levels(&unjudged, f.theme.dim, "not judged")
	f.Y.Min, f.Y.Max = 0, top
}

// latencyChart draws the time to first token over the offered load, with a
// logarithmic scale, and the objectives on it.
func latencyChart(a *analyzer.Analysis, f *figure) {
	f.X.Label.Text, f.Y.Label.Text = loadLabel(a), "time to first token, ms (log)"
	var p50, p99, open points
	for i := range a.Levels {
		l, t := &a.Levels[i], &a.Levels[i].TTFTUserUs
		if t.P50 != nil && *t.P50 > 0 {
			v := *t.P50 / 1000
			p50.add(l.OfferedPerS, v, v, v)
		}
		low, high := t.P99Low, t.P99High
		bounded := low != nil && *low > 0 && high != nil
		switch {
		case t.P99 != nil && *t.P99 > 0 && bounded:
			p99.add(l.OfferedPerS, *t.P99/1000, *low/1000, *high/1000)
		case t.P99 != nil && *t.P99 > 0:
			p99.add(l.OfferedPerS, *t.P99/1000, *t.P99/1000, *t.P99/1000)
		case bounded:
			open.add(l.OfferedPerS, *low/1000, *low/1000, *high/1000)
		}
	}
	if len(p50.XYs)+len(p99.XYs)+len(open.XYs) == 0 {
		return
	}
	f.Y.Scale, f.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	f.levels(&p50, f.theme.third, "p50")
	f.levels(&p99, f.theme.second, "p99, 95 %")
	f.intervals(&open, f.theme.second, "p99, interval only")
	f.objectives(a)
	f.Y.Min, f.Y.Max = f.Y.Min/1.2, f.Y.Max*1.2
}

// objectives draws those on the time to first token as lines.
func (f *figure) objectives(a *analyzer.Analysis) {
	for i := range a.Objectives {
		slo := a.Objectives[i].SLO
		if slo == nil {
			continue
		}
		o, err := analyzer.ParseObjective(*slo)
		if err != nil || o.Metric != "ttft_user" {
			continue
		}
		ms := o.Max.Seconds() * 1000
		f.line(plotter.XYs{{X: f.X.Min, Y: ms}, {X: f.X.Max, Y: ms}}, f.theme.first, dashes(), *slo)
	}
}

// goodputChart draws what of the offered load was answered well.
func goodputChart(a *analyzer.Analysis, f *figure) {
	f.X.Label.Text, f.Y.Label.Text = loadLabel(a), "goodput, answers/s"
	var good points
	for i := range a.Levels {
		if l := &a.Levels[i]; l.Judged && l.GoodputPerS != nil {
			good.add(l.OfferedPerS, *l.GoodputPerS, *l.GoodputPerS, *l.GoodputPerS)
		}
	}
	if len(good.XYs) == 0 {
		return
	}
	top := good.top() * 1.08
	f.critical(a, top)
	if last := min(good.XYs[len(good.XYs)-1].X, top); a.Run.Loop != "closed" {
		f.line(plotter.XYs{{X: good.XYs[0].X, Y: good.XYs[0].X}, {X: last, Y: last}}, f.theme.dim, dashes(), "all that is offered")
	}
	f.levels(&good, f.theme.third, "met every objective")
	f.Y.Min, f.Y.Max = 0, max(top, 1e-9)
}

// loadLabel names the load, which in a closed loop is a number in flight.
func loadLabel(a *analyzer.Analysis) string {
	if a.Run.Loop == "closed" {
		return "requests in flight"
	}
	return "offered load, requests/s"
}

func familyName(a *analyzer.Analysis) string {
	if a.LambdaC.Family == nil {
		return "curve"
	}
	return *a.LambdaC.Family
}

// critical shades the closed interval of λc up to the height top, data units,
// and marks λc and today's peak.
func (f *figure) critical(a *analyzer.Analysis, top float64) {
	c := &a.LambdaC
	if c.Low != nil && c.High != nil {
		band, err := plotter.NewPolygon(plotter.XYs{{X: *c.Low}, {X: *c.Low, Y: top}, {X: *c.High, Y: top}, {X: *c.High}})
		if f.failed(err) {
			return
		}
		band.Color, band.LineStyle.Width = f.theme.band, 0
		f.Add(band)
		f.keys = append(f.keys, key{"λc, 95 %", band})
	}
	if c.Point != nil {
		f.line(plotter.XYs{{X: *c.Point}, {X: *c.Point, Y: top}}, f.theme.second, nil, "")
	}
	if peak := a.Headroom.RecordedPeakPerS; peak != nil && a.Run.Loop != "closed" {
		f.line(plotter.XYs{{X: *peak}, {X: *peak, Y: top}}, f.theme.dim, dashes(), "today's peak")
	}
}

func dashes() []vg.Length { return []vg.Length{vg.Points(4), vg.Points(3)} }

func (f *figure) failed(err error) bool {
	if err != nil && f.err == nil {
		f.err = err
	}
	return err != nil
}

// points are measured values with their intervals.
type points struct {
	plotter.XYs
	plotter.YErrors
}

func (p *points) add(x, y, low, high float64) {
	p.XYs = append(p.XYs, plotter.XY{X: x, Y: y})
	p.YErrors = append(p.YErrors, struct{ Low, High float64 }{y - low, high - y})
}

func (p *points) top() float64 {
	top := 0.0
	for i, xy := range p.XYs {
		top = max(top, xy.Y+p.YErrors[i].High)
	}
	return top
}

// levels draws points with their intervals.
func (f *figure) levels(p *points, c color.Color, name string) {
	if len(p.XYs) == 0 {
		return
	}
	dots, err := plotter.NewScatter(p.XYs)
	if f.failed(err) {
		return
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
	f.intervals(p, c, "")
	f.Add(dots)
	f.keys = append(f.keys, key{name, dots})
}

// intervals draws intervals alone.
func (f *figure) intervals(p *points, c color.Color, name string) {
	if len(p.XYs) == 0 {
		return
	}
	bars, err := plotter.NewYErrorBars(p)
	if f.failed(err) {
		return
	}
	bars.Color = c
	f.Add(bars)
	f.drawn = true
	if name != "" {
		f.keys = append(f.keys, key{name, upright{bars.LineStyle}})
	}
}

// upright stands for an interval.
type upright struct{ draw.LineStyle }

func (u upright) Thumbnail(c *draw.Canvas) {
	x := c.Center().X
	c.StrokeLine2(u.LineStyle, x, c.Min.Y, x, c.Max.Y)
}

// line draws a curve; without a name it has no key.
func (f *figure) line(xys plotter.XYs, c color.Color, dashes []vg.Length, name string) {
	line, err := plotter.NewLine(xys)
	if f.failed(err) {
		return
	}
	line.Color, line.Width, line.Dashes = c, vg.Points(1.4), dashes
	f.Add(line)
	if name != "" {
		f.keys = append(f.keys, key{name, line})
	}
}

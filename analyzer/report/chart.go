package report

import (
	"bytes"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/lambdac/lambdac/analyzer"
)

// theme is a set of colours. Charts are drawn once per theme, since an image
// cannot follow the reader's choice of light and dark by itself.
type theme struct {
	ink, faint, points, line, band, second color.Color
}

func lightTheme() theme {
	return theme{
		ink: color.RGBA{0x22, 0x26, 0x2b, 0xff}, faint: color.RGBA{0xdd, 0xe1, 0xe6, 0xff},
		points: color.RGBA{0x0b, 0x5c, 0xad, 0xff}, line: color.RGBA{0xb3, 0x47, 0x00, 0xff},
		band: color.NRGBA{0xb3, 0x47, 0x00, 0x30}, second: color.RGBA{0x1a, 0x7f, 0x37, 0xff},
	}
}

func darkTheme() theme {
	return theme{
		ink: color.RGBA{0xe6, 0xea, 0xef, 0xff}, faint: color.RGBA{0x3a, 0x41, 0x4a, 0xff},
		points: color.RGBA{0x6c, 0xb6, 0xff, 0xff}, line: color.RGBA{0xff, 0xa6, 0x57, 0xff},
		band: color.NRGBA{0xff, 0xa6, 0x57, 0x38}, second: color.RGBA{0x7e, 0xe7, 0x87, 0xff},
	}
}

const (
	chartWidth  = 7.6 * vg.Inch
	chartHeight = 3.6 * vg.Inch
)

// errorChart draws the error rate over the offered load: levels with their
// intervals, the published curve, and the interval of λc as a band.
func errorChart(a *analyzer.Analysis, th theme) (string, error) {
	p := newPlot(th, "offered load, requests/s", "error rate, %")
	var levels points
	var unjudged points
	for i := range a.Levels {
		l := &a.Levels[i]
		levels := &levels
		if !l.Judged {
			levels = &unjudged
		}
		if e := l.ErrorRate; e.Point != nil && e.Low != nil && e.High != nil {
			levels.add(l.OfferedPerS, *e.Point*100, *e.Low*100, *e.High*100)
		}
	}
	top := max(levels.top(), unjudged.top())
	if err := addBand(p, th, a.LambdaC.Low, a.LambdaC.High, top); err != nil {
		return "", err
	}
	if len(a.Curve) > 1 {
		curve := make(plotter.XYs, 0, len(a.Curve))
		for _, c := range a.Curve {
			curve = append(curve, plotter.XY{X: c.OfferedPerS, Y: c.ErrorRate * 100})
		}
		if err := addLine(p, curve, th.line, "fitted "+familyName(a)); err != nil {
			return "", err
		}
	}
	if err := addLevels(p, &levels, th.points, "measured, 95 %"); err != nil {
		return "", err
	}
	if err := addLevels(p, &unjudged, th.faint, "not judged"); err != nil {
		return "", err
	}
	p.Y.Min = 0
	p.Y.Max = max(top*1.05, 1)
	return svg(p)
}

// latencyChart draws the time to first token over the offered load, with a
// logarithmic scale.
func latencyChart(a *analyzer.Analysis, th theme) (string, error) {
	p := newPlot(th, "offered load, requests/s", "TTFT from schedule, ms (log)")
	var p50, p99 points
	for i := range a.Levels {
		l, t := &a.Levels[i], &a.Levels[i].TTFTUserUs
		if t.P50 != nil && *t.P50 > 0 {
			v := *t.P50 / 1000
			p50.add(l.OfferedPerS, v, v, v)
		}
		if t.P99 != nil && *t.P99 > 0 {
			v := *t.P99 / 1000
			low, high := v, v
			if t.P99Low != nil && *t.P99Low > 0 && t.P99High != nil {
				low, high = *t.P99Low/1000, *t.P99High/1000
			}
			p99.add(l.OfferedPerS, v, low, high)
		}
	}
	if len(p50.XYs)+len(p99.XYs) == 0 {
		return "", nil
	}
	if err := addLevels(p, &p99, th.line, "p99, 95 %"); err != nil {
		return "", err
	}
	if err := addLevels(p, &p50, th.second, "p50"); err != nil {
		return "", err
	}
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = plot.LogTicks{Prec: -1}
	return svg(p)
}

func newPlot(th theme, x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil // the page shows through
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color, axis.Tick.Color = th.ink, th.ink
		axis.Label.TextStyle.Color, axis.Tick.Label.Color = th.ink, th.ink
	}
	p.Legend.TextStyle.Color = th.ink
	p.Legend.Top, p.Legend.Left = true, true
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = th.faint, th.faint
	p.Add(grid)
	return p
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

func addLevels(p *plot.Plot, values *points, c color.Color, name string) error {
	if len(values.XYs) == 0 {
		return nil
	}
	bars, err := plotter.NewYErrorBars(values)
	if err != nil {
		return fmt.Errorf("draw intervals: %w", err)
	}
	bars.Color = c
	dots, err := plotter.NewScatter(values.XYs)
	if err != nil {
		return fmt.Errorf("draw levels: %w", err)
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
	p.Add(bars, dots)
	p.Legend.Add(name, dots)
	return nil
}

func addLine(p *plot.Plot, xys plotter.XYs, c color.Color, name string) error {
	line, err := plotter.NewLine(xys)
	if err != nil {
		return fmt.Errorf("draw curve: %w", err)
	}
	line.Color, line.Width = c, vg.Points(1.6)
	p.Add(line)
	p.Legend.Add(name, line)
	return nil
}

// addBand shades the closed interval of λc up to the height top, data units.
func addBand(p *plot.Plot, th theme, low, high *float64, top float64) error {
	if low == nil || high == nil {
		return nil
	}
	height := max(top*1.05, 1)
	band, err := plotter.NewPolygon(plotter.XYs{{X: *low}, {X: *low, Y: height}, {X: *high, Y: height}, {X: *high}})
	if err != nil {
		return fmt.Errorf("draw interval of λc: %w", err)
	}
	band.Color, band.LineStyle.Width = th.band, 0
	p.Add(band)
	p.Legend.Add("λc, 95 %", band)
	return nil
}

func familyName(a *analyzer.Analysis) string {
	if a.LambdaC.Family == nil {
		return "curve"
	}
	return *a.LambdaC.Family
}

func svg(p *plot.Plot) (string, error) {
	// Room for the last tick's label.
	p.X.Max += (p.X.Max - p.X.Min) * 0.03
	canvas := vgsvg.New(chartWidth, chartHeight)
	p.Draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", fmt.Errorf("write chart: %w", err)
	}
	// Inside HTML an SVG starts at its element: no XML declaration.
	text := b.Bytes()
	if i := bytes.Index(text, []byte("<svg")); i > 0 {
		text = text[i:]
	}
	return string(text), nil
}

package report

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/lambdac/lambdac/analyzer"
)

// theme is a set of colours. Charts are drawn once per theme, since an image
// cannot follow the reader's choice of light and dark by itself.
type theme struct {
	ink, dim, faint, first, second, third, band color.Color
}

func lightTheme() theme {
	return theme{
		ink: color.RGBA{0x22, 0x26, 0x2b, 0xff}, dim: color.RGBA{0x7a, 0x83, 0x8f, 0xff}, faint: color.RGBA{0xe4, 0xe8, 0xec, 0xff},
		first: color.RGBA{0x0b, 0x5c, 0xad, 0xff}, second: color.RGBA{0xb3, 0x47, 0x00, 0xff}, third: color.RGBA{0x1a, 0x7f, 0x37, 0xff},
		band: color.NRGBA{0xb3, 0x47, 0x00, 0x26},
	}
}

func darkTheme() theme {
	return theme{
		ink: color.RGBA{0xe6, 0xea, 0xef, 0xff}, dim: color.RGBA{0x8b, 0x95, 0xa1, 0xff}, faint: color.RGBA{0x2b, 0x31, 0x39, 0xff},
		first: color.RGBA{0x6c, 0xb6, 0xff, 0xff}, second: color.RGBA{0xff, 0xa6, 0x57, 0xff}, third: color.RGBA{0x7e, 0xe7, 0x87, 0xff},
		band: color.NRGBA{0xff, 0xa6, 0x57, 0x30},
	}
}

const (
	chartWidth  = 8 * vg.Inch
	chartHeight = 3.9 * vg.Inch
	fontSize    = 9
	keyHeight   = 20 // of the row of names above a chart, points
	// chartDPI makes a PNG of 1,600 points, enough for a slide.
	chartDPI = 200
)

// Chart is one figure of the report.
type Chart struct {
	// Name is that of its file, without an ending.
	Name         string
	Title, About string

	draw func(*analyzer.Analysis, *figure)
	of   *analyzer.Analysis
}

// Charts are the figures that the analysis has data for.
func Charts(a *analyzer.Analysis) []Chart {
	var out []Chart
	for _, c := range []Chart{
		{Name: "errors", Title: "Errors over load", About: "Share of offered requests that failed or were refused, per level, with its 95 % interval; the fitted curve; the interval of λc.", draw: errorChart},
		{Name: "latency", Title: "Latency over load", About: "Time to the first token from the scheduled send, answered requests only; p99 with its 95 % order-statistic interval, which needs fewer requests than the point.", draw: latencyChart},
		{Name: "goodput", Title: "Goodput over load", About: "Answers per second that met every objective; on the dotted line all that was offered is.", draw: goodputChart},
	} {
		f := newFigure(lightTheme())
		c.draw(a, f)
		if f.drawn {
			c.of = a
			out = append(out, c)
		}
	}
	return out
}

// SVG writes the chart as a vector image, in light colours.
func (c Chart) SVG(w io.Writer) error {
	text, err := c.svg(lightTheme())
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err != nil {
		return fmt.Errorf("write chart %s: %w", c.Name, err)
	}
	return nil
}

// PNG writes the chart as an image on white.
func (c Chart) PNG(w io.Writer) error {
	f := newFigure(lightTheme())
	c.draw(c.of, f)
	canvas := vgimg.NewWith(vgimg.UseWH(chartWidth, chartHeight), vgimg.UseDPI(chartDPI))
	if err := f.drawOn(draw.New(canvas)); err != nil {
		return fmt.Errorf("draw chart %s: %w", c.Name, err)
	}
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(w); err != nil {
		return fmt.Errorf("write chart %s: %w", c.Name, err)
	}
	return nil
}

// svg is the chart as an element of a page: without an XML declaration.
func (c Chart) svg(th theme) (string, error) {
	f := newFigure(th)
	c.draw(c.of, f)
	canvas := vgsvg.New(chartWidth, chartHeight)
	if err := f.drawOn(draw.New(canvas)); err != nil {
		return "", err
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", err
	}
	text := b.Bytes()
	if i := bytes.Index(text, []byte("<svg")); i > 0 {
		text = text[i:]
	}
	return string(text), nil
}

// figure is a plot with the row of names above it.
type figure struct {
	*plot.Plot

	theme theme
	keys  []key
	// drawn: there is something to see.
	drawn bool
	err   error
}

// key is one name with what stands for it.
type key struct {
	name  string
	thumb plot.Thumbnailer
}

func newFigure(th theme) *figure {
	f := &figure{Plot: plot.New(), theme: th}
	f.BackgroundColor = nil // the page shows through
	for _, axis := range []*plot.Axis{&f.X, &f.Y} {
		axis.Color, axis.Tick.Color = th.dim, th.dim
		axis.Label.TextStyle, axis.Tick.Label = restyled(axis.Label.TextStyle, th.ink), restyled(axis.Tick.Label, th.ink)
		axis.Tick.Marker = plot.TickerFunc(niceTicks)
		axis.Label.Padding = vg.Points(4)
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = th.faint, th.faint
	f.Add(grid)
	return f
}

func restyled(s text.Style, c color.Color) text.Style {
	s.Color = c
	s.Font = font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, fontSize)
	return s
}

// niceTicks are five to ten ticks at 1, 2 or 5 times a power of ten.
func niceTicks(low, high float64) []plot.Tick {
	if !(high > low) {
		return nil
	}
	step := math.Pow10(int(math.Floor(math.Log10((high - low) / 5))))
	for _, by := range []float64{5, 2} {
		if (high-low)/(step*by) >= 5 {
			step *= by
			break
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9 && len(ticks) < 20; i++ {
		v := i*step + 0 // no negative zero
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)})
	}
	return ticks
}

// logTicks are ticks at 1, 2 and 5 times powers of ten.
func logTicks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(low)); e <= math.Log10(high) && len(ticks) < 40; e++ {
		for _, by := range []float64{1, 2, 5} {
			if v := by * math.Pow10(int(e)); v >= low && v <= high {
				ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)})
			}
		}
	}
	return ticks
}

// drawOn draws plot and names.
func (f *figure) drawOn(c draw.Canvas) error {
	if f.err != nil {
		return f.err
	}
	f.X.Max += (f.X.Max - f.X.Min) * 0.03 // room for the last tick's label
	style := restyled(f.X.Label.TextStyle, f.theme.ink)
	style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
	at, middle := c.Min.X+vg.Points(40), c.Max.Y-vg.Points(keyHeight/2)
	for _, k := range f.keys {
		box := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: at, Y: middle - vg.Points(5)}, Max: vg.Point{X: at + vg.Points(18), Y: middle + vg.Points(5)},
		}}
		k.thumb.Thumbnail(&box)
		c.FillText(style, vg.Point{X: box.Max.X + vg.Points(4), Y: middle}, k.name)
		at = box.Max.X + style.Width(k.name) + vg.Points(26)
	}
	f.Draw(draw.Crop(c, vg.Points(4), -vg.Points(8), vg.Points(4), -vg.Points(keyHeight)))
	return nil
}

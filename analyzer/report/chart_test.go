package report

import (
	"bytes"
	"image/png"
	"testing"

	"gonum.org/v1/plot"

	"github.com/google/go-cmp/cmp"
)

// TestPNG: an image of the size of a slide that is neither empty nor all ink.
func TestPNG(t *testing.T) {
	for _, c := range Charts(wholeRun()) {
		var b bytes.Buffer
		if err := c.PNG(&b); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		size := img.Bounds().Size()
		inked := 0
		for y := range size.Y {
			for x := range size.X {
				if r, g, b, _ := img.At(x, y).RGBA(); r&g&b < 0xf000 {
					inked++
				}
			}
		}
		if share := float64(inked) / float64(size.X*size.Y); size.X != 1600 || size.Y != 780 || share < 0.01 || share > 0.5 {
			t.Errorf("%s: %v, %.3f of it drawn on", c.Name, size, share)
		}
	}
}

func TestTicks(t *testing.T) {
	labels := func(ticks []plot.Tick) (out []string) {
		for _, tick := range ticks {
			out = append(out, tick.Label)
		}
		return out
	}
	rows := []struct {
		name      string
		of        plot.TickerFunc
		low, high float64
		want      []string
	}{
		{"from zero", niceTicks, 0, 45, []string{"0", "5", "10", "15", "20", "25", "30", "35", "40", "45"}},
		{"below zero", niceTicks, -0.2, 0.8, []string{"-0.2", "0", "0.2", "0.4", "0.6", "0.8"}},
		{"one value", niceTicks, 5, 5, nil},
		{"decades", logTicks, 3, 400, []string{"5", "10", "20", "50", "100", "200"}},
		{"within one", logTicks, 11, 19, nil},
	}
	for _, row := range rows {
		if diff := cmp.Diff(row.want, labels(row.of(row.low, row.high))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

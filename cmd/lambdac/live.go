package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lambdac/lambdac/replayer"
)

// liveView shows a replay on a terminal: a few lines that are drawn anew with
// each report. Levels that are done scroll away above it.
type liveView struct {
	program *tea.Program
	done    chan struct{}
}

// startLive draws on stderr until close is called. It reads no keys and takes
// no signals: Ctrl-C stays with the command.
func startLive(total func(replayer.Progress) time.Duration) *liveView {
	v := &liveView{done: make(chan struct{})}
	v.program = tea.NewProgram(&liveModel{total: total},
		tea.WithOutput(os.Stderr), tea.WithInput(nil), tea.WithoutSignalHandler(), tea.WithFPS(10))
	go func() {
		defer close(v.done)
		_, _ = v.program.Run() // what it cannot draw is in the run directory
	}()
	return v
}

func (v *liveView) show(p replayer.Progress) { v.program.Send(p) }

// close takes the view off the screen.
func (v *liveView) close() {
	v.program.Send(liveEnd{})
	<-v.done
}

// liveEnd empties the view and ends it.
type liveEnd struct{}

// sparkWidth is the number of reports, one a second, that a line of bars holds.
const sparkWidth = 40

// liveModel is what the view shows; it changes with each report only.
type liveModel struct {
	total  func(replayer.Progress) time.Duration // time left of all levels
	last   replayer.Progress
	ttfts  []float64 // ms, newest last; −1 where nothing was answered
	errors []float64 // share of what ended
	closed bool
}

// Init implements tea.Model.
func (m *liveModel) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m *liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case liveEnd:
		m.closed = true
		return m, tea.Quit
	case replayer.Progress:
		if msg.Done {
			m.ttfts, m.errors = nil, nil
			return m, tea.Println(levelLine(msg))
		}
		m.take(msg)
	}
	return m, nil
}

func (m *liveModel) take(p replayer.Progress) {
	m.last = p
	ttft, share := -1.0, -1.0
	if p.TTFTUs != nil {
		ttft = float64(*p.TTFTUs) / 1000
	}
	if n := p.Failed + p.Answered; n > 0 {
		share = float64(p.Failed) / float64(n)
	}
	m.ttfts, m.errors = keepLast(m.ttfts, ttft), keepLast(m.errors, share)
}

func keepLast(s []float64, v float64) []float64 {
	s = append(s, v)
	return s[max(0, len(s)-sparkWidth):]
}

// View implements tea.Model.
func (m *liveModel) View() tea.View {
	if m.closed || m.last.Scheduled == 0 {
		return tea.NewView("")
	}
	return tea.NewView(m.text())
}

func (m *liveModel) text() string {
	p := &m.last
	if p.Priming {
		return primingLine(*p) + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "level %d/%s   %d of %d requests ended   %s left\n",
		p.LevelsDone+1, levels(p.Levels), p.Finished, p.Scheduled, m.total(*p).Round(time.Second))
	sent := "–"
	if s := p.Elapsed.Seconds(); s > 0 {
		sent = fmt.Sprintf("%.4g/s", float64(p.Sent)/s)
	}
	fmt.Fprintf(&b, "offered %.4g/s   sent %s   in flight %d   errors %d   sheds %d\n",
		p.Level.OfferedPerS, sent, p.InFlight, p.Errors, p.Sheds)
	fmt.Fprintf(&b, "TTFT p50  %8s  %s\n", lastOf(m.ttfts, "%.0f ms", 1), sparkline(m.ttfts, 0))
	fmt.Fprintf(&b, "failed    %8s  %s\n", lastOf(m.errors, "%.1f %%", 100), sparkline(m.errors, 1))
	if p.MaxCost > 0 {
		fmt.Fprintf(&b, "cost      %.4g of %.4g\n", p.Cost, p.MaxCost)
	}
	if p.Budget > 0 {
		fmt.Fprintf(&b, "tokens    %d of %d\n", p.Tokens, p.Budget)
	}
	return b.String()
}

// lastOf is the newest value that is known.
func lastOf(s []float64, format string, scale float64) string {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] >= 0 {
			return fmt.Sprintf(format, s[i]*scale)
		}
	}
	return "–"
}

// sparkline draws values from 0 to top, or to the highest where top is 0, as
// bars; a value that is not known is a blank.
func sparkline(s []float64, top float64) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	if top == 0 {
		for _, v := range s {
			top = max(top, v)
		}
	}
	var b strings.Builder
	for _, v := range s {
		switch {
		case v < 0:
			b.WriteRune(' ')
		case top <= 0:
			b.WriteRune(bars[0])
		default:
			b.WriteRune(bars[min(int(v/top*float64(len(bars))), len(bars)-1)])
		}
	}
	return b.String()
}

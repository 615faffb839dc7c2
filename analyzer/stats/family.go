package stats

import (
	"fmt"
	"math"
)

// Shape is a family of error curves.
type Shape uint8

const (
	// ShapeConst: ε = ε0.
	ShapeConst Shape = iota
	// ShapeLogLinear: log ε = a + bλ, b ≥ 0.
	ShapeLogLinear
	// ShapeOnset: see [Onset].
	ShapeOnset
	// ShapeStep: one rate below and one above a jump between two levels.
	ShapeStep
	// ShapeLogistic: ε0 + (1−ε0) ÷ (1 + e^(−(λ−μ)/s)).
	ShapeLogistic
	// ShapeShed: ε0 + (1−ε0)·(1 − c/λ)₊.
	ShapeShed
	// ShapeQueue: ε0 + (1−ε0)·[QueueBlocking](λ/c, K).
	ShapeQueue
	// ShapeLoss: ε0 + (1−ε0)·[LossBlocking](K·λ/c, K).
	ShapeLoss
)

// Shapes are those that every error rate is compared with. A loss system is none
// of them: where a short queue is true it fits as well, with a capacity that is a
// few percent too high.
var Shapes = []Shape{ShapeConst, ShapeLogLinear, ShapeOnset, ShapeStep, ShapeLogistic, ShapeShed, ShapeQueue}

var shapeNames = [...]string{"const", "loglinear", "onset", "step", "logistic", "shed", "queue", "loss"}

// String returns the shape's name as in analysis.json.
func (s Shape) String() string { return shapeNames[s] }

// parameters counts what is fitted.
func (s Shape) parameters() float64 { return [...]float64{1, 2, 3, 3, 3, 2, 3, 3}[s] }

// Model is one fitted shape.
type Model struct {
	Shape Shape
	// Link is that of an onset or loglinear model.
	Link Link
	// Epsilon0 is the rate at low load.
	Epsilon0 float64
	// Lambda is λc (onset, step: the middle of the jump), the capacity (shed,
	// queue, loss) or the midpoint (logistic); NaN for const and loglinear.
	Lambda float64
	// Width is Δ (onset), s (logistic), or K (queue, loss); NaN elsewhere.
	Width float64
	// Top is the rate above the jump of a step.
	Top              float64
	LogLik, Deviance float64
	a, b             float64
}

// Rate returns ε(λ), λ > 0.
func (m Model) Rate(lambda float64) float64 {
	switch m.Shape {
	case ShapeLogLinear, ShapeOnset:
		from := m.Lambda
		if m.Shape == ShapeLogLinear {
			from = 0
		}
		p, _, _ := m.Link.inverse(m.a + m.b*max(0, lambda-from))
		return p
	case ShapeStep:
		if lambda > m.Lambda {
			return m.Top
		}
		return m.Epsilon0
	case ShapeLogistic:
		return floorRate(logisticShape(lambda, m.Lambda, m.Width), m.Epsilon0)
	case ShapeShed:
		return floorRate(ShedShape(lambda, m.Lambda), m.Epsilon0)
	case ShapeQueue:
		return floorRate(QueueBlocking(lambda/m.Lambda, m.Width), m.Epsilon0)
	case ShapeLoss:
		return floorRate(LossBlocking(lambda/m.Lambda*m.Width, m.Width), m.Epsilon0)
	default:
		return m.Epsilon0
	}
}

// Rates are the fitted rates at the levels.
func (m Model) Rates(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = m.Rate(x)
	}
	return out
}

// Crossing returns the lowest load in [low, high] at which the rate reaches
// share; ok is false where it is reached at none, or at low already.
func (m Model) Crossing(share, low, high float64) (at float64, ok bool) {
	if m.Rate(low) >= share || m.Rate(high) < share {
		return 0, false
	}
	for high-low > 1e-9*high {
		if middle := (low + high) / 2; m.Rate(middle) >= share {
			high = middle
		} else {
			low = middle
		}
	}
	return high, true
}

// Pearson is Pearson's X² of the counts under the model, and DF its residual
// degrees of freedom, at least 1.
func (m Model) Pearson(c Counts) (x2, df float64) {
	return c.pearson(m.Rates(c.X)), max(1, float64(len(c.X))-m.Shape.parameters())
}

// AICc is the small-sample criterion with the number of levels as n, on the
// likelihood deflated by the dispersion φ ≥ 1 (Burnham & Anderson 2002, §2.5):
//
//	−2ℓ/φ + 2p + 2p(p+1) ÷ (m − p − 1)
//
// +Inf where m ≤ p + 1.
func (m Model) AICc(levels int, dispersion float64) float64 {
	p := m.Shape.parameters()
	room := float64(levels) - p - 1
	if room <= 0 {
		return math.Inf(1)
	}
	return -2*m.LogLik/dispersion + 2*p + 2*p*(p+1)/room
}

// FitShape fits one shape to at least four levels of positive load. Errors
// match [ErrInput].
func FitShape(c Counts, s Shape) (Model, error) {
	if err := c.Check(); err != nil {
		return Model{}, err
	}
	if len(c.X) < 4 || !(c.X[0] > 0) {
		return Model{}, fmt.Errorf("fit %v: %w: needs 4 levels of positive load", s, ErrInput)
	}
	m := fitters[s](c)
	m.Shape = s
	m.Deviance = max(0, 2*(c.saturated()-m.LogLik))
	return m, nil
}

var fitters = [...]func(Counts) Model{fitConst, fitLogLinear, fitOnset, fitStep, fitLogistic, fitShed, fitQueue, fitLoss}

func fitConst(c Counts) Model {
	p := c.Failures() / sum(c.N)
	return Model{
		Epsilon0: p, Lambda: math.NaN(), Width: math.NaN(),
		LogLik: binomialLogLik(c.Failures(), sum(c.N), p),
	}
}

func fitLogLinear(c Counts) Model {
	fit := newHinge(c, LinkLog).at(0)
	p, _, _ := LinkLog.inverse(fit.a)
	return Model{
		Epsilon0: p, Lambda: math.NaN(), Width: math.NaN(), Link: LinkLog,
		LogLik: fit.logLik, a: fit.a, b: fit.b,
	}
}

func fitOnset(c Counts) Model {
	best := Model{LogLik: math.Inf(-1)}
	for _, l := range Links {
		h := newHinge(c, l)
		lambda, top := h.profile(4).peak()
		if top <= best.LogLik {
			continue
		}
		fit := h.at(lambda)
		p, _, _ := l.inverse(fit.a)
		best = Model{Link: l, Epsilon0: p, Lambda: lambda, Width: 1 / fit.b, LogLik: top, a: fit.a, b: fit.b}
	}
	return best
}

func fitStep(c Counts) Model {
	best := Model{LogLik: math.Inf(-1), Width: math.NaN()}
	total, trials := c.Failures(), sum(c.N)
	k, n := 0.0, 0.0
	for i := range len(c.X) - 1 {
		k, n = k+c.K[i], n+c.N[i]
		low, high := k/n, (total-k)/(trials-n)
		ll := binomialLogLik(k, n, low) + binomialLogLik(total-k, trials-n, high)
		if high >= low && ll > best.LogLik {
			best.Epsilon0, best.Top, best.LogLik = low, high, ll
			best.Lambda = (c.X[i] + c.X[i+1]) / 2
		}
	}
	if math.IsInf(best.LogLik, -1) { // errors only fall with load
		best = fitConst(c)
		best.Lambda, best.Top = c.X[len(c.X)-1], best.Epsilon0
	}
	return best
}

// HasCapacity reports whether the shape's λc is a capacity.
func (s Shape) HasCapacity() bool { return s == ShapeShed || s == ShapeQueue || s == ShapeLoss }

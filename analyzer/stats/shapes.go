package stats

import "math"

// ShedShape is the share that a server of capacity c refuses if it serves c
// and refuses the rest: (1 − c/λ)₊.
func ShedShape(lambda, capacity float64) float64 { return max(0, 1-capacity/lambda) }

// QueueBlocking is the share of arrivals lost by an M/M/1/K queue, K ≥ 1 real,
// at ρ = λ/c > 0:
//
//	(1 − ρ)·ρ^K ÷ (1 − ρ^(K+1)), and 1/(K+1) at ρ = 1
//
// computed from expm1 so that it keeps its digits near ρ = 1 and does not
// overflow. Source: Gross & Harris, Fundamentals of Queueing Theory, §2.5.
func QueueBlocking(rho, k float64) float64 {
	l := math.Log(rho)
	switch {
	case math.Abs(l)*(k+1) < 1e-9:
		return 1 / (k + 1)
	case l > 0:
		return math.Expm1(-l) / math.Expm1(-(k+1)*l)
	default:
		return math.Exp(k*l) * math.Expm1(l) / math.Expm1((k+1)*l)
	}
}

// logisticShape is 1 ÷ (1 + e^(−(λ−μ)/s)).
func logisticShape(lambda, mu, s float64) float64 { return 1 / (1 + math.Exp(-(lambda-mu)/s)) }

package stats

// LossBlocking is the share of arrivals lost by a service of c > 0 places and
// no waiting room that is offered a > 0 erlangs (Erlang's loss formula, exact
// for service times of any law):
//
//	1 ÷ B = 1 + c/a + c(c−1)/a² + … + c!/aᶜ
//
// Between whole numbers of places the factors of the sum end at 0, which makes it
// continuous in c. Below 1e-15 the result is 0. Source: Erlang 1917; Gross &
// Harris, Fundamentals of Queueing Theory, §2.6.
func LossBlocking(a, c float64) float64 {
	sum, term := 1.0, 1.0
	for left := c; left > 0; left-- {
		term *= left / a
		sum += term
		if sum > 1e15 {
			return 0
		}
		if left < a && term < 1e-15*sum {
			break
		}
	}
	return 1 / sum
}

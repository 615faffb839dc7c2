package twin

import "time"

// slowTenants is the share of tenants that are slow.
const slowTenants = 0.125

// attachSlowTenant makes a step with requests of a slow tenant last as long as
// two, since its adapter is swapped in: the others in the batch wait with it.
// Which tenants are slow is drawn by seed; a job without a tenant is one of its
// own.
func attachSlowTenant(e *Engine) {
	e.hooks.arrive = append(e.hooks.arrive, func(s *seq) {
		tenant := s.job.Tenant
		if tenant == 0 {
			tenant = s.job.ID
		}
		s.slow = unit(hashOf(hashOf(e.seed, streamTenant), tenant)) < slowTenants
	})
	e.hooks.delay = append(e.hooks.delay, func(length time.Duration) time.Duration {
		for _, s := range e.running {
			if s.slow {
				return length
			}
		}
		return 0
	})
}

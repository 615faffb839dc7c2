package twin

import "time"

// beginStep plans the next step: first the running sequences, then waiting
// ones while budget, batch and memory last. It leaves the engine idle if there
// is nothing to do.
func (e *Engine) beginStep() {
	plan := stepPlan{budget: e.p.TokenBudget}
	for i := 0; i < len(e.running); i++ { // preemption shortens it
		e.planRunning(&plan, e.running[i])
	}
	for !plan.preempted && len(e.running) < e.p.MaxRunning && plan.budget > 0 {
		if s := e.waiting.peek(); s == nil || !e.admit(&plan, s) {
			break
		}
	}
	if len(e.running) == 0 {
		return
	}
	work := time.Duration(plan.prefill)*e.p.PerPrefillToken + time.Duration(plan.sequences)*e.p.PerSequence
	length := e.p.StepFixed + work
	for _, delay := range e.hooks.delay {
		length += delay(length)
	}
	e.watch.step(e.now, length, work, e.p.StepFixed)
	e.stepEnd = e.now + max(int64(length), 1)
	e.stats.Steps++
	e.work += int64(plan.sequences)
	e.stats.BusyNs += e.stepEnd - e.now
}

// stepPlan is what a step has been filled with so far.
type stepPlan struct {
	budget    int // tokens left
	prefill   int // prompt tokens
	sequences int
	preempted bool
}

// planRunning gives a running sequence its part of the step. For want of
// memory the sequence admitted last is preempted, which may be s itself.
func (e *Engine) planRunning(plan *stepPlan, s *seq) {
	s.chunk = 0
	chunk := min(s.total()-s.computed, plan.budget)
	if chunk == 0 {
		return
	}
	for !e.grow(s, s.computed+chunk) {
		plan.preempted = true
		for range e.victims() {
			victim := e.running[len(e.running)-1]
			e.preempt(victim)
			if victim == s {
				return
			}
		}
	}
	e.schedule(plan, s, chunk)
}

func (e *Engine) schedule(plan *stepPlan, s *seq, chunk int) {
	s.chunk = chunk
	s.prefill = s.computed+1 < s.total() || s.made == 0
	plan.budget = max(plan.budget-chunk, 0)
	plan.sequences++
	if s.prefill {
		plan.prefill += chunk
	}
}

// grow makes sure that the sequence holds blocks for so many tokens.
func (e *Engine) grow(s *seq, tokens int) bool {
	want := (tokens+BlockTokens-1)/BlockTokens - len(s.shared) - s.private
	if want <= 0 {
		return true
	}
	if !e.kv.take(want) {
		return false
	}
	s.private += want
	return true
}

// blockade is why a sequence was not admitted: the memory that nobody held, the
// budget that was left, and the blocks shared so far. It waits until one of
// them is better, since looking up a long prompt in each step costs more than
// all else.
type blockade struct {
	set          bool
	room, budget int
	shares       int64
}

func (e *Engine) room() int { return e.kv.total - e.kv.inUse() }

func (e *Engine) stillBlocked(plan *stepPlan, s *seq) bool {
	b := &s.blocked
	return b.set && len(e.running) > 0 && e.room() <= b.room && plan.budget >= b.budget && e.kv.shares == b.shares
}

// admit takes the next waiting sequence into the batch, if it fits.
func (e *Engine) admit(plan *stepPlan, s *seq) bool {
	if e.stillBlocked(plan, s) {
		return false
	}
	e.findPrefix(s)
	rest := s.total() - len(s.shared)*BlockTokens
	chunk := min(rest, plan.budget)
	if !e.p.ChunkedPrefill && chunk < rest {
		if plan.prefill > 0 {
			e.release(s)
			return false
		}
		chunk = rest // longer than any budget: alone in its step
	}
	if !e.grow(s, len(s.shared)*BlockTokens+chunk) {
		e.release(s)
		s.blocked = blockade{set: true, room: e.room(), budget: plan.budget, shares: e.kv.shares}
		return false
	}
	s.blocked = blockade{}
	e.waiting.pop()
	if !e.memory.admit(e, s) {
		e.release(s)
		e.end(s, Event{Kind: Failed, Status: 500, Cause: OutOfMemory})
		e.recycle(s)
		return true
	}
	e.running = append(e.running, s)
	s.active = true
	s.computed = len(s.shared) * BlockTokens
	if !s.admitted {
		s.admitted = true
		e.countPrefix(s)
		e.tell(s, Event{Kind: Admitted, Cached: int32(s.computed)})
	}
	e.schedule(plan, s, chunk)
	return true
}

// findPrefix holds the cached blocks that the prompt starts with. One token
// at least is left to compute, since the first answer token comes of it.
func (e *Engine) findPrefix(s *seq) {
	if !e.p.PrefixCaching {
		return
	}
	for len(s.shared) < min(len(s.job.Blocks), (s.total()-1)/BlockTokens) {
		b := e.kv.hold(s.job.Blocks[len(s.shared)])
		if b == nil {
			return
		}
		s.shared = append(s.shared, b)
		e.work++
	}
}

func (e *Engine) countPrefix(s *seq) {
	if e.p.PrefixCaching {
		e.stats.PrefixQueries += int64(s.job.InputTokens)
		e.stats.PrefixHits += int64(s.computed)
	}
}

// sharePrefix offers the prompt blocks computed so far to others. A block
// whose content another sequence computed at the same time stays private, and
// so do those after it: shared blocks are the first of their sequence.
func (e *Engine) sharePrefix(s *seq) {
	if !e.p.PrefixCaching || s.noShare {
		return
	}
	for i := len(s.shared); i < len(s.job.Blocks) && (i+1)*BlockTokens <= min(s.computed, s.job.InputTokens); i++ {
		b := e.kv.share(s.job.Blocks[i])
		if b == nil {
			s.noShare = true
			return
		}
		s.private--
		s.shared = append(s.shared, b)
	}
}

// release gives back all blocks, the last first, so that the start of a prefix
// outlives its end.
func (e *Engine) release(s *seq) {
	e.kv.private -= s.private
	s.private = 0
	for i := len(s.shared) - 1; i >= 0; i-- {
		e.kv.drop(s.shared[i])
		s.shared[i] = nil
	}
	s.shared, s.noShare = s.shared[:0], false
	e.memory.release(s)
}

// preempt takes the last sequence out of the batch; its prompt and what it has
// generated will be computed again.
func (e *Engine) preempt(s *seq) {
	last := len(e.running) - 1
	e.running[last] = nil
	e.running = e.running[:last]
	e.release(s)
	s.computed, s.chunk, s.active = 0, 0, false
	e.stats.Preemptions++
	e.tell(s, Event{Kind: Preempted})
	switch {
	case s.dropped: // its client went away during the step
	case e.hooks.evict != nil:
		e.hooks.evict(s)
	default:
		e.waiting.pushFront(s)
	}
}

// victims is how many sequences are preempted at once for want of memory.
func (e *Engine) victims() int {
	if e.hooks.evict != nil {
		return (len(e.running) + 1) / 2
	}
	return 1
}

// endStep books what the step computed.
func (e *Engine) endStep() {
	e.stepEnd, e.idleAt = Never, e.now
	kept := e.running[:0]
	for _, s := range e.running {
		if e.serve(s) {
			kept = append(kept, s)
			continue
		}
		e.release(s)
		e.recycle(s)
	}
	clear(e.running[len(kept):])
	e.running = kept
}

// serve books the step for one sequence and reports whether it stays.
func (e *Engine) serve(s *seq) bool {
	if s.dropped {
		return false
	}
	if s.chunk == 0 {
		return true
	}
	s.computed += s.chunk
	if s.prefill {
		e.sharePrefix(s)
	}
	if s.computed < s.total() {
		return true
	}
	if s.made < s.job.OutputTokens {
		e.makeToken(s)
	} else { // nothing to generate
		e.stats.PromptTokens += int64(s.job.InputTokens)
	}
	if s.made < s.job.OutputTokens && (s.cutAt == 0 || s.made < s.cutAt) {
		return true
	}
	e.finish(s)
	return false
}

func (e *Engine) makeToken(s *seq) {
	kind := Token
	if s.made == 0 {
		kind = FirstToken
		e.stats.PromptTokens += int64(s.job.InputTokens)
		s.wrong = e.isWrong(s)
	}
	if !s.doomed && !e.quiet {
		e.tell(s, Event{Kind: kind, Token: int32(s.made), Wrong: s.wrong && kind == FirstToken})
	}
	s.made++
	e.stats.GeneratedTokens++
}

func (e *Engine) finish(s *seq) {
	if s.ended { // served for nobody
		return
	}
	if s.doomed {
		e.end(s, Event{Kind: Failed, Status: 500})
		return
	}
	if s.cutAt > 0 {
		e.end(s, Event{Kind: Cut, Token: int32(s.made)})
		return
	}
	e.end(s, Event{Kind: Done, Token: int32(s.made), Wrong: s.wrong})
}

// isWrong draws whether the answer is a wrong one, at its first token.
func (e *Engine) isWrong(s *seq) bool {
	rate := e.p.WrongRate
	if e.hooks.wrong != nil {
		rate += (1 - rate) * e.hooks.wrong()
	}
	return rate > 0 && unit(hashOf(hashOf(e.seed, streamWrong), s.job.ID)) < rate
}

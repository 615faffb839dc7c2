package twin

// queue holds the waiting sequences, first come first served; a preempted one
// goes to the front. Both ends are O(1).
type queue struct {
	front []*seq // a stack: the last is next
	back  []*seq
	head  int // of back
	n     int // without the dropped ones
}

func (q *queue) pushBack(s *seq) {
	q.back = append(q.back, s)
	q.n++
}

func (q *queue) pushFront(s *seq) {
	q.front = append(q.front, s)
	q.n++
}

// peek returns the next sequence, nil if none waits.
func (q *queue) peek() *seq {
	for {
		s := q.top()
		if s == nil || !s.dropped {
			return s
		}
		q.shift()
	}
}

// pop removes the sequence that peek returned.
func (q *queue) pop() {
	q.shift()
	q.n--
}

func (q *queue) top() *seq {
	if len(q.front) > 0 {
		return q.front[len(q.front)-1]
	}
	if q.head < len(q.back) {
		return q.back[q.head]
	}
	return nil
}

func (q *queue) shift() {
	if last := len(q.front) - 1; last >= 0 {
		q.front[last] = nil
		q.front = q.front[:last]
		return
	}
	q.back[q.head] = nil
	q.head++
	if q.head == len(q.back) {
		q.back, q.head = q.back[:0], 0
	} else if q.head > 1024 && q.head*2 > len(q.back) {
		n := copy(q.back, q.back[q.head:])
		clear(q.back[n:])
		q.back, q.head = q.back[:n], 0
	}
}

// due is something that comes from outside at a known time: an arrival (s set)
// or a cancel of a job.
type due struct {
	at    int64
	order uint64
	job   uint64
	s     *seq
}

// agenda is a binary heap of dues by time, then order of submission.
type agenda struct{ items []due }

func (a *agenda) less(i, j int) bool {
	x, y := &a.items[i], &a.items[j]
	return x.at < y.at || x.at == y.at && x.order < y.order
}

func (a *agenda) push(d due) {
	a.items = append(a.items, d)
	for i := len(a.items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !a.less(i, parent) {
			return
		}
		a.items[i], a.items[parent] = a.items[parent], a.items[i]
		i = parent
	}
}

func (a *agenda) pop() due {
	top, last := a.items[0], len(a.items)-1
	a.items[0], a.items[last] = a.items[last], due{}
	a.items = a.items[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && a.less(child+1, child) {
			child++
		}
		if !a.less(child, i) {
			return top
		}
		a.items[i], a.items[child] = a.items[child], a.items[i]
		i = child
	}
}

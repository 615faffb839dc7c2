package fault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// observer is a service that knows nothing of faults and writes down what it
// saw.
type observer struct {
	answer http.HandlerFunc

	mu   sync.Mutex
	seen map[string][]string // bodies by the number in the request
}

func (o *observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	o.mu.Lock()
	n := r.Header.Get("X-Number")
	o.seen[n] = append(o.seen[n], string(body))
	o.mu.Unlock()
	o.answer(w, r)
}

// sight is what a client saw of one request.
type sight struct {
	status int
	header http.Header
	body   string
	err    error
	took   time.Duration
	// by the service: the bodies that came.
	service []string
}

// serveProxy runs a proxy until the test ends.
func serveProxy(t testing.TB, target string, seed uint64, rules []Rule, flags ...string) (*Proxy, string) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProxy(t.Context(), ProxyConfig{Target: u, Faults: parseAll(t, flags...), Seed: seed, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return p, serving(t, p)
}

type server interface {
	Serve(ctx context.Context, ln net.Listener) error
}

func serving(t testing.TB, s server) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return "http://" + ln.Addr().String()
}

// look sends n numbered requests and returns what was seen of each.
func look(t *testing.T, o *observer, url string, n int, body func(i int) string) map[string]*sight {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	seen := make(map[string]*sight)
	var all sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			number := fmt.Sprint(i)
			s := ask(client, url, number, body(i))
			mu.Lock()
			seen[number] = s
			mu.Unlock()
		})
	}
	all.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	for number, s := range seen {
		s.service = o.seen[number]
	}
	o.seen = make(map[string][]string)
	return seen
}

func ask(client *http.Client, url, number, body string) *sight {
	req, _ := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	req.GetBody = nil // or net/http would send it again by itself
	req.Header.Set("X-Number", number)
	req.Header.Set("Content-Type", "application/json")
	start := time.Now()
	resp, err := client.Do(req)
	s := &sight{err: err}
	if err == nil {
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		s.status, s.header, s.body, s.err = resp.StatusCode, resp.Header, string(got), err
	}
	s.took = time.Since(start)
	return s
}

func chatBody(i int) string {
	return fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":"be short"},{"role":"user","content":"question %d about one two three four five six seven eight nine ten"}],"stream":true}`, i)
}

// events are 8 tokens, with finish reason, usage and end mark.
func events() (all []string) {
	for i := range 8 {
		all = append(all, fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"t%d\"}}]}\n\n", i))
	}
	return append(all,
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":8}}\n\n", "data: [DONE]\n\n")
}

func streamEvents(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events() {
		_, _ = io.WriteString(w, e)
		w.(http.Flusher).Flush()
	}
}

// wireCase is one fault and what a client and the service see of it.
type wireCase struct {
	fault string
	// by is the least time that a faulted exchange takes; 0 = time tells nothing.
	by    time.Duration
	check func(s *sight) string // "" = as it should be
}

const ms = time.Millisecond

// wire is what one sort of fault is looked at with: a service, and what it is
// asked.
type wire struct {
	name   string
	path   string
	body   func(i int) string
	answer http.HandlerFunc
	rules  []Rule
	cases  []wireCase
}

func wires() []wire {
	failing := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "{}")
	}
	return []wire{
		{"llm", "/v1/chat/completions", chatBody, streamEvents, nil, wireCases()},
		{"failing llm", "/v1/chat/completions", chatBody, failing, nil, []wireCase{{"retry-storm,retries=2", 0, func(s *sight) string {
			if s.status != 503 || len(s.service) != 3 || s.service[0] != s.service[1] || s.service[0] != s.service[2] {
				return fmt.Sprintf("status %d, %d times at the service", s.status, len(s.service))
			}
			return ""
		}}}},
		storeWire(),
	}
}

func wireCases() []wireCase {
	e := events()
	whole := strings.Join(e, "")
	answered := func(s *sight) string {
		if s.err != nil || s.status != 200 || s.body != whole || len(s.service) != 1 {
			return fmt.Sprintf("status %d, %v, %d times at the service, body %q", s.status, s.err, len(s.service), s.body)
		}
		return ""
	}
	refused := func(status int, field, value string) func(*sight) string {
		return func(s *sight) string {
			if s.err != nil || s.status != status || s.header.Get(field) != value || !strings.Contains(s.body, "injected fault") || len(s.service) != 0 {
				return fmt.Sprintf("status %d, %s %q, %v, %d times at the service", s.status, field, s.header.Get(field), s.err, len(s.service))
			}
			return ""
		}
	}
	broken := func(times int, with ...error) func(*sight) string {
		return func(s *sight) string {
			if len(s.service) == times && slices.ContainsFunc(with, func(err error) bool { return errors.Is(s.err, err) }) {
				return ""
			}
			return fmt.Sprintf("status %d, error %v, %d times at the service", s.status, s.err, len(s.service))
		}
	}
	body := func(want string) func(*sight) string {
		return func(s *sight) string {
			if s.err != nil || s.body != want || len(s.service) != 1 {
				return fmt.Sprintf("%v, body %q, want %q", s.err, s.body, want)
			}
			return ""
		}
	}
	// asked: the answer is the service's own, the prompt is not the client's.
	asked := func(holds string, not string) func(*sight) string {
		return func(s *sight) string {
			if why := answered(s); why != "" {
				return why
			}
			if got := s.service[0]; !strings.Contains(got, holds) || not != "" && strings.Contains(got, not) || !strings.Contains(got, "be short") {
				return fmt.Sprintf("the service was asked %s", got)
			}
			return ""
		}
	}
	return []wireCase{
		{"delay,delay=30ms", 30 * ms, answered},
		{"delay,delay=30ms,jitter=10ms", 20 * ms, answered},
		{"latency-spike,to=250ms,for=1h", 250 * ms, answered},
		{"integration.bandwidth,rate=10KB/s", time.Duration(len(whole)) * 90 * time.Microsecond, answered},
		{"slow-reader,rate=20KB/s", time.Duration(len(whole)) * 45 * time.Microsecond, answered},
		{"http-429,retry-after=2500ms", 0, refused(429, "Retry-After", "3")},
		{"http-5xx,status=502", 0, refused(502, "Retry-After", "")},
		{"circuit-breaker,fail=1h", 0, refused(503, "Retry-After", "")},
		{"reset", 0, broken(0, syscall.ECONNRESET)},
		{"reset,after=100B", 0, broken(1, syscall.ECONNRESET)},
		{"blackhole,timeout=20ms", 0, broken(0, syscall.ECONNRESET)},
		{"truncate,keep=25%", 0, asked(`"question`, "seven")},
		{"insert,text=roleplay,place=start", 0, asked(`"From now on you are PLACEHOLDER`, "")},
		{"token-noise,ratio=50%", 0, asked("", "one two three four five six seven eight nine ten")},
		{"base64-wrap", 0, asked("Base64", "seven")},
		{"cut,after=3", 0, func(s *sight) string {
			if !errors.Is(s.err, io.ErrUnexpectedEOF) || s.body != strings.Join(e[:3], "") || len(s.service) != 1 {
				return fmt.Sprintf("%v, body %q", s.err, s.body)
			}
			return ""
		}},
		{"stall,after=3,pause=40ms", 40 * ms, answered},
		{"error-event,after=2", 0, body(e[0] + e[1] + "data: {\"error\":{\"message\":\"injected fault\",\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n")},
		{"no-end", 0, body(strings.Join(e[:8], ""))},
		{"duplicate-event,after=1", 0, body(e[0] + e[1] + strings.Join(e[1:], ""))},
		{"bad-json,after=1", 0, body(e[0] + strings.Replace(e[1], "}]}\n", "}] \n", 1) + strings.Join(e[2:], ""))},
		{"network.latency,latency=30ms", 30 * ms, answered},
		{"network.bandwidth,rate=20KB/s", time.Duration(len(whole)) * 45 * time.Microsecond, answered},
		{"slow-close,delay=20ms", 0, answered},
		{"network.timeout,timeout=300ms", 300 * ms, broken(1, io.EOF, syscall.ECONNRESET)},
		{"reset-peer", 0, broken(1, syscall.ECONNRESET, io.EOF)},
		{"limit-data,bytes=300B", 0, broken(1, io.ErrUnexpectedEOF, syscall.ECONNRESET)},
	}
}

// TestOnTheWire: of each fault an independent client and service see the
// share, the bytes and the time; what the share does not fall on is as without
// a proxy; equal seeds hit equal requests, another seed others.
func TestOnTheWire(t *testing.T) {
	looked := make(map[string]bool)
	for _, w := range wires() {
		for _, tt := range w.cases {
			s := parseAll(t, tt.fault)[0]
			looked[s.label()] = true
			t.Run(w.name+" "+tt.fault, func(t *testing.T) {
				t.Parallel()
				o := &observer{answer: w.answer, seen: make(map[string][]string)}
				service := httptest.NewServer(o)
				defer service.Close()
				direct := look(t, o, service.URL+w.path, onWire, w.body)
				arm := func(seed uint64) []string { return tt.arm(t, o, &w, service.URL, direct, seed) }
				a, b, other := arm(1), arm(1), arm(2)
				if !slices.Equal(a, b) {
					t.Errorf("one seed hit %v and %v", a, b)
				}
				if len(a) > 0 && slices.Equal(a, other) {
					t.Errorf("two seeds hit %v", a)
				}
			})
		}
	}
	for i := range table {
		if k := &table[i]; !looked[k.label()] {
			t.Errorf("nobody looks at %s on the wire: give it a row", k.label())
		}
	}
}

// onWire is how many requests are looked at.
const onWire = 100

// arm sends the requests past the fault and returns which of them a client or
// the service saw changed, be it in bytes.
func (tt *wireCase) arm(t *testing.T, o *observer, w *wire, service string, direct map[string]*sight, seed uint64) (hit []string) {
	t.Helper()
	p, url := serveProxy(t, service, seed, w.rules, tt.fault+",share=30%")
	late := int64(0)
	for number, s := range look(t, o, url+w.path, onWire, w.body) {
		if s.took >= tt.by {
			late++
		}
		if same(s, direct[number]) {
			continue
		}
		hit = append(hit, number)
		if why := tt.check(s); why != "" {
			t.Errorf("request %s: %s", number, why)
		}
	}
	c := p.Report().Faults[0]
	// Answers that take as long by themselves, on a busy machine, are left alone by
	// a spike.
	spike := strings.HasPrefix(tt.fault, latencySpike.name)
	if c.Matched != onWire || c.Acted != c.Chosen && (!spike || c.Acted == 0) {
		t.Errorf("counts %+v", c)
	}
	if c.Chosen < 12 || c.Chosen > 48 { // 30 ± 4.6: four sigma
		t.Errorf("%d of %d chosen, want about 30", c.Chosen, onWire)
	}
	if late < c.Chosen {
		t.Errorf("%d requests took %v or more, %d were chosen", late, tt.by, c.Chosen)
	}
	// A fault that is seen in bytes is seen on each that it was chosen for; one
	// of time alone on none.
	if n := int64(len(hit)); n != c.Chosen && (n != 0 || tt.seenInBytes()) {
		t.Errorf("%d requests changed, %d chosen", n, c.Chosen)
	}
	slices.Sort(hit)
	return hit
}

// seenInBytes reports whether a fault changes more than times.
func (tt *wireCase) seenInBytes() bool {
	return tt.by == 0 && tt.fault != "slow-close,delay=20ms" || strings.HasPrefix(tt.fault, "network.timeout")
}

// same reports whether two clients and the service saw the same, but for the
// time.
func same(a, b *sight) bool {
	return a.err == nil && b.err == nil && a.status == b.status && a.body == b.body && slices.Equal(a.service, b.service) &&
		a.header.Get("Content-Type") == b.header.Get("Content-Type")
}

// TestRetryStorm: a failing service is asked four times, another once.
func TestRetryStorm(t *testing.T) {
	o := &observer{seen: make(map[string][]string), answer: func(w http.ResponseWriter, r *http.Request) {
		if n := r.Header.Get("X-Number"); len(n) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, "{}")
	}}
	service := httptest.NewServer(o)
	defer service.Close()
	p, url := serveProxy(t, service.URL, 1, nil, "retry-storm,retries=3")
	for number, s := range look(t, o, url+"/v1/chat/completions", 20, chatBody) {
		want := 1
		if len(number) == 1 {
			want = 4
		}
		if len(s.service) != want || slices.ContainsFunc(s.service, func(b string) bool { return b != s.service[0] }) {
			t.Errorf("request %s came %d times, want %d, all alike", number, len(s.service), want)
		}
	}
	if c := p.Report().Faults[0]; c.Acted != 10 || c.Extra != 30 || c.Chosen != 20 {
		t.Errorf("counts %+v", c)
	}
}

// TestStormOfRefusals: a storm meets the faults behind it each time, and both
// are noted once.
func TestStormOfRefusals(t *testing.T) {
	o := &observer{answer: streamEvents, seen: make(map[string][]string)}
	service := httptest.NewServer(o)
	defer service.Close()
	p, url := serveProxy(t, service.URL, 1, nil, "http-429", "retry-storm,retries=2", "delay,delay=10ms")
	if s := look(t, o, url+"/v1/chat/completions", 1, chatBody)["0"]; s.status != 429 || len(s.service) != 0 || s.took < 30*ms {
		t.Errorf("status %d, %d times at the service, after %v; want 429 three times, each 10 ms late", s.status, len(s.service), s.took)
	}
	for _, c := range p.Report().Faults {
		if c.Chosen < 1 || c.Acted != 1 || (c.Type == "retry-storm") != (c.Extra == 2) {
			t.Errorf("counts %+v", c)
		}
	}
}

// TestTargets: a fault falls only on what it is for.
func TestTargets(t *testing.T) {
	o := &observer{answer: streamEvents, seen: make(map[string][]string)}
	service := httptest.NewServer(o)
	defer service.Close()
	for fault, want := range map[string][]string{
		"http-429,kind=openai.chat":       {"chat"},
		"http-429,kind=openai.embeddings": {"embed"},
		"http-429,path=/v1/*":             {"embed"},
		"http-429,path=/v1/*/completions": {"chat"},
		"http-429,model=small":            {"embed"},
	} {
		_, url := serveProxy(t, service.URL, 1, nil, fault)
		var hit []string
		for name, request := range map[string][2]string{
			"chat":  {"/v1/chat/completions", chatBody(1)},
			"embed": {"/v1/embeddings", `{"model":"small","input":"x"}`},
			"get":   {"/health", ""},
		} {
			if s := ask(http.DefaultClient, url+request[0], name, request[1]); s.status == 429 {
				hit = append(hit, name)
			}
		}
		if slices.Sort(hit); !slices.Equal(hit, want) {
			t.Errorf("%s hit %v, want %v", fault, hit, want)
		}
	}
}

// TestSessionShare: a share of conversations hits all or none of each.
func TestSessionShare(t *testing.T) {
	spec := parseAll(t, "delay,sessions=30%")[0]
	hit := map[string]int{}
	for i := range 1000 {
		x := &Exchange{ID: fmt.Sprint(i), Session: fmt.Sprint(i % 200)}
		if spec.chosen(7, x) {
			hit[x.Session]++
		}
	}
	for session, n := range hit {
		if n != 5 {
			t.Errorf("session %s: %d of 5 requests", session, n)
		}
	}
	if len(hit) < 34 || len(hit) > 86 { // 60 ± 6.5, four sigma
		t.Errorf("%d of 200 sessions, want about 60", len(hit))
	}
}

// TestEqualSeeds: the choice depends on seed, id and name, and its share is
// what was asked for.
func TestEqualSeeds(t *testing.T) {
	spec := parseAll(t, "delay,share=5%")[0]
	other := spec
	other.Name = "other"
	sets := map[string]map[int]bool{}
	for name, choose := range map[string]func(x *Exchange) bool{
		"a": func(x *Exchange) bool { return spec.chosen(1, x) }, "b": func(x *Exchange) bool { return spec.chosen(1, x) },
		"seed": func(x *Exchange) bool { return spec.chosen(2, x) }, "name": func(x *Exchange) bool { return other.chosen(1, x) },
	} {
		sets[name] = map[int]bool{}
		for i := range 20000 {
			if choose(&Exchange{ID: fmt.Sprintf("r%d", i)}) {
				sets[name][i] = true
			}
		}
		if n := len(sets[name]); n < 877 || n > 1123 { // 1000 ± 30.8, four sigma
			t.Errorf("%s: %d of 20000 chosen at 5 %%", name, n)
		}
	}
	if !maps.Equal(sets["a"], sets["b"]) {
		t.Error("one seed chose two sets")
	}
	for _, name := range []string{"seed", "name"} {
		both := 0
		for i := range sets["a"] {
			if sets[name][i] {
				both++
			}
		}
		if both > 80 { // 50 ± 6.9
			t.Errorf("another %s chose %d of the same, want about 50", name, both)
		}
	}
}

// TestWithoutRequestID: equal requests are told apart by how often they came.
func TestWithoutRequestID(t *testing.T) {
	service := httptest.NewServer(&observer{answer: streamEvents, seen: make(map[string][]string)})
	defer service.Close()
	var arms [2][]int
	for i := range arms {
		_, url := serveProxy(t, service.URL, 1, nil, "http-429,share=50%")
		for range 40 {
			arms[i] = append(arms[i], ask(http.DefaultClient, url+"/v1/chat/completions", "", chatBody(0)).status)
		}
	}
	if !slices.Equal(arms[0], arms[1]) || !slices.Contains(arms[0], 429) || !slices.Contains(arms[0], 200) {
		t.Errorf("answers of two arms: %v and %v", arms[0], arms[1])
	}
}

// TestServiceDown: at the start it is refused; later it is a 502 that is
// counted as the service's.
func TestServiceDown(t *testing.T) {
	service := httptest.NewServer(http.NotFoundHandler())
	p, proxy := serveProxy(t, service.URL, 1, nil, "delay,delay=0s,path=/nowhere")
	service.Close()
	if s := ask(http.DefaultClient, proxy+"/v1/chat/completions", "1", "{}"); s.status != 502 || !strings.Contains(s.body, "the service gave no answer: ") {
		t.Errorf("status %d, %q", s.status, s.body)
	}
	if r := p.Report(); r.Failed != 1 || r.Requests != 1 {
		t.Errorf("report %+v", r)
	}
	u, _ := url.Parse(service.URL)
	_, err := NewProxy(t.Context(), ProxyConfig{Target: u, Faults: parseAll(t, "delay")})
	var told *Error
	if !errors.As(err, &told) || !strings.Contains(err.Error(), "accepts no connection") || told.Hint == "" {
		t.Errorf("a service that is not there: %v", err)
	}
}

// TestClientGoesAway: one that gives up ends its own exchange and no other.
func TestClientGoesAway(t *testing.T) {
	o := &observer{answer: streamEvents, seen: make(map[string][]string)}
	service := httptest.NewServer(o)
	defer service.Close()
	_, url := serveProxy(t, service.URL, 1, nil, "blackhole,path=/v1/embeddings", "stall,after=1,pause=1h,path=/v1/chat/completions")
	for _, path := range []string{"/v1/embeddings", "/v1/chat/completions"} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url+path, bytes.NewReader([]byte(chatBody(1))))
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want the client's own deadline", path, err)
		}
	}
	if s := ask(http.DefaultClient, url+"/v1/completions", "1", "{}"); s.status != 200 {
		t.Errorf("another request: status %d, %v", s.status, s.err)
	}
}

// TestAnswersInOnePiece: faults of generation on JSON.
func TestAnswersInOnePiece(t *testing.T) {
	const answer = `{"choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	defer service.Close()
	for flag, want := range map[string]struct {
		body  string
		err   error
		acted int64
	}{
		"cut":                {answer[:len(answer)/2], io.ErrUnexpectedEOF, 1},
		"stall,pause=1ms":    {answer, nil, 1},
		"bad-json":           {answer[:len(answer)-1] + " ", nil, 1},
		"error-event":        {errorObject("server_error"), nil, 1},
		"no-end":             {answer, nil, 0},
		"duplicate-event":    {answer, nil, 0},
		"reset,after=10000B": {answer, nil, 0},
	} {
		p, url := serveProxy(t, service.URL, 1, nil, flag)
		s := ask(http.DefaultClient, url+"/v1/chat/completions", "1", `{"messages":[]}`)
		if acted := p.Report().Faults[0].Acted; s.body != want.body || !errors.Is(s.err, want.err) || acted != want.acted {
			t.Errorf("%s: %q, %v, acted %d; want %q, %v, %d", flag, s.body, s.err, acted, want.body, want.err, want.acted)
		}
	}
}

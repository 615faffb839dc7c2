package telemetry

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/lambdac/lambdac/trace"
)

// metricsBody bounds an endpoint's answer, bytes.
const metricsBody = 16 << 20

// EndpointError is an endpoint that does not give metrics.
type EndpointError struct {
	// Name is the URL without user and query; Reason what is wrong with it; Remedy
	// what to do.
	Name, Reason, Remedy string
}

func (e *EndpointError) Error() string { return fmt.Sprintf("metrics of %q: %s", e.Name, e.Reason) }

// server scrapes one endpoint.
type server struct {
	name   string
	url    string
	header http.Header
	client *http.Client
	rows   []mapping
	// prefix tells zones of this host from those of another endpoint's.
	prefix string
	// tells are the sources of which it has told.
	tells map[trace.SampleSource]bool

	cpu      busyTime
	scraped  bool                  // once at least: a counter that appears now has risen
	counters map[seriesKey]float64 // each series' last value

	mu       sync.Mutex // guards restarts
	restarts []Restart
}

// Restart is a moment at which the counters of an endpoint began again: what it
// says before and after is of two servers.
type Restart struct {
	Name     string
	AtUnixNs int64
}

// newServer makes a scraper; nothing is sent yet. hostTaken: another endpoint
// tells of a host.
func newServer(address string, cfg *Config, hostTaken bool) (*server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &EndpointError{Name: "URL", Reason: "it is no http or https URL", Remedy: "give a URL such as http://staging:8000/metrics"}
	}
	s := &server{
		name: u.Scheme + "://" + u.Host + u.Path, url: address, header: cfg.Header, rows: mappings(),
		tells: make(map[trace.SampleSource]bool), counters: make(map[seriesKey]float64),
		client: &http.Client{
			Timeout:   cfg.Timeout,
			Transport: &http.Transport{DialContext: cfg.Dial, MaxIdleConnsPerHost: 1, TLSClientConfig: &tls.Config{RootCAs: cfg.RootCAs}},
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			},
		},
	}
	if hostTaken {
		s.prefix = u.Host + "/"
	}
	return s, nil
}

func (s *server) close() error {
	s.client.CloseIdleConnections()
	return nil
}

// refuse is the error of an endpoint that gave nothing when it was first asked.
func (s *server) refuse(err error) error {
	return &EndpointError{Name: s.name, Reason: err.Error(), Remedy: "open it with curl, or leave it out: the rest is sampled without it"}
}

// sample reads the endpoint once.
func (s *server) sample(ctx context.Context, b *batch) error {
	text, err := s.get(ctx)
	if err != nil {
		return err
	}
	families, err := parseMetrics(text)
	if err != nil && len(families) == 0 {
		return err
	}
	s.take(families, b)
	if len(b.rows) == 0 && err == nil {
		return errors.New("none of its metrics is known: see docs/telemetry.md for those that are")
	}
	return err
}

// get fetches the text. Its errors hold nothing of the answer.
func (s *server) get(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, errors.New("it is no URL")
	}
	maps.Copy(req.Header, s.header)
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, unreachable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers with status %d", resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, metricsBody+1))
	switch {
	case err != nil:
		return nil, unreachable(err)
	case len(text) > metricsBody:
		return nil, fmt.Errorf("its answer is larger than %d MiB", metricsBody>>20)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/html" || bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
		return nil, errors.New("it is a page of HTML, not metrics: give the URL that ends in /metrics")
	}
	return text, nil
}

// unreachable is an error of the network as a reason.
func unreachable(err error) error {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return errors.New("it does not answer in time")
	case errors.Is(err, context.Canceled):
		return err
	}
	return errors.New("it cannot be reached, or broke off")
}

// parseMetrics reads the text format. What came before a mistake is good.
func parseMetrics(text []byte) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err == nil {
		return families, nil
	}
	if _, is := errors.AsType[expfmt.ParseError](err); is {
		return families, errors.New("it is not in Prometheus' text format, or has a mistake")
	}
	return families, errors.New("it breaks off within a line")
}

// take adds what the families say.
func (s *server) take(families map[string]*dto.MetricFamily, b *batch) {
	plain := make(map[string][]*dto.MetricFamily)
	for _, name := range slices.Sorted(maps.Keys(families)) {
		plain[plainName(name)] = append(plain[plainName(name)], families[name])
	}
	done, restarted := make(map[string]bool), false
	for _, m := range s.rows {
		found := m.families(plain)
		if len(found) == 0 || done[m.metric] {
			continue
		}
		n := len(b.rows)
		restarted = s.takeRow(m, found, b) || restarted
		done[m.metric] = len(b.rows) > n
	}
	b.source = trace.SampleHost
	s.cpuTime(families["node_cpu_seconds_total"], b)
	s.freeBlocks(families["node_buddyinfo_blocks"], b)
	s.failedAllocations(families["linux_page_alloc_failed_total"], b)
	for i := range b.rows {
		s.tells[b.rows[i].Source] = true
	}
	hideMIG(b)
	if restarted {
		s.mu.Lock()
		s.restarts = append(s.restarts, Restart{s.name, b.at})
		s.mu.Unlock()
	}
}

// families are those of which the row is; none where one is missing.
func (m *mapping) families(plain map[string][]*dto.MetricFamily) []*dto.MetricFamily {
	found, added := plain[m.raw], plain[m.plus]
	switch {
	case len(found) == 0, m.plus != "" && len(added) == 0:
		return nil
	case m.plus != "":
		return []*dto.MetricFamily{found[0], added[0]}
	}
	return found[:1]
}

// takeRow adds what the families say, one value an instance, and reports whether
// one of their counters began again.
func (s *server) takeRow(m mapping, families []*dto.MetricFamily, b *batch) (restarted bool) {
	b.source = m.source
	sums, raw := newJoined(m.join), []string(nil)
	for _, family := range families {
		raw = append(raw, family.GetName())
		for _, series := range family.GetMetric() {
			labels := labelsOf(series)
			if !m.chooses(labels) || labels.otherRank() {
				continue
			}
			v := valueOf(series) * cmp.Or(m.scale, 1)
			if m.counter {
				restarted = s.fell(seriesKey{source: m.source, instance: labels.String(), metric: m.metric, raw: family.GetName()}, v) || restarted
			}
			sums.add(s.instance(m, labels), v)
		}
	}
	for _, instance := range sums.order {
		b.addRaw(m.metric, strings.Join(raw, "+"), instance, sums.value[instance])
	}
	return restarted
}

// joined are the values of a row, in the order in which their instances came.
type joined struct {
	join  join
	order []string
	value map[string]float64
}

func newJoined(j join) *joined { return &joined{join: j, value: make(map[string]float64)} }

func (j *joined) add(instance string, v float64) {
	old, seen := j.value[instance]
	switch {
	case !seen:
		j.order = append(j.order, instance)
		j.value[instance] = v
	case j.join == joinSum:
		j.value[instance] = old + v
	default: // what names one thing twice does not make it two
		j.value[instance] = max(old, v)
	}
}

// fell reports whether a counter is lower than it was.
func (s *server) fell(k seriesKey, v float64) bool {
	last, seen := s.counters[k]
	if !math.IsNaN(v) {
		s.counters[k] = v
	}
	return seen && v < last
}

func (s *server) instance(m mapping, labels labels) string {
	switch m.join {
	case joinByGPU:
		return labels.gpu()
	case joinByZone:
		return s.prefix + zoneName(labels["node"], labels["zone"])
	}
	return s.name
}

// hideMIG takes back a GPU's utilisation that cannot be: a partitioned GPU has
// none, and exporters say 0.
func hideMIG(b *batch) {
	active := make(map[string]bool)
	for _, r := range b.rows {
		if r.Metric == trace.MetricGPUSMActive && r.Value != nil && *r.Value >= 0.05 {
			active[r.Instance] = true
		}
	}
	for i := range b.rows {
		r := &b.rows[i]
		if r.Metric == trace.MetricGPUUtilization && r.Value != nil && *r.Value == 0 &&
			(active[r.Instance] || strings.Contains(r.Instance, migMark)) {
			r.Value, r.Reason = nil, new("0 on a GPU that is partitioned (MIG) or busy: not measured there")
		}
	}
}

// restarted are the moments at which its counters began again.
func (s *server) restarted() []Restart {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.restarts
}

package replayer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// preflightTimeout bounds the one request that is sent before a replay.
const preflightTimeout = 10 * time.Second

// Preflight checks that the target is there, looks like an API, and is no host
// that was captured in the trace. It sends one GET of /v1/models. Every error
// matches [ErrInput]. [Run] begins with it.
func Preflight(ctx context.Context, cfg Config, m *trace.Manifest) error {
	cfg = cfg.withDefaults()
	target, err := parseTarget(cfg.Target)
	if err != nil {
		return err
	}
	if !cfg.AllowProduction {
		if err := refuseCaptured(ctx, target, m.CapturedTargets); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, preflightTimeout)
	defer cancel()
	return probe(ctx, &cfg, target)
}

// refuseCaptured compares the target's name and addresses with the hashes of
// what was captured.
func refuseCaptured(ctx context.Context, target *url.URL, captured []trace.TargetHash) error {
	if len(captured) == 0 {
		return nil
	}
	port := portOf(target)
	for _, name := range targetNames(ctx, target.Hostname()) {
		for _, h := range captured {
			is, err := h.Is(name, port)
			if err != nil {
				return inputError("the trace's manifest is damaged", "read captured targets: %w", err)
			}
			if is {
				return inputError("replay against another deployment, or give --allow-production",
					"target %q is the service that was recorded", target.Host)
			}
		}
	}
	return nil
}

// targetNames are all spellings of a host that a capture may have seen.
func targetNames(ctx context.Context, host string) []string {
	names := []string{host}
	if _, err := netip.ParseAddr(host); err == nil {
		return names
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return names // the probe will say that the name is not known
	}
	for _, a := range addrs {
		names = append(names, a.Unmap().String())
	}
	return names
}

func portOf(u *url.URL) int {
	if port, err := strconv.Atoi(u.Port()); err == nil {
		return port
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}

// probe asks for the list of models. What it answers does not matter, as long
// as an API answers.
func probe(ctx context.Context, cfg *Config, target *url.URL) error {
	var dialled atomic.Int64
	transport := newTransport(cfg, &dialled)
	defer transport.CloseIdleConnections()
	u := *target
	u.Path += "/v1/models"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return inputError("give --target as http://HOST:PORT", "build request for %q: %w", target.Host, err)
	}
	req.Header = targetHeader(cfg.Headers)
	req.Header.Del("Content-Type")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return unreachable(target.Host, err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	return judgeProbe(target.Host, resp)
}

func unreachable(host string, err error) error {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return inputError("check the host name in --target", "target %q: name not found", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return inputError("start the service, or check host and port in --target", "target %q: connection refused", host)
	case errors.Is(err, context.DeadlineExceeded) || dialTimedOut(err):
		return inputError("check that the service is up and not behind a firewall", "target %q: no answer within %v", host, preflightTimeout)
	}
	return inputError("check --target: host, port, and http or https", "target %q: %w", host, err)
}

func judgeProbe(host string, resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch code := resp.StatusCode; {
	case code >= 300 && code < 400:
		return inputError("give the final address as --target: a redirect would be measured, not followed",
			"target %q answers with a redirect (status %d)", host, code)
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return inputError("set LAMBDAC_TARGET_HEADER_AUTHORIZATION", "target %q refuses the credentials (status %d)", host, code)
	case kind == "text/html" || kind == "application/xhtml+xml":
		return inputError("give the API's base URL as --target; a login page or a web server is no inference service",
			"target %q answers HTML (status %d)", host, code)
	}
	return nil
}

// warnFiles says where the system's limit is below the client's own.
func warnFiles(maxInFlight int) []string {
	const others = 64 // files that are no connection of ours
	if n, ok := maxOpenFiles(); ok && n < maxInFlight+others {
		return []string{fmt.Sprintf("this process may open %d files, fewer than %d requests in flight need: raise it with ulimit -n", n, maxInFlight)}
	}
	return nil
}

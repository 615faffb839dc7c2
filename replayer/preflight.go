package replayer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
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

// targetNames are all spellings of a host that a capture may have seen. A
// host that is this machine has all of this machine's: a service recorded on
// one interface is reached through any other.
func targetNames(ctx context.Context, host string) []string {
	var addrs []netip.Addr
	names := []string{host}
	if a, err := netip.ParseAddr(host); err == nil {
		addrs, names = []netip.Addr{a}, nil
	} else if found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host); err == nil {
		addrs = found // else the probe will say that the name is not known
	}
	own := ownAddrs()
	for _, a := range addrs {
		a = plainAddr(a)
		names = append(names, a.String())
		if a.IsUnspecified() || a.IsLoopback() || slices.Contains(own, a) {
			names = append(names, "localhost")
			for _, o := range own {
				names = append(names, o.String())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ownAddrs are the addresses of this machine's interfaces.
func ownAddrs() []netip.Addr {
	own := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	nets, err := net.InterfaceAddrs()
	if err != nil {
		return own
	}
	for _, n := range nets {
		if ip, ok := n.(*net.IPNet); ok {
			if a, ok := netip.AddrFromSlice(ip.IP); ok {
				own = append(own, plainAddr(a))
			}
		}
	}
	return own
}

// plainAddr is an address as a capture writes it: no zone, no IPv4 in IPv6.
func plainAddr(a netip.Addr) netip.Addr { return a.WithZone("").Unmap() }

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
		return unreachable(target.Host, cfg.HTTP2, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 200 { // else the body is the connection, which no deadline ends
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	}
	return judgeProbe(target.Host, resp)
}

func unreachable(host string, http2 bool, err error) error {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.As(err, &dns):
		return inputError("check the host name in --target", "target %q: name not found", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return inputError("start the service, or check host and port in --target", "target %q: connection refused", host)
	case errors.Is(err, context.DeadlineExceeded) || dialTimedOut(err):
		return inputError("check that the service is up and not behind a firewall", "target %q: no answer within %v", host, preflightTimeout)
	}
	if errors.As(err, &cert) {
		return inputError("renew the certificate, or name its authority with --ca FILE", "target %q: %w", host, cert.Err)
	}
	if http2 {
		return inputError("leave out --http2, or check --target", "target %q does not answer over HTTP/2: %w", host, err)
	}
	return inputError("check --target: host, port, and http or https", "target %q: %w", host, err)
}

func judgeProbe(host string, resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch code := resp.StatusCode; {
	case code < 200:
		return inputError("check --target: host and port of an HTTP API", "target %q switches to another protocol (status %d)", host, code)
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

// otherFiles is room for open files that are no connection: the run's own.
const otherFiles = 64

// withinFiles lowers the limit of open requests to what the system's limit of
// open files bears. Beyond it no connection could be opened, and no part of the
// run written either. The warning is "" where nothing was lowered.
func withinFiles(maxInFlight, files int) (limit int, warning string) {
	room := max(files-otherFiles, files/2, 1)
	if maxInFlight <= room {
		return maxInFlight, ""
	}
	return room, fmt.Sprintf("this process may open %d files: at most %d requests are kept in flight, not %d; raise it with ulimit -n", files, room, maxInFlight)
}

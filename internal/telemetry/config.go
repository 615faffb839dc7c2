package telemetry

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"path/filepath"
	"time"
)

// Choice says whether a part of this machine is sampled.
type Choice uint8

const (
	// Off: not sampled.
	Off Choice = iota
	// Auto: sampled unless an endpoint tells of a host, or GPUs: then that is
	// the service's, and this machine's would be taken for it.
	Auto
	// On: sampled.
	On
)

// Config says what is sampled. The zero value samples nothing.
type Config struct {
	// Host and GPU are this machine's, which is right where the service runs on
	// it; Client is the load generator, this process.
	Host, GPU, Client Choice
	// Endpoints are URLs of metrics in Prometheus' text format: of the server, or
	// of an exporter on its host.
	Endpoints []string
	// Header is sent to the endpoints: credentials.
	Header http.Header
	// RootCAs are the authorities of https endpoints; nil = the system's.
	RootCAs *x509.CertPool
	// Dial connects to the endpoints; nil = TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Every is the time between readings; 0 = 1 s.
	Every time.Duration
	// Timeout bounds one reading of an endpoint; 0 = 10 s.
	Timeout time.Duration
	// Group is the control group watched, as a path below where control groups
	// are mounted; else that of process PID; neither = none.
	Group string
	PID   int
	// Root holds proc, sys and dev; "" = /.
	Root string
}

// maxEndpoints bounds what a run reads each second.
const maxEndpoints = 64

func (c *Config) withDefaults() *Config {
	d := *c
	if d.Every == 0 {
		d.Every = time.Second
	}
	if d.Timeout == 0 {
		d.Timeout = 10 * time.Second
	}
	if d.Root == "" {
		d.Root = "/"
	}
	return &d
}

// path is below Root.
func (c *Config) path(elem ...string) string {
	return filepath.Join(append([]string{c.Root}, elem...)...)
}

func (c *Config) choice(p part) Choice {
	switch p {
	case partHost:
		return c.Host
	case partGPU:
		return c.GPU
	case partClient:
		return c.Client
	}
	return On
}

package replayer

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A target whose name is gone, and one whose certificate has run out, are
// refused before the replay, with what to do.
func TestPreflightBadTarget(t *testing.T) {
	gone := Config{Target: "http://gone.invalid", Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "gone.invalid", IsNotFound: true}}
	}}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	cert, roots := expiredCertificate(t)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	server.StartTLS()
	defer server.Close()
	for _, row := range []struct {
		name string
		cfg  Config
		want []string
	}{
		{"name", gone, []string{"name not found", "check the host name"}},
		{"certificate", Config{Target: server.URL, RootCAs: roots}, []string{"expired", "renew the certificate"}},
	} {
		err := Preflight(t.Context(), row.cfg, chatTrace(1, 0).Manifest)
		if !errors.Is(err, ErrInput) {
			t.Errorf("%s: error %v", row.name, err)
			continue
		}
		for _, want := range row.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q in it", row.name, err, want)
			}
		}
	}
}

// expiredCertificate is of 127.0.0.1, trusted by the pool, and a day too old.
func expiredCertificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().AddDate(0, 0, -2), NotAfter: time.Now().AddDate(0, 0, -1),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// A trace whose rows are not in order of time is sent as the ordered one.
func TestTimesOutOfOrder(t *testing.T) {
	var sent [2]map[string]int64
	for i := range sent {
		tr := chatTrace(10, 100*ms)
		if i == 1 {
			slices.Reverse(tr.Records)
		}
		virtual(t, &stub{answer: tokensAnswer(0, 0, 1)}, one(10, time.Second), tr, func(t *testing.T, res *Result, out *memory, err error) {
			if err != nil {
				t.Fatal(err)
			}
			sent[i] = make(map[string]int64)
			for _, r := range out.records {
				sent[i][r.RequestID] = r.StartUnixNs - res.Levels[0].StartUnixNs
			}
		})
	}
	if d := cmp.Diff(sent[0], sent[1]); d != "" || len(sent[0]) != 10 {
		t.Errorf("%d requests, %s", len(sent[0]), d)
	}
}

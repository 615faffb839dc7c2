//go:build amd64 || arm64

package recorder

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/testenv"
)

// What is not probed is said by name, with its bytes (case 14): of a process
// that ran before, and of one whose files were all known before it began.
func TestTLSUncovered(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	gnutls := testenv.Command(t, "gnutls-serv")
	python := testenv.Python(t, "rtls")
	tests := []struct {
		process, why string
		serve        func(t *testing.T, port int) (addr string)
	}{
		{filepath.Base(gnutls), "gnutls: GnuTLS is not probed", func(t *testing.T, port int) string {
			return startListening(t, exec.Command(gnutls, "--http", "--quiet",
				"--port", strconv.Itoa(port), "--x509certfile", cert, "--x509keyfile", key), port)
		}},
		{"rustls-serv", "rustls: rustls has no functions that can be found", func(t *testing.T, port int) string {
			cmd := exec.Command(python, "-c", pythonRustls, cert, key, strconv.Itoa(port))
			return startListening(t, cmd, port)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.process, func(t *testing.T) {
			ports := []int{freePort(t), freePort(t)}
			addr := tt.serve(t, ports[0])
			src := openTLS(t, bpf.Options{Ports: ports})
			r := startRecording(t, src, Config{KeepText: true})
			for _, addr := range []string{addr, tt.serve(t, ports[1])} {
				out, err := exec.Command(testenv.Command(t, "curl"), "-sk", "https://"+addr+"/").CombinedOutput()
				if err != nil {
					t.Fatalf("curl: %v\n%s", err, out)
				}
				until(t, "its bytes are counted", func() bool { return src.blindAt(portOf(t, addr)) > 0 })
			}
			got, rep := r.stop()
			if len(got.list) != 0 {
				t.Errorf("%d exchanges of TLS that is not read", len(got.list))
			}
			for _, port := range ports {
				want := fmt.Sprintf("bytes of TLS were not read: process %q, port %d: %s", tt.process, port, tt.why)
				if !strings.Contains(strings.Join(rep.Source.Warnings, "\n"), want) {
					t.Errorf("no warning %q in %q", want, rep.Source.Warnings)
				}
			}
		})
	}
}

// blindAt is the number of bytes of a port that count as not read.
func (s *tlsSource) blindAt(port int) (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, bytes := range s.blind.tls {
		if int(key.port) == port {
			n += bytes
		}
	}
	return n
}

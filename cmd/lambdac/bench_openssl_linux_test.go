//go:build amd64 || arm64

package main

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/testenv"
)

// opensslTarget is sseTarget in Python, whose TLS is OpenSSL's: one thread
// writes to all streams, as servers of asyncio do.
const opensslTarget = `
import heapq, json, resource, socket, ssl, sys, threading, time
every = float(sys.argv[3])
ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
ctx.load_cert_chain(sys.argv[1], sys.argv[2])
l = socket.create_server(("127.0.0.1", 0), backlog=4096)
print("127.0.0.1:%d" % l.getsockname()[1], flush=True)
head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
event = b'data: {"id":"chatcmpl-0123456789","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}\n\n'
piece = b"%x\r\n%s\r\n" % (len(event), event)
changed = threading.Condition()
waiting, flowing, on, late = [], False, False, []

def accept():
    n = 0
    while True:
        c, _ = l.accept()
        try:
            c = ctx.wrap_socket(c, server_side=True)
            asked = b""
            while not asked.endswith(b"\r\n\r\n"):
                part = c.recv(4096)
                if not part: raise OSError
                asked += part
            c.sendall(head)
        except OSError:
            c.close()
            continue
        with changed:
            waiting.append((n % 97 * every / 97, c))
            changed.notify()
        n += 1

def stream():
    due = []
    while True:
        with changed:
            while not due and not (flowing and waiting): changed.wait()
            if flowing:
                now = time.monotonic()
                for phase, c in waiting: heapq.heappush(due, (now + phase, id(c), c))
                waiting.clear()
        at, key, c = due[0]
        pause = at - time.monotonic()
        if pause > 0: time.sleep(pause)
        try: c.send(piece)
        except OSError:
            heapq.heappop(due)
            c.close()
            continue
        heapq.heapreplace(due, (at + every, key, c))
        if on: late.append(time.monotonic() - at)

def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime

for work in accept, stream: threading.Thread(target=work, daemon=True).start()
for line in sys.stdin:
    command, _, arg = line.strip().partition(" ")
    if command != "measure":
        with changed:
            flowing = command == "flow"
            changed.notify()
        continue
    late.clear()
    start, used, on = time.monotonic(), cpu(), True
    time.sleep(float(arg.removesuffix("s")))
    took, used, on = time.monotonic() - start, cpu() - used, False
    all = sorted(late)
    n = len(all)
    us = lambda share: int(1e6 * all[int(n * share)]) if n else 0
    print(json.dumps({"Writes": n, "Seconds": took, "CPUNs": int(1e9 * used), "P50Us": us(0.5), "P99Us": us(0.99)}), flush=True)
`

// opensslCommand runs opensslTarget.
func opensslCommand(b *testing.B, every time.Duration) *exec.Cmd {
	b.Helper()
	cert := selfSigned()
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			b.Fatal(err)
		}
		return path
	}
	return exec.Command(testenv.Python(b, "ssl"), "-c", opensslTarget,
		write("cert", "CERTIFICATE", cert.Certificate[0]), write("key", "PRIVATE KEY", key),
		strconv.FormatFloat(every.Seconds(), 'g', -1, 64))
}

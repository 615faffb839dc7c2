package fault

import (
	"io"
	"net"
	"sync"
	"time"
)

// gently is a connection to a proxy of toxiproxy's that is read to its end
// before it is closed. One that is closed with bytes under way leaves the
// proxy's goroutines, and all that they hold, behind for ever: they wait for
// the one that wrote to us.
type gently struct {
	*net.TCPConn
	once sync.Once
}

// drainTime bounds that reading.
const drainTime = 30 * time.Second

// gentle wraps what dialling a proxy returned.
func gentle(conn net.Conn, err error) (net.Conn, error) {
	if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
		return &gently{TCPConn: tcp}, nil
	}
	return conn, err
}

// Close ends our half, by which the proxy ends the service's. It does not wait.
func (g *gently) Close() error {
	g.once.Do(func() {
		_ = g.CloseWrite()
		// Who still reads is a transport that no longer wants what comes.
		go func() {
			_ = g.SetReadDeadline(time.Now().Add(drainTime))
			_, _ = io.Copy(io.Discard, g.TCPConn)
			_ = g.TCPConn.Close()
		}()
	})
	return nil
}

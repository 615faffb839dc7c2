//go:build amd64 || arm64

package recorder

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
)

// peers are the servers that tests run in a process of their own.
var peers map[string]func(arg string)

func init() {
	peers = map[string]func(string){
		"echo": serve(peerEcho),
	}
}

// readRequest reads one request and its body; false at the connection's end.
func readRequest(r *bufio.Reader) (*http.Request, []byte, bool) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil, nil, false
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, nil, false
	}
	return req, body, true
}

// peerEcho answers each request with its path and body.
func peerEcho(c *net.TCPConn, r *bufio.Reader) {
	for {
		req, body, ok := readRequest(r)
		if !ok {
			return
		}
		text := req.URL.Path + " " + string(body)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
	}
}

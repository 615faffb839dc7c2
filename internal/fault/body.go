package fault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// maxBody bounds a body that is changed as a whole; a longer one is left as it
// is.
const maxBody = 64 << 20

var errTooLong = errors.New("body is longer than what a fault changes")

// readRequest takes the request's body whole. It can be sent again until
// setRequest is called with other bytes.
func (c *call) readRequest() ([]byte, error) {
	if c.req.Body == nil || c.req.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(c.req.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if len(body) > maxBody {
		rest := c.req.Body
		c.req.Body = reading{io.MultiReader(bytes.NewReader(body), rest), rest}
		return nil, errTooLong
	}
	_ = c.req.Body.Close()
	c.putRequest(body)
	return body, nil
}

// putRequest gives the request a body.
func (c *call) putRequest(body []byte) {
	c.req.Body = io.NopCloser(bytes.NewReader(body))
	c.req.ContentLength = int64(len(body))
	if c.req.Header.Get("Content-Length") != "" {
		c.req.Header = c.req.Header.Clone()
		c.req.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
}

// changeRequest sends another body.
func (c *call) changeRequest(body []byte) {
	c.putRequest(body)
	c.x.sent = int64(len(body))
	c.acted()
}

// dropRequest ends a request that is not sent.
func (c *call) dropRequest() {
	if c.req.Body != nil {
		_ = c.req.Body.Close()
	}
}

// plainly asks for an answer that can be read: without a content coding.
func (c *call) plainly() {
	if c.req.Header.Get("Accept-Encoding") != "" {
		c.req.Header = c.req.Header.Clone()
		c.req.Header.Set("Accept-Encoding", "identity")
	}
}

// readable reports whether an answer's body is what the faults read.
func readable(resp *http.Response) bool {
	coding := resp.Header.Get("Content-Encoding")
	return resp.StatusCode >= 200 && resp.StatusCode < 300 && (coding == "" || coding == "identity")
}

// readAnswer takes the answer's body whole; ok is false where it is left as it
// is.
func readAnswer(resp *http.Response) (body []byte, ok bool) {
	if !readable(resp) {
		return nil, false
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	rest := resp.Body
	again := io.Reader(bytes.NewReader(body))
	if err != nil {
		again = io.MultiReader(again, failing{err})
	} else if len(body) > maxBody {
		again = io.MultiReader(again, rest)
	}
	resp.Body = reading{again, rest}
	return body, err == nil && len(body) <= maxBody
}

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// putAnswer gives the answer another body.
func putAnswer(resp *http.Response, body []byte) {
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength, resp.TransferEncoding = int64(len(body)), nil
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

// reading replaces what reads an answer's body, and keeps its Close.
type reading struct {
	io.Reader
	io.Closer
}

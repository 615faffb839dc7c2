package recorder

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2talk is a scripted HTTP/2 connection: frames are written to a buffer for
// each direction, and sent as one packet.
type h2talk struct {
	tb  testing.TB
	k   *talk // nil = bytes are only collected
	fr  [2]*http2.Framer
	out [2]bytes.Buffer
	enc [2]*hpack.Encoder
	hdr [2]bytes.Buffer
}

// newH2Talk makes a connection that has not sent anything yet.
func newH2Talk(tb testing.TB, k *talk) *h2talk {
	h := &h2talk{tb: tb, k: k}
	for d := range h.fr {
		h.fr[d] = http2.NewFramer(&h.out[d], nil)
		h.fr[d].AllowIllegalWrites = true
		h.enc[d] = hpack.NewEncoder(&h.hdr[d])
	}
	return h
}

// h2 adds a connection at 0 with its prefaces at 2 and 3 ms.
func (s *script) h2(tb testing.TB, port uint16) *h2talk {
	h := newH2Talk(tb, s.connect(port, 0))
	h.preface()
	h.send(ToServer, 2*ms)
	h.settings(ToClient)
	h.send(ToClient, 3*ms)
	return h
}

func (h *h2talk) preface() {
	h.out[ToServer].WriteString(http2.ClientPreface)
	h.settings(ToServer)
}

func (h *h2talk) settings(d Dir) {
	h.must(h.fr[d].WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}))
}

func (h *h2talk) must(err error) {
	if err != nil {
		h.tb.Fatal(err)
	}
}

// send sends what was written in one direction.
func (h *h2talk) send(d Dir, t time.Duration) *h2talk {
	h.k.send(d, t, h.out[d].String())
	h.out[d].Reset()
	return h
}

// block encodes fields given as "name: value", or "name! value" for one that
// is never indexed.
func (h *h2talk) block(d Dir, fields ...string) []byte {
	h.hdr[d].Reset()
	for _, f := range fields {
		i := strings.IndexAny(f[1:], ":!") + 1
		h.must(h.enc[d].WriteField(hpack.HeaderField{Name: f[:i], Value: strings.TrimSpace(f[i+1:]), Sensitive: f[i] == '!'}))
	}
	return slices.Clone(h.hdr[d].Bytes())
}

// headers writes a header block in one frame.
func (h *h2talk) headers(d Dir, id uint32, end bool, fields ...string) *h2talk {
	h.must(h.fr[d].WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: h.block(d, fields...), EndHeaders: true, EndStream: end,
	}))
	return h
}

func (h *h2talk) data(d Dir, id uint32, end bool, data string) *h2talk {
	h.must(h.fr[d].WriteData(id, end, []byte(data)))
	return h
}

// ask writes a request, with a body unless it is "".
func (h *h2talk) ask(id uint32, method, path, body string) *h2talk {
	h.headers(ToServer, id, body == "", ":method: "+method, ":scheme: http", ":path: "+path, ":authority: h:1", "x-id: "+path)
	if body != "" {
		h.data(ToServer, id, true, body)
	}
	return h
}

// answer writes a whole answer.
func (h *h2talk) answer(id uint32, status, body string) *h2talk {
	h.headers(ToClient, id, body == "", ":status: "+status, "content-type: text/plain", "server: s")
	if body != "" {
		h.data(ToClient, id, true, body)
	}
	return h
}

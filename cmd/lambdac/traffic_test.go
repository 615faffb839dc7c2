package main

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
)

// chats is the capture of a busy service, made as it is written: many clients
// at once, each with several streamed chats on one connection; one event a
// packet, as servers send it, and one acknowledgement for each.
type chats struct {
	w       *bufio.Writer
	rng     *rand.Rand
	size    int64
	packet  []byte
	clients clientHeap
	next    uint32 // number of the next connection
	total   chatTotals
}

// chatTotals is what a capture holds.
type chatTotals struct{ Bytes, Packets, Exchanges, Events, Connections int64 }

const (
	chatClients  = 256                 // connections open at a time
	chatsPerConn = 8                   // exchanges on each
	chatStart    = 1_700_000_000 * 1e9 // Unix ns
	chatPackets  = 32 << 10            // bytes of a request's packet
)

// client is one connection, at its next step.
type client struct {
	at       int64
	id       uint32
	step     chatStep
	seq      [2]uint32 // of the client, of the server
	chats    int       // left on this connection
	events   int       // left of this answer
	received int
}

type chatStep uint8

const (
	stepConnect chatStep = iota
	stepAsk
	stepEvents
	stepEnd
)

type clientHeap []*client

func (h clientHeap) Len() int           { return len(h) }
func (h clientHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h clientHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *clientHeap) Push(x any)        { *h = append(*h, x.(*client)) }
func (h *clientHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// writeChats writes a capture of at least size bytes: after them no exchange
// begins, and those that are open end.
func writeChats(w io.Writer, size int64) (chatTotals, error) {
	c := &chats{w: bufio.NewWriterSize(w, 1<<18), rng: rand.New(rand.NewPCG(1, 2)), size: size}
	for _, v := range []any{uint32(0xa1b23c4d), uint16(2), uint16(4), [2]uint32{}, uint32(262144), uint32(1)} {
		_ = binary.Write(c.w, binary.LittleEndian, v) // the writer keeps its first error
	}
	c.total.Bytes = 24
	for range chatClients {
		heap.Push(&c.clients, c.connection(chatStart+c.rng.Int64N(20e9)))
	}
	for len(c.clients) > 0 {
		k := c.clients[0]
		if c.step(k) {
			heap.Fix(&c.clients, 0)
		} else {
			heap.Pop(&c.clients)
		}
	}
	return c.total, c.w.Flush()
}

func (c *chats) connection(at int64) *client {
	c.next++
	c.total.Connections++
	return &client{at: at, id: c.next, seq: [2]uint32{c.rng.Uint32(), c.rng.Uint32()}, chats: chatsPerConn}
}

// step sends what is due, and sets the time of what follows; false where
// nothing does.
func (c *chats) step(k *client) bool {
	switch k.step {
	case stepConnect:
		c.send(k, 0, flagSYN, "")
		c.send(k, 1, flagSYN|flagACK, "")
		c.send(k, 0, flagACK, "")
		k.step, k.at = stepAsk, k.at+1e6
	case stepAsk:
		if c.total.Bytes >= c.size {
			k.step = stepEnd
			return true
		}
		c.ask(k)
		k.step, k.at = stepEvents, k.at+50e6+c.rng.Int64N(300e6)
	case stepEvents:
		if c.answer(k) {
			k.at += 5e6 + c.rng.Int64N(30e6)
			return true
		}
		k.chats--
		k.step, k.at = stepAsk, k.at+c.rng.Int64N(5e9)
		if k.chats == 0 {
			k.step = stepEnd
		}
	case stepEnd:
		c.send(k, 0, flagFIN|flagACK, "")
		c.send(k, 1, flagFIN|flagACK, "")
		c.send(k, 0, flagACK, "")
		if c.total.Bytes >= c.size {
			return false
		}
		*k = *c.connection(k.at + c.rng.Int64N(1e9))
	}
	return true
}

const systemPrompt = "You answer questions on the harbour's timetable. Be brief, name your source, and say when you do not know. "

// ask sends a request: one long system prompt that all share, and a question
// of 1 to 8 kB, every fiftieth of 64 kB.
func (c *chats) ask(k *client) {
	size := 1000 + c.rng.IntN(7000)
	if c.rng.IntN(50) == 0 {
		size = 64 << 10
	}
	body := fmt.Sprintf(`{"model":"m-7b","stream":true,"stream_options":{"include_usage":true},"max_tokens":400,"messages":[{"role":"system","content":%q},{"role":"user","content":%q}]}`,
		strings.Repeat(systemPrompt, 20), c.text(size))
	request := fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: chat.example:8000\r\nAuthorization: Bearer sk-made-%08x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", k.id, len(body), body)
	for len(request) > 0 {
		n := min(len(request), chatPackets)
		c.send(k, 0, flagACK, request[:n])
		request = request[n:]
	}
	c.send(k, 1, flagACK, "")
	k.events, k.received = 100+c.rng.IntN(200), 0
	c.total.Exchanges++
}

// answer sends the next event; false after the last.
func (c *chats) answer(k *client) bool {
	var text string
	switch {
	case k.received == 0:
		text = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" +
			framed(`{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"m-7b","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`)
	case k.received <= k.events:
		text = framed(fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m-7b","choices":[{"index":0,"delta":{"content":" %s"},"logprobs":null,"finish_reason":null}]}`, c.word()))
	default:
		text = framed(`{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"m-7b","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`) +
			framed(fmt.Sprintf(`{"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":900,"completion_tokens":%d}}`, k.events)) +
			framed("[DONE]") + "0\r\n\r\n"
		c.total.Events += 2
	}
	c.total.Events++
	c.send(k, 1, flagACK, text)
	c.send(k, 0, flagACK, "")
	k.received++
	return k.received <= k.events+1
}

// framed is an event in a chunk of its own.
func framed(data string) string {
	return fmt.Sprintf("%x\r\ndata: %s\n\n\r\n", len(data)+8, data)
}

func (c *chats) word() string {
	const letters = "etaoinshrdlucmfwypvbgkjqxz"
	n := 2 + c.rng.IntN(8)
	word := make([]byte, n)
	for i := range word {
		word[i] = letters[min(c.rng.IntN(26), c.rng.IntN(26))]
	}
	return string(word)
}

func (c *chats) text(size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(c.word())
		b.WriteByte(' ')
	}
	return b.String()
}

const (
	flagFIN = 1
	flagSYN = 2
	flagACK = 16
)

// send writes one packet: Ethernet, IPv4, TCP. from is 0 for the client, 1 for
// the server.
func (c *chats) send(k *client, from int, flags byte, data string) {
	size := 54 + len(data)
	b := append(c.packet[:0], make([]byte, 16+54)...)
	le, be := binary.LittleEndian, binary.BigEndian
	le.PutUint32(b, uint32(k.at/1e9))
	le.PutUint32(b[4:], uint32(k.at%1e9))
	le.PutUint32(b[8:], uint32(size))
	le.PutUint32(b[12:], uint32(size))
	frame := b[16:]
	be.PutUint16(frame[12:], 0x0800)
	ip, tcp := frame[14:], frame[34:]
	ip[0], ip[8], ip[9] = 0x45, 64, 6
	be.PutUint16(ip[2:], uint16(size-14))
	ends := [2][4]byte{{10, byte(k.id >> 16), byte(k.id >> 8), byte(k.id)}, {192, 168, 0, 1}}
	ports := [2]uint16{40000, 8000}
	copy(ip[12:], ends[from][:])
	copy(ip[16:], ends[1-from][:])
	be.PutUint16(tcp, ports[from])
	be.PutUint16(tcp[2:], ports[1-from])
	be.PutUint32(tcp[4:], k.seq[from])
	be.PutUint32(tcp[8:], k.seq[1-from])
	tcp[12], tcp[13] = 0x50, flags
	be.PutUint16(tcp[14:], 0xffff)
	k.seq[from] += uint32(len(data))
	if flags&(flagSYN|flagFIN) != 0 {
		k.seq[from]++
	}
	c.packet = append(b, data...)
	_, _ = c.w.Write(c.packet) // the writer keeps its first error
	k.at += 1000
	c.total.Packets++
	c.total.Bytes += int64(len(c.packet))
}

// chatFile is a capture of about size bytes in memory.
func chatFile(size int64) ([]byte, chatTotals) {
	var b bytes.Buffer
	total, _ := writeChats(&b, size) // memory does not fail
	return b.Bytes(), total
}

//go:build amd64 || arm64

package recorder

import (
	"testing"

	"github.com/lambdac/lambdac/bpf"
)

// The go command initialises files in the order of their names: peers is there.
func init() { peers["speak"] = peerSpeak }

// peerSpeak serves the conversations of any source.
func peerSpeak(string) {
	l := listenTCP("127.0.0.1:0")
	listening(l)
	speak(l)
}

// TestEBPFConversations records the conversations of real peers with eBPF
// (recorder.md (c) 17 and 18 over HTTP/2).
func TestEBPFConversations(t *testing.T) {
	t.Run("100 streams at once", func(t *testing.T) {
		got, _ := recordPeer(t, "speak", func(addr string) { talkTogether(t, addr) })
		checkTogether(t, got.list)
	})
	t.Run("gRPC", func(t *testing.T) {
		got, _ := recordPeer(t, "speak", func(addr string) { talkGRPC(t, addr) })
		checkGRPC(t, got.list)
	})
	for name, h2 := range map[string]bool{"joined, HTTP/1": false, "joined, HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			addr, _ := startPeer(t, "speak")
			var r *running
			talkJoined(t, addr, h2, func() {
				r = startRecording(t, openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}}), Config{KeepText: true})
			})
			got, _ := r.stop()
			checkJoined(t, got.list, h2)
		})
	}
}

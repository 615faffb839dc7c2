package recorder

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/internal/testenv"
)

// streamSums are the sums over all connections of a capture: bytes seen and
// bytes lost, both directions together.
type streamSums struct {
	file        string
	conns       int
	bytes, lost int64
}

// checkSums compares with tshark 4.0.17: `tshark -r FILE -q -z
// follow,tcp,raw,N` for each stream N, its bytes and the "bytes missing in
// capture file" that it notes.
func checkSums(t *testing.T, dir string, tests []streamSums) {
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			log, src := readSample(t, filepath.Join(dir, tt.file))
			got := streamSums{file: tt.file, conns: len(log.conns)}
			for _, c := range log.conns {
				for d := range c.dirs {
					lost := lostBytes(t, c.dirs[d].gaps)
					got.lost += lost
					got.bytes += c.dirs[d].n - lost
				}
			}
			if got != tt {
				t.Errorf("got %+v, want %+v; stats %+v", got, tt, src.Stats())
			}
		})
	}
}

func lostBytes(t *testing.T, gaps []string) (sum int64) {
	t.Helper()
	for _, gap := range gaps {
		_, rest, _ := strings.Cut(gap, "+")
		n, _, _ := strings.Cut(rest, " ")
		lost, err := strconv.ParseInt(n, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += lost
	}
	return sum
}

func readSample(t *testing.T, path string) (*streamLog, Source) {
	t.Helper()
	src, err := OpenFiles([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	log, _, err := readAll(src)
	if err != nil {
		t.Error(err)
	}
	return log, src
}

// Our own captures of a real server. The lost bytes of m-snaplen-256, which
// tshark does not add up, are Σ tcp.len (9,275) − bytes.
func TestOwnCaptures(t *testing.T) {
	checkSums(t, filepath.Join("testdata", "captures"), []streamSums{
		{"a-openai-python-chat.pcap", 5, 41256, 0},
		{"b-openai-node-chat.pcap", 5, 29572, 0},
		{"c-completions-embeddings-errors.pcap", 10, 133894, 0},
		{"d-8-concurrent-streams.pcap", 16, 99196, 0},
		{"e1-client-aborts.pcap", 8, 23446, 0},
		{"e2-server-killed.pcap", 5, 14049, 0},
		{"f-gzip-brotli-nginx.pcap", 8, 21853, 0},
		{"g1-http2-cleartext.pcap", 3, 33483, 0},
		{"g2-http2-tls13.pcap", 4, 52866, 0},
		{"g3-http2-tls12.pcap", 4, 51048, 0},
		{"h1-http1-tls13.pcap", 6, 34575, 0},
		{"h2-http1-tls12.pcap", 5, 27647, 0},
		{"i-anthropic-litellm.pcap", 5, 22397, 0},
		{"i2-anthropic-llamacpp.pcap", 5, 24132, 0},
		{"j-responses-gemini-litellm.pcap", 4, 30663, 0},
		{"k-ipv6-nanosecond.pcapng", 3, 14178, 0},
		{"l-mid-connection.pcap", 2, 23404, 0},
		{"m-snaplen-256.pcap", 2, 5523, 3752},
		{"n-tool-calls-uvicorn.pcap", 7, 43073, 0},
		{"o-longer-mixed.pcap", 120, 469187, 0},
	})
}

// Captures of the Zeek test suite. mixed-vlan-mpls has one direction of its
// first connection only: tshark does not note the 49 bytes that the client
// acknowledged (its last ACK, 51, counts SYN and FIN).
func TestPcapSamples(t *testing.T) {
	checkSums(t, filepath.Join(testenv.Samples(t), "public", "pcap"), []streamSums{
		{"100-continue.pcap", 1, 63324, 0},
		{"261-01-chunk_2pow64_overflow.pcap", 1, 135, 0},
		{"261-03-cl_negative.pcap", 1, 105, 0},
		{"261-08-leading_zeros.pcap", 1, 187, 0},
		{"261-10-multi_value_te.pcap", 1, 125, 0},
		{"connect-with-header.pcap", 1, 59143, 0},
		{"docker-http-upgrade.pcap", 3, 4749, 0},
		{"entity_gap.pcap", 1, 3695, 1448},
		{"get_nosyn.pcap", 1, 5143, 0},
		{"http-large-gap.pcap", 1, 479, 0},
		{"http-vlan-0.pcap", 1, 5143, 0},
		{"methods.pcap", 49, 184311, 0},
		{"missing-syn.pcap", 1, 9515, 0},
		{"missing-zlib-header.pcap", 1, 12760, 0},
		{"mixed-vlan-mpls.pcap", 3, 12979, 49},
		{"pipelined-requests.pcap", 1, 42362, 0},
		{"reply-ping-coalesced.pcap", 1, 508, 0},
		{"snap-tcp.pcap", 1, 114, 0},
		{"tcp-fast-open.pcap", 2, 1658, 0},
		{"tcp-http-with-padding.pcap", 1, 207, 0},
		{"zero-length-bodies-with-drops.pcap", 1, 16437, 3091},
	})
}

// The block zoo of github.com/hadrielk/pcapng-test-generator: packets by its
// generator's own description (EPB + SPB).
func TestPcapngSamples(t *testing.T) {
	dir := filepath.Join(testenv.Samples(t), "public", "pcapng")
	for file, packets := range map[string]int64{
		"le-basic-test010.pcapng": 4, "le-basic-test016.pcapng": 4,
		"be-advanced-test100.pcapng": 5, "be-advanced-test102.pcapng": 5,
		"le-difficult-test200.pcapng": 0, "le-difficult-test202.pcapng": 8,
	} {
		t.Run(file, func(t *testing.T) {
			_, src := readSample(t, filepath.Join(dir, file))
			if s := src.Stats(); s.Packets != packets || len(s.Warnings) > 0 {
				t.Errorf("stats %+v, want %d packets", s, packets)
			}
		})
	}
}

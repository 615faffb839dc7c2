package recorder

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Parts of key log lines. badKey is never to be seen in a message.
var (
	randomHex = strings.Repeat("0a", 32)
	key32     = strings.Repeat("5e", 32)
	key48     = strings.Repeat("5E", 48)
)

const badKey = "deadbeef"

func TestKeyLog(t *testing.T) {
	rows := []struct {
		name, text string
		// found are the labels that the session has.
		found   []string
		problem string
	}{
		{"empty", "", nil, ""},
		{"comments and blank lines", "# SSL\n\n  \r\n#CLIENT_RANDOM x\n", nil, ""},
		{"1.2", "CLIENT_RANDOM " + randomHex + " " + key48 + "\n", []string{"CLIENT_RANDOM"}, ""},
		{"CRLF, no last line end", "SERVER_TRAFFIC_SECRET_0 " + randomHex + " " + key32 + "\r\nCLIENT_EARLY_TRAFFIC_SECRET " + randomHex + " " + key48, []string{"CLIENT_EARLY_TRAFFIC_SECRET", "SERVER_TRAFFIC_SECRET_0"}, ""},
		{"other labels", "RSA 0011 " + badKey + "\nEXPORTER_SECRET x y\nCLIENT_TRAFFIC_SECRET_N z\nQUIC_CLIENT_TRAFFIC_SECRET_0\n", nil, ""},
		{"a last line that is being written", "CLIENT_RANDOM " + randomHex + " " + badKey, nil, ""},
		{"no label", "\x16\x03\x01 x\n", nil, "line 1: it does not begin with a label"},
		{"short random", "# c\nCLIENT_RANDOM " + badKey + " " + key48 + "\n", nil, "line 2: a client random of 8 characters, not 64"},
		{"random not hex", "CLIENT_RANDOM " + randomHex[:62] + "zz " + key48 + "\n", nil, "line 1: the client random is not in hex"},
		{"short secret", "CLIENT_RANDOM " + randomHex + " " + badKey + "\n", nil, "line 1: a secret of 8 characters"},
		{"master of 32 bytes", "CLIENT_RANDOM " + randomHex + " " + key32 + "\n", nil, "line 1: a secret of 64 characters"},
		{"secret not hex", "CLIENT_RANDOM " + randomHex + " " + badKey + strings.Repeat("x", 88) + "\n", nil, "line 1: the secret is not in hex"},
		{"no secret", "CLIENT_RANDOM " + randomHex + "\n", nil, "line 1: a secret of 0 characters"},
		{"a line too long", "RSA " + strings.Repeat("0", maxKeyLine) + "\n", nil, "line 1: a line of more than 65536 bytes"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "keys.log")
			if err := os.WriteFile(path, []byte(row.text), 0o600); err != nil {
				t.Fatal(err)
			}
			k, err := OpenKeyLog(path)
			if row.problem != "" {
				checkKeyLogError(t, err, row.problem)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var random clientRandom
			for i := range random {
				random[i] = 10
			}
			var found []string
			for label, name := range labels {
				_, long := k.find(secretLabel(label), random, 48)
				if _, short := k.find(secretLabel(label), random, 32); long || short {
					found = append(found, name)
				}
			}
			if diff := cmp.Diff(row.found, found); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}

func checkKeyLogError(t *testing.T, err error, problem string) {
	t.Helper()
	var broken *KeyLogError
	if !errors.As(err, &broken) || !strings.Contains(err.Error(), problem) || !strings.Contains(err.Error(), "keys.log") {
		t.Fatalf("got %v, want %q", err, problem)
	}
	if strings.Contains(err.Error(), badKey) {
		t.Errorf("the error repeats what stands there: %v", err)
	}
}

// TestSecretHidden: nothing prints or encodes a secret, nor what holds one.
func TestSecretHidden(t *testing.T) {
	key := newSecret([]byte("0123456789abcdef0123456789abcdef"))
	k := newKeyLog("x")
	k.session(clientRandom{})[clientTraffic] = key
	holder := struct {
		key  secret
		dirs [1]tlsDir
		set  *[nSecrets]secret
		all  map[clientRandom]*[nSecrets]secret
	}{key, [1]tlsDir{{key: key}}, k.sessions[clientRandom{}], k.sessions}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q", "%d"} {
		for _, v := range []any{key, &key, k, *k, holder, &holder, []secret{key}, &tlsConn{master: key}} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, "0123456789") || strings.Contains(text, "30313233") || strings.Contains(text, "48 49 50") || strings.Contains(text, "0x30, 0x31") {
				t.Errorf("%s of a %T prints the secret", verb, v)
			}
		}
	}
	check(t, "printed", fmt.Sprintf("%v %x", key, k), hidden+" "+hidden)
	if text, err := json.Marshal(key); err == nil {
		t.Errorf("a secret was encoded: %s", text)
	}
}

// TestKeyLogForgets: the number of sessions is bounded.
func TestKeyLogForgets(t *testing.T) {
	k := newKeyLog("x")
	for i := range maxSessions + 2 {
		var r clientRandom
		binary.BigEndian.PutUint64(r[:], uint64(i))
		k.session(r)
	}
	check(t, "sessions", len(k.sessions), maxSessions)
	check(t, "forgotten", k.forgotten, 2)
}

// TestSecretsBlock: secrets in the capture itself, in either byte order, as
// Wireshark and editcap write them.
func TestSecretsBlock(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		path := filepath.Join(t.TempDir(), "dsb.pcapng")
		packets := filepath.Join("testdata", "captures", "h1-http1-tls13.pcap")
		keys, err := os.ReadFile(strings.TrimSuffix(packets, ".pcap") + ".keylog")
		if err != nil {
			t.Fatal(err)
		}
		var f ngFile
		f.section(order).secrets(secretsTLS, "CLIENT_RANDOM broken\n").secrets(0x57474b4c, "of another kind")
		f.secrets(secretsTLS, string(keys)).face(1, 0)
		eachPacket(t, packets, func(sec, usec uint32, data []byte) {
			f.packet(0, uint64(sec)*1e6+uint64(usec), string(data), len(data))
		})
		if err := os.WriteFile(path, f.b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, rep := record(t, Config{KeepText: true}, path)
		compareCapture(t, got.list, readTruth(t, strings.TrimSuffix(packets, ".pcap")+".truth.jsonl"))
		check(t, "warnings", strings.Join(rep.Warnings, "; "), "1 lines in the capture's own key log could not be read")
	}
}

func (f *ngFile) secrets(kind uint32, text string) *ngFile {
	body := f.order.AppendUint32(nil, kind)
	body = f.order.AppendUint32(body, uint32(len(text)))
	return f.block(blockSecrets, append(body, text...))
}

// eachPacket reads a little-endian pcap file of microseconds.
func eachPacket(t *testing.T, path string, visit func(sec, usec uint32, data []byte)) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	order := binary.LittleEndian
	for b := file[24:]; len(b) > 0; {
		n := 16 + int(order.Uint32(b[8:]))
		visit(order.Uint32(b), order.Uint32(b[4:]), b[16:n])
		b = b[n:]
	}
}

func FuzzKeyLog(f *testing.F) {
	f.Add("CLIENT_RANDOM " + randomHex + " " + key48 + "\n# x\r\nSERVER_TRAFFIC_SECRET_0 " + randomHex + " " + key32)
	f.Add("CLIENT_RANDOM \n\xff")
	f.Fuzz(func(t *testing.T, text string) {
		k := newKeyLog("keys.log")
		err := k.read(strings.NewReader(text), true)
		if k.offset > int64(len(text)) {
			t.Errorf("offset %d of %d bytes", k.offset, len(text))
		}
		if err == nil {
			k.embed([]byte(text))
			if err := k.read(strings.NewReader(text[k.offset:]), false); err != nil {
				t.Error(err)
			}
		}
	})
}

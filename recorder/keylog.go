package recorder

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// secretLabel is what a line of a key log is about.
type secretLabel uint8

const (
	masterSecret secretLabel = iota // TLS 1.2
	clientEarly
	clientHandshake
	serverHandshake
	clientTraffic
	serverTraffic
	nSecrets
)

// labels are those of
// https://www.ietf.org/archive/id/draft-ietf-tls-keylogfile-05.html that are
// of use here; lines with others are passed over.
var labels = [nSecrets]string{
	"CLIENT_RANDOM", "CLIENT_EARLY_TRAFFIC_SECRET",
	"CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET",
	"CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0",
}

const (
	// maxKeyLine bounds one line, maxSessions the sessions held at a time: the
	// oldest is forgotten first.
	maxKeyLine  = 64 << 10
	maxSessions = 1 << 18
	// keyLogEvery is how often a key log is looked at again for what was
	// appended, maxReread how much of it is read at a time.
	keyLogEvery = 50 * time.Millisecond
	maxReread   = 64 << 20
)

// clientRandom names a TLS session, as its ClientHello has it.
type clientRandom [32]byte

// KeyLog holds secrets of TLS sessions, in memory only: those of a file that
// TLS libraries write when told to (SSLKEYLOGFILE), or of a capture's own
// decryption secrets. It prints as "[secret]". It is for one goroutine.
type KeyLog struct {
	// name is for messages; "" = the capture's own secrets.
	name string
	// path is read again when a secret is missed; "" = never.
	path    string
	checked time.Time
	// offset and line are those behind the last whole line.
	offset int64
	line   int

	sessions map[clientRandom]*[nSecrets]secret
	order    []clientRandom
	// forgotten counts sessions beyond maxSessions, bad the lines that could
	// not be read after the file was opened.
	forgotten, bad int64
	matched        bool
}

// Format implements [fmt.Formatter].
func (k *KeyLog) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// KeyLogError names the line of a key log that cannot be read, and never what
// is in it.
type KeyLogError struct {
	File string
	// Line counts from 1.
	Line    int
	Problem string
}

// Error names file, line, problem and what a line looks like.
func (e *KeyLogError) Error() string {
	return fmt.Sprintf("read key log %q: line %d: %s; give a file that TLS libraries write by SSLKEYLOGFILE: LABEL CLIENT-RANDOM SECRET on a line, in hex",
		e.File, e.Line, e.Problem)
}

// OpenKeyLog reads a key log file. Lines appended later are found when a
// recording misses a secret. A line that is none of a key log is a
// [*KeyLogError]; labels that are not of use are passed over.
func OpenKeyLog(path string) (*KeyLog, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open key log: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open key log: %w", err)
	}
	k := newKeyLog(path)
	if info.Mode().IsRegular() {
		k.path = path
	}
	if err := k.read(f, true); err != nil {
		return nil, err
	}
	return k, nil
}

func newKeyLog(name string) *KeyLog {
	return &KeyLog{name: name, sessions: make(map[clientRandom]*[nSecrets]secret)}
}

// read takes lines up to the end. The last one may still be being written: it
// is used if it is whole, and read again the next time. Where it is not
// strict, lines that cannot be read are counted.
func (k *KeyLog) read(r io.Reader, strict bool) error {
	lines := bufio.NewReaderSize(r, maxKeyLine)
	for {
		line, err := lines.ReadSlice('\n')
		ended := err == nil
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return &KeyLogError{k.name, k.line + 1, fmt.Sprintf("a line of more than %d bytes", maxKeyLine)}
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("read key log %q: %w", k.name, err)
		}
		problem := k.add(line)
		if !ended {
			return nil
		}
		k.offset += int64(len(line))
		k.line++
		switch {
		case problem != "" && strict:
			return &KeyLogError{k.name, k.line, problem}
		case problem != "":
			k.bad++
		}
	}
}

// embed takes the text of a key log that a capture holds.
func (k *KeyLog) embed(text []byte) {
	for line := range bytes.Lines(text) {
		if k.add(line) != "" {
			k.bad++
		}
	}
}

// add takes one line; problem says what is wrong with it.
func (k *KeyLog) add(line []byte) (problem string) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] == '#' {
		return ""
	}
	name, rest, _ := bytes.Cut(line, []byte(" "))
	if !isLabel(name) {
		return "it does not begin with a label"
	}
	for label, known := range labels {
		if string(name) == known {
			return k.addSecret(secretLabel(label), rest)
		}
	}
	return ""
}

func isLabel(name []byte) bool {
	for _, c := range name {
		if c != '_' && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return len(name) > 0
}

func (k *KeyLog) addSecret(label secretLabel, rest []byte) (problem string) {
	first, second, _ := bytes.Cut(rest, []byte(" "))
	var random clientRandom
	if len(first) != 2*len(random) {
		return fmt.Sprintf("a client random of %d characters, not 64", len(first))
	}
	if _, err := hex.Decode(random[:], first); err != nil {
		return "the client random is not in hex"
	}
	second = bytes.TrimSpace(second)
	if n := len(second); n != 96 && (n != 64 || label == masterSecret) {
		return fmt.Sprintf("a secret of %d characters", n)
	}
	var key [48]byte
	n, err := hex.Decode(key[:], second)
	if err != nil {
		return "the secret is not in hex"
	}
	k.session(random)[label] = newSecret(key[:n])
	clear(key[:])
	return ""
}

// session returns the secrets of a session, making room for a new one.
func (k *KeyLog) session(random clientRandom) *[nSecrets]secret {
	if set := k.sessions[random]; set != nil {
		return set
	}
	if len(k.order) == maxSessions {
		delete(k.sessions, k.order[0])
		k.order = k.order[1:]
		k.forgotten++
	}
	k.order = append(k.order, random)
	set := new([nSecrets]secret)
	k.sessions[random] = set
	return set
}

// find returns a secret of n bytes, after reading what was appended if it is
// missing.
func (k *KeyLog) find(label secretLabel, random clientRandom, n int) (secret, bool) {
	for again := range 2 {
		if set := k.sessions[random]; set != nil && set[label].len() == n {
			k.matched = true
			return set[label], true
		}
		if again == 1 || !k.refresh() {
			break
		}
	}
	return secret{}, false
}

// refresh reads what was appended; false if nothing was. A file that became
// shorter was begun anew. A file that is gone leaves what was read.
func (k *KeyLog) refresh() bool {
	if k.path == "" || time.Since(k.checked) < keyLogEvery {
		return false
	}
	k.checked = time.Now()
	f, err := os.Open(k.path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == k.offset {
		return false
	}
	if info.Size() < k.offset {
		k.offset, k.line = 0, 0
	}
	if _, err := f.Seek(k.offset, io.SeekStart); err != nil {
		return false
	}
	// What cannot be read here was good before, or is not yet: it is counted.
	if err := k.read(io.LimitReader(f, maxReread), false); err != nil {
		k.bad++
	}
	return true
}

// warnings are for the user, without the folders of files; seen is the number of TLS connections.
func (k *KeyLog) warnings(seen int64) []string {
	var list []string
	where := "the capture's own key log"
	if k.name != "" {
		where = fmt.Sprintf("key log %q", filepath.Base(k.name))
	}
	switch n := len(k.sessions); {
	case k.matched, k.name == "" && n == 0:
	case n == 0:
		list = append(list, fmt.Sprintf("%s holds no secret that is of use", where))
	case seen == 0:
		list = append(list, fmt.Sprintf("none of the secrets of %d sessions in %s matched: no TLS connection was seen", n, where))
	default:
		list = append(list, fmt.Sprintf("none of the secrets of %d sessions in %s matched one of %d TLS connections: are they of this capture?", n, where, seen))
	}
	if k.bad > 0 {
		list = append(list, fmt.Sprintf("%d lines in %s could not be read", k.bad, where))
	}
	if k.forgotten > 0 {
		list = append(list, fmt.Sprintf("the oldest %d sessions in %s were forgotten", k.forgotten, where))
	}
	return list
}

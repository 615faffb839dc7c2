//go:build amd64 || arm64

package bpf

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// serveEcho answers one line on each connection with itself, once by each way
// to write, and closes.
func serveEcho() {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		f, err := c.(*net.TCPConn).File()
		if err != nil {
			panic(err)
		}
		c.Close()
		line, err := bufio.NewReaderSize(f, 1<<16).ReadBytes('\n')
		if err != nil {
			panic(err)
		}
		fd := int(f.Fd())
		half := len(line) / 2
		unix.Write(fd, line)
		unix.Writev(fd, [][]byte{line[:half], line[half:]})
		unix.Sendto(fd, line, 0, nil)
		unix.SendmsgBuffers(fd, [][]byte{line[:half], line[half:]}, nil, nil, 0)
		unix.Writev(fd, cutUp(line, 40))
		unix.SendmsgBuffers(fd, cutUp(line, 5, 0, 190, 2, 5000, 1, 2007, 2), nil, nil, 0)
		f.Close()
	}
}

// cutUp cuts bytes into pieces of these lengths, again and again.
func cutUp(b []byte, lengths ...int) (pieces [][]byte) {
	for i := 0; len(b) > 0; i++ {
		n := min(lengths[i%len(lengths)], len(b))
		pieces = append(pieces, b[:n])
		b = b[n:]
	}
	return pieces
}

const (
	echoes = 6
	// echoRecords is how many records their bytes take: two for those that are
	// in one piece or two, of 1,001 pieces of 40 bytes one for 16; of the last, in
	// each of five rounds and a half, one for the pieces up to that of 5,000
	// bytes, that one, and one for 2,008.
	echoRecords = 4*2 + 63 + 5*3 + 2
)

// TestCopy: what a process reads and writes comes out whole and in its place,
// from the connection's first sign to its end, where calls and TCP agree on its
// lengths.
func TestCopy(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderVar+"=serve")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var port int
	if _, err := fmt.Fscan(out, &port); err != nil {
		t.Fatal(err)
	}
	k := loadHere(t, Options{Ports: []int{port}})
	defer k.Close()
	line := strings.Repeat("0123456789abcdef", 2500) + "\n"
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, line); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || string(got) != strings.Repeat(line, echoes) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	c.Close()

	var got [2]string
	var kinds []Kind
	var end Control
	for range 1000 {
		for {
			var e Control
			ok, err := k.Control(&e)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			kinds = append(kinds, e.Kind)
			if e.Kind == Close {
				end = e
			}
		}
		got = readStream(t, k, got)
		if end.Kind == Close && k.Fill() == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got[0] != line || got[1] != strings.Repeat(line, echoes) {
		t.Errorf("read %d bytes, wrote %d; want %d and %d", len(got[0]), len(got[1]), len(line), echoes*len(line))
	}
	want := [2]int64{int64(len(line)), int64(echoes * len(line))}
	if len(kinds) == 0 || kinds[0] != Open || end.Pos != want || end.SeqPos != want || end.Flags&(Late|Closed|Counted) != Counted {
		t.Errorf("events %v; the last %+v; want lengths %v", kinds, end, want)
	}
	counts, err := k.Counts()
	if err != nil {
		t.Fatal(err)
	}
	if n := counts.Have[1].Events; n != echoRecords {
		t.Errorf("%d records, want %d", n, echoRecords)
	}
	if len(counts.Lost) != 0 || counts.Want[0].Bytes != uint64(want[0]) || counts.Have[1].Bytes != uint64(want[1]) {
		t.Errorf("counts %+v", counts)
	}
}

// readStream adds what is in the data ring, which must join.
func readStream(t *testing.T, k *Kernel, got [2]string) [2]string {
	t.Helper()
	for {
		var d Data
		ok, err := k.Data(&d)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return got
		}
		dir := 0
		if d.ToClient {
			dir = 1
		}
		if d.Pos != int64(len(got[dir])) || len(d.Bytes) != d.Want {
			t.Fatalf("%d of %d bytes at %d, after %d", len(d.Bytes), d.Want, d.Pos, len(got[dir]))
		}
		got[dir] += string(d.Bytes)
	}
}

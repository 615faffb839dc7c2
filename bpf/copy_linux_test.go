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
		f.Close()
	}
}

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
	if got, err := io.ReadAll(c); err != nil || string(got) != strings.Repeat(line, 4) {
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
	if got[0] != line || got[1] != strings.Repeat(line, 4) {
		t.Errorf("read %d bytes, wrote %d; want %d and %d", len(got[0]), len(got[1]), len(line), 4*len(line))
	}
	want := [2]int64{int64(len(line)), int64(4 * len(line))}
	if len(kinds) == 0 || kinds[0] != Open || end.Pos != want || end.SeqPos != want || end.Flags&(Late|Closed|Counted) != Counted {
		t.Errorf("events %v; the last %+v; want lengths %v", kinds, end, want)
	}
	counts, err := k.Counts()
	if err != nil {
		t.Fatal(err)
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

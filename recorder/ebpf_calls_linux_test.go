//go:build amd64 || arm64

package recorder

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mmsghdr is struct mmsghdr of recvmmsg(2), which x/sys does not have.
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
	_   uint32
}

func mmsgs(parts ...[]byte) []mmsghdr {
	list := make([]mmsghdr, len(parts))
	for i, p := range parts {
		v := &unix.Iovec{Base: &p[0]}
		v.SetLen(len(p))
		list[i].hdr.Iov = v
		list[i].hdr.SetIovlen(1)
	}
	return list
}

// recvmmsg fills b by messages of half its length.
func recvmmsg(fd int, b []byte) {
	for len(b) > 0 {
		half := (len(b) + 1) / 2
		list := mmsgs(b[:half])
		if half < len(b) {
			list = mmsgs(b[:half], b[half:])
		}
		n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&list[0])), uintptr(len(list)), unix.MSG_WAITALL, 0, 0)
		if errno != 0 {
			panic(errno)
		}
		for _, m := range list[:n] {
			b = b[m.n:]
		}
	}
}

// discardMsgs takes what comes without wanting it: its buffer keeps what the
// process had there.
func discardMsgs(fd int, b []byte) {
	for left := len(b); left > 0; {
		list := mmsgs(append([]byte("its own "), b[:left]...)[:left])
		n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&list[0])), 1, unix.MSG_TRUNC, 0, 0)
		if errno != 0 || n != 1 {
			panic(errno)
		}
		left -= int(list[0].n)
	}
}

// writeAround writes by one call of 1,024 buffers, the most there can be, of
// which the first and the last are empty and have no address.
func writeAround(fd int, _ string, _ []byte) {
	b := bigBody(1000 * 1021)
	head := []byte(headOf(len(b)))
	iov := func(base *byte, n int) unix.Iovec { return unix.Iovec{Base: base, Len: uint64(n)} }
	list := []unix.Iovec{iov(nil, 0), iov(&head[0], len(head))}
	for i := range 1021 {
		list = append(list, iov(&b[1000*i], 1000))
	}
	list = append(list, iov(nil, 0))
	n, _, errno := unix.Syscall(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(&list[0])), uintptr(len(list)))
	if errno != 0 || int(n) != len(head)+len(b) {
		panic(errno)
	}
	runtime.KeepAlive(b)
}

// sendmmsg sends the parts as one message each.
func sendmmsg(fd int, parts ...[]byte) {
	list := mmsgs(parts...)
	n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&list[0])), uintptr(len(list)), 0, 0, 0)
	if errno != 0 || int(n) != len(parts) {
		panic(errno)
	}
}

func reusePort(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	})
	if err != nil {
		return err
	}
	return failed
}

// peerURing answers with a head by write and a body by io_uring.
func peerURing(c *net.TCPConn, r *bufio.Reader) {
	if _, _, ok := readRequest(r); !ok {
		return
	}
	f, err := c.File()
	if err != nil {
		panic(err)
	}
	defer f.Close()
	body := bigBody(5000)
	io.WriteString(c, headOf(len(body)))
	ringWrite(int(f.Fd()), body)
	io.Copy(io.Discard, c)
}

// ringWrite writes by a ring of io_uring(7) with one entry. The offsets are
// those of struct io_uring_params and struct io_uring_sqe.
func ringWrite(fd int, b []byte) {
	var params [120]byte
	ring, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params[0])), 0)
	if errno != 0 {
		panic(errno)
	}
	le := binary.LittleEndian
	const offSQRing, offSQEs, opWrite = 0, 0x10000000, 23
	sq, err := unix.Mmap(int(ring), offSQRing, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		panic(err)
	}
	sqe, err := unix.Mmap(int(ring), offSQEs, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		panic(err)
	}
	sqe[0] = opWrite
	le.PutUint32(sqe[4:], uint32(fd))
	le.PutUint64(sqe[8:], ^uint64(0)) // no offset
	le.PutUint64(sqe[16:], uint64(uintptr(unsafe.Pointer(&b[0]))))
	le.PutUint32(sqe[24:], uint32(len(b)))
	tail, array := le.Uint32(params[44:]), le.Uint32(params[64:])
	le.PutUint32(sq[array:], 0)
	le.PutUint32(sq[tail:], 1)
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, ring, 1, 1, 1, 0, 0); errno != 0 {
		panic(errno)
	}
	runtime.KeepAlive(b)
}

//go:build amd64 || arm64

package recorder

import (
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

//go:build amd64 || arm64

package recorder

import (
	"errors"

	"golang.org/x/sys/unix"
)

func init() {
	reads["zerocopy"], writes["zerocopy"] = readFull, writeZeroCopy
	reads["errqueue"], writes["errqueue"] = readFull, writeStamped
}

// writeZeroCopy sends pages as they are (MSG_ZEROCOPY) and waits for the word
// that they are free again.
func writeZeroCopy(fd int, _ string, _ []byte) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1); err != nil {
		panic(err)
	}
	b := bigBody(300_000)
	unix.Write(fd, []byte(headOf(len(b))))
	for left := b; len(left) > 0; {
		n, err := unix.SendmsgN(fd, left, nil, nil, unix.MSG_ZEROCOPY)
		if err != nil {
			panic(err)
		}
		left = left[n:]
		readErrors(fd)
	}
}

// writeStamped asks for word of what the other side has acknowledged, which has
// the bytes themselves with it.
func writeStamped(fd int, _ string, _ []byte) {
	const what = unix.SOF_TIMESTAMPING_TX_ACK | unix.SOF_TIMESTAMPING_SOFTWARE
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, what); err != nil {
		panic(err)
	}
	b := append([]byte(headOf(2000)), bigBody(2000)...)
	unix.Write(fd, b)
	if readErrors(fd) == 0 {
		panic("the kernel gave no bytes back")
	}
}

// readErrors waits for something in the queue of errors, and reads it.
func readErrors(fd int) int {
	b, control := make([]byte, 4096), make([]byte, 512)
	for {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd)}}, 60_000); err != nil && !errors.Is(err, unix.EINTR) {
			panic(err)
		}
		n, _, _, _, err := unix.Recvmsg(fd, b, control, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) {
			continue
		}
		if err != nil {
			panic(err)
		}
		return n
	}
}

package recorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// ring is a packet socket whose packets the kernel writes into memory that we
// map: TPACKET_V3 of Documentation/networking/packet_mmap.rst. It is used
// without system calls as long as there are packets, and its frames may have
// any length up to a block's.
//
// gopacket's EthernetHandle was the other choice: it has no ring, does not say
// which packets go out (every packet of the loopback device would come twice),
// and its reads cannot be ended.
type ring struct {
	fd   int
	stop int // an eventfd: readable = stop
	mem  []byte
	// block is the index of the one being read, left the number of packets
	// still to be read in it, at the place of the next.
	block, blocks int
	left          uint32
	at            int
	reading       bool
}

const (
	ringBlock = 1 << 20
	// ringRetireMs is how long the kernel waits for a block to be full before
	// it hands it over.
	ringRetireMs = 10
	// frameHeader is where the link-level address follows in a frame:
	// TPACKET_ALIGN(sizeof(struct tpacket3_hdr)).
	frameHeader = unix.SizeofTpacket3Hdr
)

// openRing opens the socket on an interface (0 = all).
func openRing(ifindex int, filter []bpf.Instruction) (*ring, error) {
	// Protocol 0: nothing comes before bind, when the filter is in place.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open packet socket: %w", err)
	}
	r := &ring{fd: fd, stop: -1}
	if err := r.setUp(ifindex, filter); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *ring) setUp(ifindex int, filter []bpf.Instruction) error {
	var err error
	if r.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("open event descriptor: %w", err)
	}
	if err := unix.SetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return fmt.Errorf("set packet ring version: %w", err)
	}
	if err := r.setFilter(filter); err != nil {
		return err
	}
	if err := r.mapBlocks(); err != nil {
		return err
	}
	everything := uint16(unix.ETH_P_ALL)<<8 | uint16(unix.ETH_P_ALL)>>8 // network order
	if err := unix.Bind(r.fd, &unix.SockaddrLinklayer{Protocol: everything, Ifindex: ifindex}); err != nil {
		return fmt.Errorf("bind packet socket: %w", err)
	}
	return nil
}

func (r *ring) setFilter(filter []bpf.Instruction) error {
	raw, err := bpf.Assemble(filter)
	if err != nil {
		return fmt.Errorf("assemble packet filter: %w", err)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		code[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	prog := &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if err := unix.SetsockoptSockFprog(r.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, prog); err != nil {
		return fmt.Errorf("attach packet filter: %w", err)
	}
	return nil
}

// mapBlocks asks for 64 MiB, and for less where that cannot be had.
func (r *ring) mapBlocks() error {
	var err error
	for r.blocks = 64; r.blocks >= 2; r.blocks /= 4 {
		const frame = 2048 // only has to divide the block; frames take what they need
		err = unix.SetsockoptTpacketReq3(r.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &unix.TpacketReq3{
			Block_size: ringBlock, Block_nr: uint32(r.blocks),
			Frame_size: frame, Frame_nr: uint32(r.blocks * ringBlock / frame),
			Retire_blk_tov: ringRetireMs,
		})
		if err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("make packet ring: %w", err)
	}
	r.mem, err = unix.Mmap(r.fd, 0, r.blocks*ringBlock, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map packet ring: %w", err)
	}
	return nil
}

// status is the word of a block by which it is handed to and fro.
func (r *ring) status() *uint32 {
	const statusOffset = 8 // after version and offset_to_priv
	return (*uint32)(unsafe.Pointer(&r.mem[r.block*ringBlock+statusOffset]))
}

// next returns the next packet, in the ring's memory: valid until the next
// call. ok is false where there is none yet.
func (r *ring) next() (p packet, ok bool) {
	for r.left == 0 {
		if r.reading {
			atomic.StoreUint32(r.status(), unix.TP_STATUS_KERNEL)
			r.block = (r.block + 1) % r.blocks
			r.reading = false
		}
		if atomic.LoadUint32(r.status())&unix.TP_STATUS_USER == 0 {
			return packet{}, false
		}
		head := r.mem[r.block*ringBlock:]
		r.left = binary.NativeEndian.Uint32(head[12:])
		r.at = r.block*ringBlock + int(binary.NativeEndian.Uint32(head[16:]))
		r.reading = true
	}
	frame := r.mem[r.at : (r.block+1)*ringBlock]
	r.left--
	r.at += int(binary.NativeEndian.Uint32(frame))
	return framePacket(frame), true
}

// framePacket reads struct tpacket3_hdr and, behind it, struct sockaddr_ll.
func framePacket(frame []byte) packet {
	order := binary.NativeEndian
	at, size := int(order.Uint16(frame[24:])), int(order.Uint32(frame[12:]))
	proto := binary.BigEndian.Uint16(frame[frameHeader+2:])
	return packet{
		time: int64(order.Uint32(frame[4:]))*1e9 + int64(order.Uint32(frame[8:])),
		link: uint32(proto)<<16 | linkByProto,
		data: frame[at : at+size],
		orig: int(order.Uint32(frame[16:])),
	}
}

// wait returns when there are packets, the time is over, or stop was called.
func (r *ring) wait(d time.Duration) error {
	fds := []unix.PollFd{{Fd: int32(r.fd), Events: unix.POLLIN | unix.POLLERR}, {Fd: int32(r.stop), Events: unix.POLLIN}}
	_, err := unix.Poll(fds, int(max(d, 0)/time.Millisecond))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("wait for packets: %w", err)
	}
	if fds[0].Revents&unix.POLLERR == 0 {
		return nil
	}
	code, err := unix.GetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	if err != nil {
		return fmt.Errorf("read packets: %w", err)
	}
	return nil
}

// interrupt ends wait, from any goroutine.
func (r *ring) interrupt() error {
	_, err := unix.Write(r.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	return err
}

// drops returns the packets lost since the last call.
func (r *ring) drops() int64 {
	stats, err := unix.GetsockoptTpacketStatsV3(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return 0
	}
	return int64(stats.Drops)
}

func (r *ring) close() error {
	var errs []error
	if r.mem != nil {
		errs = append(errs, unix.Munmap(r.mem))
		r.mem = nil
	}
	for _, fd := range []int{r.fd, r.stop} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(errs...)
}

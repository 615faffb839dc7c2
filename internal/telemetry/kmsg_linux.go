package telemetry

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lambdac/lambdac/trace"
)

const (
	// kmsgRecordBytes is the longest record that the kernel gives.
	kmsgRecordBytes = 8192
	// kmsgRecords bounds the records read at once; the rest waits.
	kmsgRecords = 10_000
)

// kmsg reads /dev/kmsg from its end on.
type kmsg struct {
	fd     int
	log    kmsgLog
	buf    []byte
	lastAt int64
}

func openKmsg(_ context.Context, cfg *Config) (sampler, error) {
	proc, err := procFS(cfg)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open(cfg.path("dev", "kmsg"), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return nil, errors.New("the kernel's log may not be read: CAP_SYSLOG, or sysctl kernel.dmesg_restrict=0 and read access to /dev/kmsg")
	}
	if err != nil {
		return nil, reason("/dev/kmsg", err)
	}
	k := &kmsg{fd: fd, buf: make([]byte, kmsgRecordBytes)}
	if _, err := unix.Seek(fd, 0, unix.SEEK_END); err != nil {
		return nil, errors.Join(reason("/dev/kmsg", err), unix.Close(fd))
	}
	zones, _ := proc.BuddyInfo() // without them, events have no zone
	for _, z := range zones {
		k.log.zones = append(k.log.zones, zoneName(z.Node, z.Zone))
	}
	return k, nil
}

func (k *kmsg) close() error { return unix.Close(k.fd) }

func (k *kmsg) sample(_ context.Context, b *batch) error {
	var lost uint64
	defer func() { k.lastAt = b.at }()
	for range kmsgRecords {
		n, err := unix.Read(k.fd, k.buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EPIPE): // overwritten; the next read has the oldest
			lost++
			continue
		case errors.Is(err, unix.EAGAIN) || err == nil && n == 0:
			return k.end(b, lost)
		case err != nil:
			return reason("/dev/kmsg", err)
		}
		if r, ok := parseKmsg(string(k.buf[:n])); ok {
			lost += k.log.take(r, k.when(r.us, b.at), b)
		}
	}
	return k.end(b, lost)
}

func (k *kmsg) end(b *batch, lost uint64) error {
	if lost > 0 {
		for _, metric := range []string{trace.MetricOOMOrder, trace.MetricAllocFailed} {
			b.missed(metric, "the kernel's log was overwritten faster than it was read")
		}
	}
	return nil
}

// when is the moment of a record on the run's clock. The kernel's clock of its
// log is not disciplined, and so drifts by seconds in weeks; but a record read
// now was not there at the reading before.
func (k *kmsg) when(us, now int64) int64 {
	var mono unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono); err != nil {
		return now
	}
	age := mono.Nano() - us*int64(time.Microsecond)
	if k.lastAt == 0 {
		k.lastAt = now
	}
	return min(now, max(k.lastAt, now-age))
}

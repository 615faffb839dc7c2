package recorder

// intake is what sources of packets share: it decodes packets, counts them,
// and gives them to the tracker.
type intake struct {
	tracker   *tracker
	stats     SourceStats
	undecoded [nUndecoded]int64
	// quic is the number of bytes of QUIC packets, quicLast the time of the last.
	quic, quicLast int64
}

// take adds one packet; the tracker then has its segments.
func (in *intake) take(p *packet) undecoded {
	in.stats.Packets++
	in.stats.Bytes += int64(p.orig)
	if p.orig > len(p.data) {
		in.stats.Truncated++
	}
	var seg tcpPacket
	why := decodePacket(p.link, p.data, p.orig, &seg)
	in.undecoded[why]++
	switch {
	case why == decoded:
		seg.time = p.time
		in.tracker.take(&seg)
	case why == quicPacket && (in.tracker.ports == nil || in.tracker.ports[portQUIC]):
		in.quic += int64(p.orig)
		in.quicLast = p.time
	}
	return why
}

// unreadSoFar are the bytes seen so far of a protocol that is not read, and
// the time of the last.
func (in *intake) unreadSoFar() (bytes map[string]int64, last int64) {
	if in.quic == 0 {
		return nil, 0
	}
	return map[string]int64{"quic": in.quic}, in.quicLast
}

// counts returns the statistics so far.
func (in *intake) counts() SourceStats {
	out := in.stats
	in.tracker.addTo(&out)
	out.Undecoded = make(map[string]int64)
	for why, n := range in.undecoded {
		if undecoded(why) != decoded && n > 0 {
			out.Undecoded[undecoded(why).String()] = n
		}
	}
	return out
}

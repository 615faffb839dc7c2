package trace

// CaptureWindow accounts for one second of one capture source: one row of the
// capture table. Over the sums since the start,
//
//	exchanges_seen = exchanges_written + Σ dropped_* + open_at_end
//
// where open_at_end is that of the last row.
type CaptureWindow struct {
	// Source is the capture source: pcap, live, tap, ….
	Source string `parquet:"source,dict"`
	// WindowStartUnixNs is when the second begins.
	WindowStartUnixNs int64 `parquet:"window_start_unix_ns,delta"`
	// WindowNs is its length.
	WindowNs int64 `parquet:"window_ns"`
	// ExchangesSeen counts exchanges that began or, where the start was
	// missed, were joined.
	ExchangesSeen int64 `parquet:"exchanges_seen"`
	// ExchangesWritten counts exchanges that have their row.
	ExchangesWritten int64 `parquet:"exchanges_written"`
	// Unpaired counts answers that belong to no request seen.
	Unpaired int64 `parquet:"unpaired"`
	// DroppedRingbuf counts exchanges that were lost before they were read.
	DroppedRingbuf int64 `parquet:"dropped_ringbuf"`
	// DroppedParser counts exchanges that could not be parsed.
	DroppedParser int64 `parquet:"dropped_parser"`
	// DroppedUnknown counts exchanges of a protocol that is not known.
	DroppedUnknown int64 `parquet:"dropped_unknown_protocol"`
	// DroppedSanitizer counts exchanges that the sanitizer gave up.
	DroppedSanitizer int64 `parquet:"dropped_sanitizer"`
	// DroppedDisk counts exchanges that could not be written.
	DroppedDisk int64 `parquet:"dropped_disk"`
	// TruncatedBodies counts bodies of which a part was left out by a limit.
	TruncatedBodies int64 `parquet:"truncated_bodies"`
	// BytesSeen is the TCP payload on the wire.
	BytesSeen int64 `parquet:"bytes_seen"`
	// BytesLost is the part of it that was not read.
	BytesLost int64 `parquet:"bytes_lost"`
	// LostByReason has the latter by reason, in bytes.
	LostByReason map[string]int64 `parquet:"lost_by_reason"`
	// LadderStep is how far the recorder had gone in keeping less; 0 = all.
	LadderStep int32 `parquet:"ladder_step"`
	// OpenAtEnd counts exchanges still open at the window's end.
	OpenAtEnd int64 `parquet:"open_at_end"`
}

// LossTotals are the sums of the capture table, kept in the manifest.
type LossTotals struct {
	ExchangesSeen    int64 `json:"exchanges_seen"`
	ExchangesWritten int64 `json:"exchanges_written"`
	Unpaired         int64 `json:"unpaired"`
	// Dropped counts exchanges by the stage that dropped them.
	Dropped         map[string]int64 `json:"dropped,omitempty"`
	TruncatedBodies int64            `json:"truncated_bodies"`
	// BytesSeen is what was on the wire as TCP payload, BytesLost the part of
	// it that the capture missed, by reason.
	BytesSeen    int64            `json:"bytes_seen"`
	BytesLost    int64            `json:"bytes_lost"`
	LostByReason map[string]int64 `json:"lost_by_reason,omitempty"`
	OpenAtEnd    int64            `json:"open_at_end"`
}

// Add sums one window into the totals.
func (t *LossTotals) Add(w *CaptureWindow) {
	t.ExchangesSeen += w.ExchangesSeen
	t.ExchangesWritten += w.ExchangesWritten
	t.Unpaired += w.Unpaired
	t.TruncatedBodies += w.TruncatedBodies
	t.BytesSeen += w.BytesSeen
	t.BytesLost += w.BytesLost
	t.OpenAtEnd = w.OpenAtEnd
	for name, n := range w.dropped() {
		if n != 0 {
			t.Dropped = addTo(t.Dropped, name, n)
		}
	}
	for reason, n := range w.LostByReason {
		t.LostByReason = addTo(t.LostByReason, reason, n)
	}
}

// Balanced reports whether seen = written + Σ dropped + open at the end.
func (t *LossTotals) Balanced() bool {
	sum := t.ExchangesWritten + t.OpenAtEnd
	for _, n := range t.Dropped {
		sum += n
	}
	return sum == t.ExchangesSeen
}

func (w *CaptureWindow) dropped() map[string]int64 {
	return map[string]int64{
		"ringbuf": w.DroppedRingbuf, "parser": w.DroppedParser,
		"unknown_protocol": w.DroppedUnknown, "sanitizer": w.DroppedSanitizer,
		"disk": w.DroppedDisk,
	}
}

func addTo(m map[string]int64, key string, n int64) map[string]int64 {
	if m == nil {
		m = make(map[string]int64)
	}
	m[key] += n
	return m
}

package replayer

// Salts keep the uses of one seed apart.
const (
	saltSpread uint64 = iota + 1
	saltPhase
	saltThin
	saltResample
	saltOrder
	saltBlock
	saltTail
	saltWarm
	saltShard
	saltRamp
	saltProbe
	saltFeatures
	saltSynthetic
)

// mix hashes numbers into one. Each step is the finalizer of SplitMix64
// (Steele, Lea and Flood, OOPSLA 2014): all bits of the input reach all bits of
// the output, which thinning by hash < share needs.
func mix(words ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, w := range words {
		h = scramble(h ^ w)
	}
	return h
}

func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hashString is FNV-1a, 64 bits.
func hashString(s string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return h
}

// unitFloat maps a hash to [0, 1).
func unitFloat(h uint64) float64 { return float64(h>>11) / (1 << 53) }

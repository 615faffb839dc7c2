package detect

import (
	"bytes"
	"crypto/sha256"
)

// isWallet reports an Ethereum address, 0x and forty hexadecimal digits, or a
// Bitcoin address in base58 with its checksum.
func isWallet(w []byte) bool {
	if len(w) == 42 && w[0] == '0' && w[1] == 'x' {
		_, distinct := kindsOf(w)
		return hexAny.run(w, 2, 40) == 42 && distinct >= 8
	}
	if len(w) < 26 || len(w) > 35 || w[0] != '1' && w[0] != '3' {
		return false
	}
	return isBase58Check(w)
}

// isBase58Check decodes 25 bytes of base58, the last four of which are the
// beginning of the double SHA-256 of the rest.
func isBase58Check(w []byte) bool {
	const digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	var raw [25]byte
	for _, c := range w {
		carry := bytes.IndexByte([]byte(digits), c)
		if carry < 0 {
			return false
		}
		for i := len(raw) - 1; i >= 0; i-- {
			carry += int(raw[i]) * 58
			raw[i] = byte(carry)
			carry >>= 8
		}
		if carry != 0 {
			return false
		}
	}
	once := sha256.Sum256(raw[:21])
	twice := sha256.Sum256(once[:])
	return bytes.Equal(twice[:4], raw[21:])
}

// bech32 judges a Bitcoin address that begins with bc1 or tb1, by its
// checksum (BIP 173, BIP 350).
func (j *job) bech32(start int) {
	end := j.run(alnum, start, 91)
	if j.joined(start) || j.goesOn(end) || end-start < 42 || end-start > 90 {
		return
	}
	const charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	a, b := int(fold(j.text[start])), int(fold(j.text[start+1]))
	sum := 1
	for _, v := range [...]int{a >> 5, b >> 5, 0, a & 31, b & 31} {
		sum = polymod(sum, v)
	}
	for _, c := range j.text[start+3 : end] {
		v := bytes.IndexByte([]byte(charset), fold(c))
		if v < 0 {
			return
		}
		sum = polymod(sum, v)
	}
	const bech32, bech32m = 1, 0x2bc830a3
	if sum == bech32 || sum == bech32m {
		j.add("wallet", Wallet, start, end)
	}
}

// polymod takes one value into a checksum of BIP 173.
func polymod(sum, v int) int {
	top := sum >> 25
	sum = sum&0x1ffffff<<5 ^ v
	for i, g := range [...]int{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
		if top>>i&1 == 1 {
			sum ^= g
		}
	}
	return sum
}

package detect

import "bytes"

// issuer is a range of prefixes of card numbers and the lengths in use, after
// ISO/IEC 7812 assignments as the networks publish them.
type issuer struct {
	digits   int // of the prefix
	from, to int
	lengths  uint32 // bit n: n digits
}

var issuers = [...]issuer{
	{1, 4, 4, 1<<13 | 1<<16 | 1<<19},                       // Visa
	{2, 51, 55, 1 << 16},                                   // Mastercard
	{4, 2221, 2720, 1 << 16},                               // Mastercard
	{2, 34, 34, 1 << 15},                                   // American Express
	{2, 37, 37, 1 << 15},                                   // American Express
	{4, 6011, 6011, 1<<16 | 1<<19},                         // Discover
	{3, 644, 649, 1<<16 | 1<<19},                           // Discover
	{2, 65, 65, 1<<16 | 1<<19},                             // Discover
	{4, 3528, 3589, 1<<16 | 1<<19},                         // JCB
	{4, 2131, 2131, 1 << 15},                               // JCB
	{4, 1800, 1800, 1 << 15},                               // JCB
	{3, 300, 305, 1<<14 | 1<<16},                           // Diners Club
	{4, 3095, 3095, 1<<14 | 1<<16},                         // Diners Club
	{2, 36, 36, 1<<14 | 1<<16},                             // Diners Club
	{2, 38, 39, 1<<14 | 1<<16},                             // Diners Club
	{2, 62, 62, 1<<16 | 1<<17 | 1<<18 | 1<<19},             // UnionPay
	{4, 2200, 2204, 1<<16 | 1<<19},                         // Mir
	{4, 5018, 5018, 1<<13 | 1<<15 | 1<<16 | 1<<18 | 1<<19}, // Maestro
	{4, 5020, 5020, 1<<13 | 1<<15 | 1<<16 | 1<<18 | 1<<19}, // Maestro
	{4, 5038, 5038, 1<<12 | 1<<13 | 1<<16 | 1<<18 | 1<<19}, // Maestro
	{4, 6304, 6304, 1<<13 | 1<<16 | 1<<18 | 1<<19},         // Maestro
	{4, 6759, 6763, 1<<12 | 1<<13 | 1<<16 | 1<<18 | 1<<19}, // Maestro
	{4, 6521, 6522, 1 << 16},                               // RuPay
	{2, 60, 60, 1 << 16},                                   // RuPay
	{2, 81, 82, 1 << 16},                                   // RuPay
}

// card judges a payment card number: digits alone, or in groups of four, or
// 4-6-5 and 4-6-4, with the same mark between. With a word for cards before it any issuer will do.
func (j *job) card(num *number) int {
	if n := num.groups[0].len(); n >= 12 {
		return j.cardOf(num, 1, n)
	}
	mark := j.mark(num, 0)
	if len(mark) != 1 && string(mark) != " - " {
		return 0
	}
	for _, lengths := range [...][]int{{4, 4, 4, 4, 3}, {4, 4, 4, 4}, {4, 6, 5}, {4, 6, 4}, {4, 4, 4, 1}} {
		if num.shape(lengths...) && j.same(num, len(lengths), mark) {
			total := 0
			for _, n := range lengths {
				total += n
			}
			if end := j.cardOf(num, len(lengths), total); end > 0 {
				return end
			}
		}
	}
	return 0
}

// cardOf judges the first groups, which hold so many digits.
func (j *job) cardOf(num *number, groups, total int) int {
	start, end := num.groups[0].start, num.groups[groups-1].end
	digits := num.digits[:total]
	if bytes.Count(digits, digits[:1]) == total || !luhn(digits) || !j.ends(end) {
		return 0
	}
	if (total < 13 || !isIssued(num, total)) && !j.near(nearCard, start) {
		return 0
	}
	j.add("card", Card, start, end)
	return end
}

// isIssued reports that an issuer has the prefix and the length.
func isIssued(num *number, total int) bool {
	for _, i := range issuers {
		if p := num.value(0, i.digits); p >= i.from && p <= i.to && i.lengths&(1<<total) != 0 {
			return true
		}
	}
	return false
}

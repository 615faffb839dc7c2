// Package detect finds credentials and personal data in text: where they
// stand, to the byte, and by which rule.
//
// Rules are one table ([Rules]). Those with a literal in them (key formats,
// key names, host suffixes) start from one Aho–Corasick automaton; those
// without start from a digit, an '@', a ':' or a long run of base64 letters.
// What a start leads to is checked by hand-written code: the neighbouring
// bytes, alphabet and length, the issuer's checksum, a word for the thing
// nearby. Time is linear in the text, whatever it holds.
//
// Regular expressions and checksums do not find names of people, postal
// addresses, or anything else that is only recognised by what it means. Text
// that must not hold those is not kept: see the sanitizer's modes.
package detect

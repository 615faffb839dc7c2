package tlslib

// Kind is a TLS implementation.
type Kind string

// The kinds that are told apart. The first three can be probed.
const (
	OpenSSL   Kind = "openssl"
	BoringSSL Kind = "boringssl"
	Go        Kind = "go"
	GnuTLS    Kind = "gnutls"
	NSS       Kind = "nss"
	MbedTLS   Kind = "mbedtls"
	WolfSSL   Kind = "wolfssl"
	S2N       Kind = "s2n"
	Rustls    Kind = "rustls"
	Java      Kind = "java"
	// Unknown is a file that cannot be read.
	Unknown Kind = "unknown"
)

// Func is a function with a meaning to the recorder.
type Func uint8

// The functions. SSL… and BIO… are those of OpenSSL and BoringSSL; GoRead and
// GoWrite are the methods of crypto/tls.Conn. Package bpf has the same numbers.
const (
	SSLRead Func = iota + 1
	SSLReadEx
	SSLWrite
	SSLWriteEx
	SSLReadEarly
	SSLWriteEarly
	SSLHandshake
	SSLSetFD
	SSLSetRFD
	SSLSetWFD
	SSLSetBIO
	SSLFree
	BIOWrite
	GoRead
	GoWrite
)

// symbols are the names of the C functions.
var symbols = map[string]Func{
	"SSL_read": SSLRead, "SSL_read_ex": SSLReadEx,
	"SSL_write": SSLWrite, "SSL_write_ex": SSLWriteEx,
	"SSL_read_early_data": SSLReadEarly, "SSL_write_early_data": SSLWriteEarly,
	"SSL_do_handshake": SSLHandshake,
	"SSL_set_fd":       SSLSetFD, "SSL_set_rfd": SSLSetRFD, "SSL_set_wfd": SSLSetWFD,
	"SSL_set_bio": SSLSetBIO, "SSL_free": SSLFree, "BIO_write": BIOWrite,
}

// Point is one function of a file.
type Point struct {
	Func Func
	// Entry is the place of its first instruction, from the file's start; of
	// Go's functions and BIO_write, of a later one (see quietEntry, quietStart).
	Entry uint64
	// Returns are the places of all its return instructions, ascending; empty
	// where they are not known, which is never so for Go.
	Returns []uint64
}

// Implementation is a TLS implementation inside a file.
type Implementation struct {
	Kind Kind
	// Points are what can be probed, each function once; none where Reason is
	// set. A library of OpenSSL's own that has only BIO_write has one.
	Points []Point
	// Reason is why it cannot be probed; "" = it can.
	Reason string
}

// FileID names a file on this machine, across names and containers.
type FileID struct{ Dev, Inode uint64 }

// File is a program or library that a process runs code of.
type File struct {
	ID FileID
	// Path is its name as the process sees it.
	Path string
	// TLS are the implementations in it; none for most files.
	TLS []Implementation
}

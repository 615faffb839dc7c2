// Package tlslib finds the TLS implementations of running processes and the
// places in their files where plaintext can be seen: the entries and returns
// of functions such as SSL_read. It reads /proc and ELF files and changes
// nothing.
//
// Files are opened through the root of the process that maps them, so that
// containers need no help. Each is read once, however many processes map it.
// What cannot be probed is said with a reason: traffic of it is then uncovered
// by name and not by surprise.
package tlslib

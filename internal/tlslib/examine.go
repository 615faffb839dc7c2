package tlslib

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
)

// examine finds the TLS implementations of a file of the given size. Files
// that are no programs have none; programs that cannot be read have one of
// kind Unknown, with the reason.
func examine(name string, r io.ReaderAt, size int64) []Implementation {
	img, err := openImage(r, size)
	switch {
	case errors.Is(err, errForeign):
		return refused(mayHold(name), err)
	case err != nil:
		return refused(mayHold(name), errors.New("its headers are damaged"))
	}
	out, err := img.named()
	if err != nil {
		return append(out, refused(true, err)...)
	}
	if img.isGo() {
		im, err := img.goTLS()
		switch {
		case err != nil:
			out = append(out, Implementation{Kind: Go, Reason: err.Error()})
		case im != nil:
			out = append(out, *im)
		}
	}
	if len(out) == 0 {
		out = img.marked()
	}
	if strings.HasPrefix(path.Base(name), "libjvm.so") {
		out = append(out, Implementation{Kind: Java, Reason: "TLS of Java runs in code that is made while it runs"})
	}
	return out
}

// mayHold reports whether a file's name says that it is about TLS.
func mayHold(name string) bool {
	base := path.Base(name)
	return strings.Contains(base, "ssl") || strings.Contains(base, "tls")
}

func refused(worth bool, err error) []Implementation {
	if !worth {
		return nil
	}
	return []Implementation{{Kind: Unknown, Reason: err.Error()}}
}

// foreign are libraries that are known by a function of theirs and not probed.
var foreign = map[string]Implementation{
	"gnutls_record_send": {Kind: GnuTLS, Reason: "GnuTLS is not probed"},
	"mbedtls_ssl_write":  {Kind: MbedTLS, Reason: "Mbed TLS is not probed"},
	"wolfSSL_write":      {Kind: WolfSSL, Reason: "wolfSSL is not probed"},
	"s2n_send":           {Kind: S2N, Reason: "s2n is not probed"},
	"SSL_ImportFD":       {Kind: NSS, Reason: "NSS is not probed"},
}

// named finds implementations by their symbols.
func (m *image) named() ([]Implementation, error) {
	found := make(map[Func]symbol)
	others := make(map[string]bool)
	boring := false
	err := m.walkSymbols(func(name []byte, s symbol) bool {
		if fn, ok := symbols[string(name)]; ok {
			if _, twice := found[fn]; !twice && s.addr != 0 {
				found[fn] = s
			}
		} else if _, ok := foreign[string(name)]; ok {
			others[string(name)] = true
		}
		boring = boring || string(name) == "SSL_CTX_set_grease_enabled"
		return true
	})
	var out []Implementation
	if im := m.points(found); len(im.Points) > 0 || im.Reason != "" {
		if boring {
			im.Kind = BoringSSL
		}
		out = append(out, im)
	}
	for name := range others {
		out = append(out, foreign[name])
	}
	slices.SortFunc(out, func(a, b Implementation) int { return strings.Compare(string(a.Kind), string(b.Kind)) })
	return out, err
}

// points places the functions found. Those that see plaintext must all be
// there: with some of them only, a stream would have holes that nobody knows.
func (m *image) points(found map[Func]symbol) Implementation {
	im := Implementation{Kind: OpenSSL}
	for fn := SSLRead; fn <= BIOWrite; fn++ {
		s, ok := found[fn]
		if !ok {
			continue
		}
		entry, ok := m.place(s.addr)
		if !ok {
			im.Points = nil
			im.Reason = "the place of its functions in the file is not known"
			return im
		}
		at := Point{fn, entry, m.returns(s, entry)}
		if fn == BIOWrite { // each write of the library passes it
			at.Entry += m.quietStart(s)
		}
		im.Points = append(im.Points, at)
	}
	return im
}

// returns finds a C function's returns; none where its end is not known, where
// it may end in another function, or where its code is not understood.
func (m *image) returns(s symbol, entry uint64) []uint64 {
	if s.size == 0 || s.size > maxCode {
		return nil
	}
	code, ok := m.memory(s.addr, s.size)
	if !ok {
		return nil
	}
	f, err := disassemble(m.f.Machine, code)
	if err != nil || f.leaves || len(f.returns) == 0 {
		return nil
	}
	return shifted(f.returns, entry)
}

// quietStart is how far behind the entry of a C function a probe costs least; 0
// where its code is not known.
func (m *image) quietStart(s symbol) uint64 {
	if s.size == 0 || s.size > maxCode {
		return 0
	}
	code, ok := m.memory(s.addr, s.size)
	if !ok {
		return 0
	}
	return quietStart(m.f.Machine, code)
}

// isGo reports whether Go's linker made the file.
func (m *image) isGo() bool {
	for _, s := range m.f.Sections {
		switch s.Name {
		case ".go.buildinfo", ".gopclntab", ".data.rel.ro.gopclntab":
			return true
		}
	}
	return false
}

// maxMarked is how much constant data of a file is searched for marks.
const maxMarked = 64 << 20

// marks are texts that an implementation leaves in a program's constant data,
// where the program has no symbols of it: names of its source files.
var marks = []struct {
	text   string
	kind   Kind
	reason string
}{
	{"ssl/ssl_lib.c", OpenSSL, "it is linked in without symbols"},
	{"rustls/src/", Rustls, "rustls has no functions that can be found"},
	{"rustls-0.", Rustls, "rustls has no functions that can be found"},
}

// marked finds implementations by the marks that they leave.
func (m *image) marked() []Implementation {
	var out []Implementation
	left := uint64(maxMarked)
	for _, s := range m.f.Sections {
		if s.Name != ".rodata" && s.Name != ".data.rel.ro" || s.Type == elf.SHT_NOBITS {
			continue
		}
		data, err := m.bytes(s.Offset, min(s.FileSize, left))
		if err != nil {
			continue
		}
		left -= uint64(len(data))
		for _, mark := range marks {
			known := slices.ContainsFunc(out, func(im Implementation) bool { return im.Kind == mark.kind })
			if !known && bytes.Contains(data, []byte(mark.text)) {
				out = append(out, Implementation{Kind: mark.kind, Reason: mark.reason})
			}
		}
	}
	return out
}

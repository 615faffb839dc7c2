package sanitizer

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// safeBoundary separates the parts of a rewritten form: the one that came may
// be anything.
const safeBoundary = "lambdac-part"

// maxParts bounds the parts of a form.
const maxParts = 1000

// multipartBoundary returns the boundary of a multipart media type. Without
// one it is "", and the body cannot be read.
func multipartBoundary(mediaType string) (boundary string, ok bool) {
	if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(mediaType)), "multipart/") {
		return "", false
	}
	_, params, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return "", true
	}
	return params["boundary"], true
}

// rewriteMultipart rewrites a form (RFC 7578): fields as members of a JSON body
// of that name, of files the length. A form without its end is refused.
func (s *Sanitizer) rewriteMultipart(dst, body []byte, boundary string, t texts) ([]byte, error) {
	broken := &bodyError{reason: refusedMultipart}
	if boundary == "" {
		return nil, s.refuse(broken)
	}
	from := bytes.NewReader(body)
	r := multipart.NewReader(from, boundary)
	for range maxParts {
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) && bytes.Contains(body, []byte("--"+boundary+"--")) {
			return append(dst, "--"+safeBoundary+"--\r\n"...), nil
		}
		if err == nil {
			dst, err = s.rewritePart(dst, part, t)
		}
		if err != nil {
			broken.offset = int64(len(body) - from.Len())
			return nil, s.refuse(broken)
		}
	}
	return nil, s.refuse(broken)
}

func (s *Sanitizer) rewritePart(dst []byte, part *multipart.Part, t texts) ([]byte, error) {
	name := part.FormName()
	kept := name
	if !s.plainMember([]byte(name)) {
		kept = "name-" + s.keys.name("name", name)
		s.tally.add("body_name", "body", 1)
	}
	dst = append(dst, "--"+safeBoundary+"\r\nContent-Disposition: form-data; name=\""+kept+"\""...)
	if part.FileName() != "" {
		size, err := io.Copy(io.Discard, part)
		s.tally.add("file", "body", 1)
		return append(dst, "; filename=\"len:"+strconv.Itoa(len(part.FileName()))+"\"\r\n\r\nlen:"+strconv.FormatInt(size, 10)+"\r\n"...), err
	}
	value, err := io.ReadAll(part)
	if err != nil {
		return nil, err
	}
	value, err = s.rewriteField(name, value, t)
	return append(append(append(dst, "\r\n\r\n"...), value...), "\r\n"...), err
}

// rewriteField treats the value of a form's field as that of a member.
func (s *Sanitizer) rewriteField(name string, value []byte, t texts) ([]byte, error) {
	quoted, _ := jsontext.AppendQuote(nil, value)
	w := walker{s: s, t: t}
	out, err := w.document(nil, quoted, s.places.member(s.places.start, []byte(name)), withinBody)
	if err != nil {
		return nil, err
	}
	return jsontext.AppendUnquote(nil, out)
}

package sse

// AppendEvent appends one event to dst and returns it: an event: line unless
// name is empty, one data: line for each line of data, a blank line. The line
// ends in data come out as LF, since the format cannot tell them apart. name
// must not hold a line end.
func AppendEvent(dst []byte, name string, data []byte) []byte {
	if name != "" {
		dst = append(dst, "event: "...)
		dst = append(dst, name...)
		dst = append(dst, '\n')
	}
	lines := lineReader{cr: true}
	for {
		n := lines.find(data)
		if n < 0 {
			break
		}
		dst = appendData(dst, data[:n])
		if data[n] == '\r' && n+1 < len(data) && data[n+1] == '\n' {
			n++
		}
		data = data[n+1:]
	}
	return append(appendData(dst, data), '\n')
}

func appendData(dst, line []byte) []byte {
	dst = append(dst, "data: "...)
	dst = append(dst, line...)
	return append(dst, '\n')
}

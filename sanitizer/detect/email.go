package detect

import "bytes"

// at judges the '@', or "%40", at [mark, end): an e-mail address or a git
// remote.
func (j *job) at(mark, end int) {
	const (
		local  = alnum | dot | under | dash | plus | percent | high
		domain = alnum | dot | dash | high
	)
	start := local.back(j.text, mark, 64)
	for start < mark && (j.text[start] == '.' || j.text[start] == '-' || j.escaped(start+1)) {
		start++
	}
	if start > 0 && start < mark && j.escaped(start+1) { // the letter of "\n"
		start++
	}
	stop := j.run(domain, end, 253)
	j.steps += mark - start
	for stop > end && (dot | dash).in(j.text[stop-1]) {
		stop--
	}
	if start == mark || stop == end {
		return
	}
	if j.byteAt(stop) == ':' && string(j.text[start:mark]) == "git" {
		path := j.run(alnum|dot|under|dash|slash|tilde, stop+1, 256)
		if path > stop+len(":a/") {
			j.add("git_remote", Host, start, path)
			return
		}
	}
	if isDomain(j.text[end:stop]) {
		j.add("email", Email, start, stop)
	}
}

// fileTails end names of files, such as icon@2x.png, not hosts.
var fileTails = [...]string{"png", "jpg", "jpeg", "gif", "svg", "webp", "js", "mjs", "ts", "css", "json", "html", "py", "go", "md", "txt", "yaml", "yml", "zip", "tgz", "gz", "tar", "whl", "jar"}

// isDomain reports labels with dots between, the last of two letters or more.
func isDomain(d []byte) bool {
	dotAt := bytes.LastIndexByte(d, '.')
	if dotAt <= 0 || bytes.Contains(d, []byte("..")) {
		return false
	}
	top := d[dotAt+1:]
	if (letters|high).run(top, 0, len(top)) < len(top) && !bytes.HasPrefix(top, []byte("xn--")) || len(top) < 2 {
		return false
	}
	for _, tail := range fileTails {
		if bytes.EqualFold(top, []byte(tail)) {
			return false
		}
	}
	return true
}

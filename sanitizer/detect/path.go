package detect

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// commonUsers are names of no one: accounts that systems and images have.
var commonUsers = [...]string{"user", "users", "username", "your_username", "yourname", "me", "you", "root", "runner", "ubuntu", "debian", "admin", "app", "shared", "public", "default", "node", "circleci", "vscode", "vagrant", "linuxbrew", "ec2-user", "all users"}

// home judges the segment after /home/, /Users/ or \Users\ at [start, end):
// it is a user's name if the path is absolute. The finding covers the folder's
// name too: without it nobody takes what is put there for a name.
func (j *job) home(start, end int) {
	mark := j.text[start]
	if mark == '/' && !j.has(start, "/home/") && !j.has(start, "/Users/") || mark == '/' && !j.isAbsolute(start) {
		return
	}
	for mark == '\\' && j.byteAt(end) == '\\' {
		end++
	}
	stop := j.run(alnum|dot|under|dash|high|plus|tilde, end, 64)
	for stop > end && j.text[stop-1] == '.' {
		stop--
	}
	if stop == end {
		return
	}
	for _, u := range commonUsers {
		if bytes.EqualFold(j.text[end:stop], []byte(u)) {
			return
		}
	}
	j.add("home_path", Path, start+1, stop)
}

// isAbsolute reports that the path that holds the slash at at begins with
// one, and is not the rest of a URL. Scripts without case have no
// blanks, so their letters may stand before.
func (j *job) isAbsolute(at int) bool {
	start := j.pastEscape((word|slash).back(j.text, at, 64), at)
	j.steps += at - start
	for start < at && (dash | under).in(j.text[start]) { // a removed line, an emphasis
		start++
	}
	if start == at && j.escaped(at) {
		return true
	}
	if start == at {
		before, _ := utf8.DecodeLastRune(j.text[max(0, at-utf8.UTFMax):at])
		return before != '.' && before != '~' && !unicode.IsUpper(before) && !unicode.IsLower(before)
	}
	return j.text[start] == '/' && (j.byteAt(start+1) != '/' || j.has(start-5, "file:"))
}

package detect

import "bytes"

// hostSuffix ends the names of hosts that say whose they are.
type hostSuffix struct {
	suffix string
	rule   string
	// attribute says that programs write it too, as an attribute: then the
	// text must say that it is a host.
	attribute bool
}

var hostSuffixes = [...]hostSuffix{
	{".internal", "private_host", true},
	{".local", "private_host", true},
	{".lan", "private_host", true},
	{".corp", "private_host", true},
	{".intranet", "private_host", true},
	{".intra", "private_host", true},
	{".home.arpa", "private_host", false},
	{".svc.cluster.local", "private_host", false},
	{".ts.net", "private_host", false},
	{".amazonaws.com", "cloud_host", false},
	{".awsapps.com", "cloud_host", false},
	{".openai.azure.com", "cloud_host", false},
	{".cognitiveservices.azure.com", "cloud_host", false},
	{".services.ai.azure.com", "cloud_host", false},
	{".search.windows.net", "cloud_host", false},
	{".database.windows.net", "cloud_host", false},
	{".core.windows.net", "cloud_host", false},
	{".azurewebsites.net", "cloud_host", false},
	{".cloudapp.azure.com", "cloud_host", false},
	{".azurecr.io", "cloud_host", false},
	{".vault.azure.net", "cloud_host", false},
	{".run.app", "cloud_host", false},
	{".cloudfunctions.net", "cloud_host", false},
	{".firebaseio.com", "cloud_host", false},
	{".supabase.co", "cloud_host", false},
	{".snowflakecomputing.com", "cloud_host", false},
	{".cloud.databricks.com", "cloud_host", false},
	{".mongodb.net", "cloud_host", false},
	{".ngrok.io", "cloud_host", false},
	{".ngrok-free.app", "cloud_host", false},
	{".trycloudflare.com", "cloud_host", false},
	{".herokuapp.com", "cloud_host", false},
}

// host judges the suffix at [start, end).
func (j *job) host(h *hostSuffix, start, end int) {
	if j.goesOn(end) || j.byteAt(end) == '.' && alnum.in(j.byteAt(end+1)) {
		return
	}
	from := (alnum | dash | dot).back(j.text, start, 253)
	j.steps += start - from
	for from < start && (dot | dash).in(j.text[from]) {
		from++
	}
	if from == start || h.attribute && !j.isHost(from, start, end) {
		return
	}
	j.add(h.rule, Host, from, end)
}

// isHost reports that what stands around a name says that it is a host: "://"
// or '@' before it, a port after it, or a hyphen or digit in its labels and
// no call or assignment after it.
func (j *job) isHost(from, start, end int) bool {
	if j.has(from-3, "://") || j.byteAt(from-1) == '@' || j.byteAt(end) == ':' && digit.in(j.byteAt(end+1)) {
		return true
	}
	switch j.byteAt(end) {
	case '(', '[', '=', '_':
		return false
	}
	labels := j.text[from:start]
	return bytes.IndexByte(labels, '-') > 0 || digit.in(labels[len(labels)-1])
}

// arn judges the rest of "arn:aws…": the account in an Amazon resource name,
// its fifth part.
func (j *job) arn(end int) {
	at := j.run(lower|hexLower|dash, end, 16)
	for range 2 {
		if j.byteAt(at) != ':' {
			return
		}
		at = j.run(alnum|dash, at+1, 32)
	}
	if j.byteAt(at) != ':' {
		return
	}
	if stop := j.run(digit, at+1, 13); stop-at-1 == 12 {
		j.add("cloud_account", Host, at+1, stop)
	}
}

// subscription judges what follows /subscriptions/: a UUID in Azure's
// resource ids.
func (j *job) subscription(end int) {
	if stop := j.run(hexAny|dash, end, 40); stop-end == 36 && j.text[end+8] == '-' {
		j.add("cloud_account", Host, end, stop)
	}
}

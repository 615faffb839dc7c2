package datasets

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// bodies are the request bodies of a trace, by request. They are held in
// memory.
func (x *export) bodies() (map[string][]byte, error) {
	bodies := map[string][]byte{}
	for b, err := range tracedir.Rows[trace.Body](x.dir) {
		if err != nil {
			return nil, err
		}
		if b.Side == trace.SideRequest {
			bodies[b.RequestID] = b.Body
		}
	}
	if len(bodies) == 0 {
		return nil, fmt.Errorf("%w: the trace keeps no bodies; record with --mode filler or --mode redact", ErrExport)
	}
	return bodies, nil
}

// noAPI is of a body that is no request as the format has them.
const noAPI = "its API is not known"

// exportWithBodies calls line for each exchange whose request body was kept; it
// gives the line, or why there is none.
func exportWithBodies(x *export, line func(row *exportRow, body []byte) (text []byte, lack string, err error)) error {
	bodies, err := x.bodies()
	if err != nil {
		return err
	}
	rows, err := x.rows()
	if err != nil {
		return err
	}
	for _, row := range rows {
		body := bodies[row.RequestID]
		if body == nil {
			x.leaveOut("no body kept")
			continue
		}
		text, lack, err := line(row, body)
		if err != nil {
			return err
		}
		if lack != "" {
			x.leaveOut(lack)
			continue
		}
		if _, err := x.out.Write(append(text, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// exportPayload writes AIPerf's Mooncake lines with the request bodies as they
// are (payload), which are sent verbatim.
func exportPayload(x *export) error {
	return exportWithBodies(x, func(row *exportRow, body []byte) ([]byte, string, error) {
		payload := jsontext.Value(body)
		if payload.Compact() != nil || payload.Kind() != '{' {
			return nil, noAPI, nil
		}
		at, ok := x.arrival(row.StartUnixNs)
		if !ok {
			return nil, noStart, nil
		}
		line := milliseconds([]byte(`{"timestamp":`), at)
		if row.SessionID != nil {
			line = sessionMember(line, *row.SessionID)
		}
		line = append(line, `,"payload":`...)
		line = append(line, payload...)
		return append(line, '}'), "", nil
	})
}

// exportVegeta writes Vegeta's JSON targets, in order of arrival; Vegeta has
// no place for the times.
func exportVegeta(x *export) error {
	target, err := url.Parse(x.cfg.Target)
	if err != nil || target.Host == "" || strings.Trim(target.Path, "/") != "" || target.User != nil || target.RawQuery != "" {
		return fmt.Errorf("target %q: %w: want a URL such as http://staging:8000", x.cfg.Target, ErrExport)
	}
	x.warn("vegeta's targets have no times: they are in the order of the arrivals")
	base := target.Scheme + "://" + target.Host
	return exportWithBodies(x, func(row *exportRow, body []byte) ([]byte, string, error) {
		path := kindPaths[row.APIKind]
		if path == "" || strings.Contains(path, "{") {
			return nil, noAPI, nil
		}
		if !isWord(row.Method) {
			return nil, noMethod, nil
		}
		if _, ok := x.arrival(row.StartUnixNs); !ok {
			return nil, noStart, nil
		}
		if x.cfg.Plain {
			return body, "", nil
		}
		text, err := json.Marshal(vegetaOut{
			row.Method, base + path,
			map[string][]string{"Content-Type": {"application/json"}},
			base64.StdEncoding.EncodeToString(body),
		})
		return text, "", err
	})
}

type vegetaOut struct {
	Method string              `json:"method"`
	URL    string              `json:"url"`
	Header map[string][]string `json:"header"`
	Body   string              `json:"body"`
}

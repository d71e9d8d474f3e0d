package door

import (
	"encoding/xml"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	uriTransfer = "http://schemas.xmlsoap.org/ws/2004/09/transfer/"
	uriShell    = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell"
	uriCmd      = uriShell + "/cmd"
	actionFault = "http://schemas.dmtf.org/wbem/wsman/1/wsman/fault"
	namespaces  = `xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:x="http://schemas.xmlsoap.org/ws/2004/09/transfer" xmlns:w="http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd" xmlns:rsp="` + uriShell + `" xmlns:p="http://schemas.microsoft.com/wbem/wsman/1/wsman.xsd"`
)

// request is a WS-Management request of a shell client.
type request struct {
	Header struct {
		Action           string      `xml:"Action"`
		MessageID        string      `xml:"MessageID"`
		MaxEnvelopeSize  string      `xml:"MaxEnvelopeSize"`
		OperationTimeout string      `xml:"OperationTimeout"`
		ResourceURI      string      `xml:"ResourceURI"`
		Selectors        []nameValue `xml:"SelectorSet>Selector"`
		Options          []nameValue `xml:"OptionSet>Option"`
	} `xml:"Header"`
	Body struct {
		Shell *struct {
			ShellID     string      `xml:"ShellId,attr"`
			IdleTimeOut string      `xml:"IdleTimeOut"`
			Variables   []nameValue `xml:"Environment>Variable"`
		} `xml:"Shell"`
		CommandLine *struct {
			CommandID string   `xml:"CommandId,attr"`
			Command   string   `xml:"Command"`
			Arguments []string `xml:"Arguments"`
		} `xml:"CommandLine"`
		Receive *struct {
			DesiredStream struct {
				CommandID string `xml:"CommandId,attr"`
				Streams   string `xml:",chardata"`
			} `xml:"DesiredStream"`
		} `xml:"Receive"`
		Send *struct {
			Streams []struct {
				Name      string `xml:"Name,attr"`
				CommandID string `xml:"CommandId,attr"`
				End       string `xml:"End,attr"`
				Data      string `xml:",chardata"`
			} `xml:"Stream"`
		} `xml:"Send"`
		Signal *struct {
			CommandID string `xml:"CommandId,attr"`
			Code      string `xml:"Code"`
		} `xml:"Signal"`
	} `xml:"Body"`

	user, url, clientIP string
	sealed              *sealing // nil where the request came unsealed
}

type nameValue struct {
	Name  string `xml:"Name,attr"`
	Value string `xml:",chardata"`
}

func parseRequest(body []byte) (*request, error) {
	var r request
	if err := xml.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	h := &r.Header
	for _, s := range []*string{&h.Action, &h.MessageID, &h.MaxEnvelopeSize, &h.OperationTimeout, &h.ResourceURI} {
		*s = strings.TrimSpace(*s)
	}
	return &r, nil
}

// operation is the action's last word if the action is one that shells know; "" if not.
func (r *request) operation() string {
	for _, op := range Operations() {
		prefix := uriShell + "/"
		if op == OpCreate || op == OpDelete {
			prefix = uriTransfer
		}
		if r.Header.Action == prefix+op {
			return op
		}
	}
	return ""
}

func lookup(list []nameValue, name string) string {
	for _, n := range list {
		if strings.EqualFold(n.Name, name) {
			return strings.TrimSpace(n.Value)
		}
	}
	return ""
}

func (r *request) shellID() string { return strings.ToUpper(lookup(r.Header.Selectors, "ShellId")) }

// timeout is the client's OperationTimeout, bounded as the service bounds it.
func (r *request) timeout(most time.Duration) time.Duration {
	if d, ok := parseDuration(r.Header.OperationTimeout); ok && d > 0 && d < most {
		return d
	}
	return most
}

// minEnvelope is the smallest MaxEnvelopeSize that WS-Management lets a client ask for.
const minEnvelope = 8192

// maxEnvelope is how large the answer may become.
func (r *request) maxEnvelope(server int) int {
	if n, err := strconv.Atoi(r.Header.MaxEnvelopeSize); err == nil && n < server {
		return max(n, minEnvelope)
	}
	return server
}

// response builds an envelope. Clients compare Action and RelatesTo exactly.
func response(action, relatesTo, body string) string {
	return `<s:Envelope xml:lang="en-US" ` + namespaces + `><s:Header><a:Action>` + action + `</a:Action><a:MessageID>uuid:` + newID() +
		`</a:MessageID><a:To>http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous</a:To><a:RelatesTo>` + escape(relatesTo) +
		`</a:RelatesTo></s:Header><s:Body>` + body + `</s:Body></s:Envelope>`
}

func shellResponse(op string, r *request, body string) reply {
	action := uriShell + "/" + op + "Response"
	if op == OpCreate || op == OpDelete {
		action = uriTransfer + op + "Response"
	}
	return reply{status: 200, body: response(action, r.Header.MessageID, body)}
}

func newID() string { return strings.ToUpper(uuid.NewString()) }

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder never fails
	return b.String()
}

var duration = regexp.MustCompile(`^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)

// parseDuration reads the xs:duration forms that clients send: PT20S, PT60.000S, P0DT0H1M30S.
func parseDuration(s string) (time.Duration, bool) {
	m := duration.FindStringSubmatch(strings.ToUpper(strings.TrimSpace(s)))
	if m == nil {
		return 0, false
	}
	total := 0.0
	for i, unit := range []float64{86400, 3600, 60, 1} {
		if m[i+1] != "" {
			n, err := strconv.ParseFloat(m[i+1], 64)
			if err != nil {
				return 0, false
			}
			total += n * unit
		}
	}
	const longest = 365 * 86400
	return time.Duration(min(total, longest) * float64(time.Second)), true
}

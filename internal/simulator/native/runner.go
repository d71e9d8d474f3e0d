package native

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// pieceSize is the most base64 that one answer line carries.
const pieceSize = 49152

// runner is what runner.ps1 is in a PowerShell: the line protocol and the state of one process.
type runner struct {
	engine   *Engine
	host     string
	target   string // where calls without a guest go: the host, or the guest that the process runs in
	id       string // of this process
	pid      int64
	out      *buffer
	sessions map[string]*session // open PowerShell Direct sessions by VM, user and password

	killed atomic.Bool // no further call runs; the one that runs goes on in the model

	current    int64
	total      int
	pieces     map[int]string
	last       int64
	lastAnswer string
}

func newRunner(e *Engine, host, target, id string, pid int64, out *buffer) *runner {
	return &runner{engine: e, host: host, target: target, id: id, pid: pid, out: out, sessions: map[string]*session{}, pieces: map[int]string{}}
}

// loop reads lines until X or the end of input.
func (r *runner) loop(lines *bufio.Reader) {
	r.hello()
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if !r.line(strings.TrimRight(line, "\r\n")) {
			return
		}
	}
}

// line handles one line; false ends the process.
func (r *runner) line(line string) bool {
	field := strings.Split(line, " ")
	switch {
	case field[0] == "X":
		return false
	case field[0] == "H":
		r.hello()
	case field[0] == "R" && len(field) == 2:
		r.askedAgain(field[1])
	case field[0] == "C" && len(field) == 6:
		r.piece(field)
	}
	return true
}

func (r *runner) hello() {
	text, err := json.Marshal(struct {
		Protocol int    `json:"protocol"`
		Version  string `json:"version"`
		Edition  string `json:"edition"`
		PID      int64  `json:"pid"`
	}{1, r.engine.version, "Desktop", r.pid})
	if err != nil {
		return
	}
	r.write("#HV H " + base64.StdEncoding.EncodeToString(text))
}

func (r *runner) askedAgain(text string) {
	id, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
	case id == r.last:
		r.answer()
	case id == r.current:
		var missing []string
		for i := range r.total {
			if _, ok := r.pieces[i]; !ok {
				missing = append(missing, strconv.Itoa(i))
			}
		}
		r.write(fmt.Sprintf("#HV S %d partial:%s", id, strings.Join(missing, ",")))
	default:
		r.write(fmt.Sprintf("#HV S %d unknown", id))
	}
}

// piece takes one piece of a request and runs the request when it is whole. Copies of pieces that
// have had their time are dropped, so that nothing runs twice.
func (r *runner) piece(field []string) {
	id, err1 := strconv.ParseInt(field[1], 10, 64)
	index, err2 := strconv.ParseInt(field[2], 10, 32)
	count, err3 := strconv.ParseInt(field[3], 10, 32)
	length, err4 := strconv.ParseInt(field[4], 10, 32)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || index < 0 || index >= count || len(field[5]) != int(length) {
		return
	}
	if id == r.last {
		if index == count-1 {
			r.answer()
		}
		return
	}
	if id < r.last || id < r.current {
		return
	}
	if id != r.current {
		r.current, r.total, r.pieces = id, int(count), map[int]string{}
	}
	r.pieces[int(index)] = field[5]
	if len(r.pieces) < r.total {
		return
	}
	var text strings.Builder
	for i := range r.total {
		text.WriteString(r.pieces[i])
	}
	reply := r.batch(id, text.String())
	r.last, r.lastAnswer = id, base64.StdEncoding.EncodeToString(reply)
	r.current, r.total, r.pieces = 0, 0, map[int]string{}
	r.answer()
}

// request is wire.Request as the runner sees it: value forms are still plain JSON.
type request struct {
	Groups [][]*call `json:"groups"`
}

type call struct {
	wire.Call
	Guest *guestForm `json:"guest"`
}

type guestForm struct {
	VMID       any `json:"vmId"`
	Credential any `json:"credential"`
}

func (r *runner) batch(id int64, encoded string) []byte {
	reply := wire.Reply{Groups: [][]wire.Result{}}
	groups, err := decodeRequest(encoded)
	if err != nil {
		reply.Failure = commandError(&cmdlet.Error{
			ID: wire.ErrorRunner, Category: "NotSpecified", Exception: "System.ArgumentException", Message: err.Error(),
		}, "")
	}
	for i, calls := range groups {
		reply.Groups = append(reply.Groups, r.group(fmt.Sprintf("%d.%d", id, i), calls))
	}
	text, err := json.Marshal(reply)
	if err != nil {
		failure, _ := json.Marshal(wire.Reply{Groups: [][]wire.Result{}, Failure: &wire.CommandError{ID: wire.ErrorRunner, Category: "NotSpecified", Message: err.Error()}})
		return failure
	}
	return text
}

func decodeRequest(encoded string) ([][]*call, error) {
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var req request
	if err := decoder.Decode(&req); err != nil {
		return nil, err
	}
	return req.Groups, nil
}

func (r *runner) answer() {
	text := r.lastAnswer
	count := max(1, (len(text)+pieceSize-1)/pieceSize)
	for i := range count {
		part := text[i*pieceSize : min(len(text), (i+1)*pieceSize)]
		r.write(fmt.Sprintf("#HV A %d %d %d %d %s", r.last, i, count, len(part), part))
	}
}

// write puts a line on stdout, apart from what a cmdlet may have left there.
func (r *runner) write(line string) { r.out.write([]byte("\n" + line + "\n")) }

package wire

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// The line protocol on stdin and stdout of a runner process. Everything is ASCII, one record a line.
//
// The process first reads the runner script: base64 lines up to a line that is a single ".". Then it
// writes its hello and reads:
//
//	C <id> <piece> <pieces> <length> <base64>   one piece of a request; ids only ever grow
//	R <id>                                      answer again, or say what is known of this request
//	H                                           say hello again
//	X                                           leave
//
// and writes, each on a line of its own and after an empty line where a cmdlet printed something:
//
//	#HV A <id> <piece> <pieces> <length> <base64>   one piece of an answer
//	#HV S <id> unknown                              no piece of this request is known
//	#HV S <id> partial:<piece>,<piece>              these pieces of the request are missing
//	#HV H <base64 of Hello>                         hello
//
// Any other line on stdout is noise. A request runs when its last missing piece arrives, once: the
// pieces of a request that has run are answered with the kept answer if it is the last one (and the
// piece is its last), and ignored otherwise; a piece of the wrong length is ignored. So every line
// may be sent again, and a lost answer can be had again, without running anything twice.

// ProtocolVersion is the version in Hello.
const ProtocolVersion = 1

// ScriptEnd is the line that ends the runner script.
const ScriptEnd = "."

// AnswerPiece is how many base64 characters one piece of an answer holds.
const AnswerPiece = 49152

// Hello is what a runner says of itself.
type Hello struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"` // of PowerShell
	Edition  string `json:"edition"`
	PID      int    `json:"pid"`
}

// Piece is one piece of a request or of an answer.
type Piece struct {
	ID            int64
	Index, Pieces int
	Text          string // base64
}

// SplitPieces cuts data into pieces of at most size base64 characters; there is always one.
func SplitPieces(id int64, data []byte, size int) []Piece {
	text := base64.StdEncoding.EncodeToString(data)
	count := max(1, (len(text)+size-1)/size)
	pieces := make([]Piece, count)
	for i := range pieces {
		pieces[i] = Piece{ID: id, Index: i, Pieces: count, Text: text[i*size : min(len(text), (i+1)*size)]}
	}
	return pieces
}

// RequestLine is the piece as a line of stdin.
func (p Piece) RequestLine() string { return "C " + p.fields() }

// AnswerLine is the piece as a line of stdout.
func (p Piece) AnswerLine() string { return "#HV A " + p.fields() }

func (p Piece) fields() string {
	return fmt.Sprintf("%d %d %d %d %s\n", p.ID, p.Index, p.Pieces, len(p.Text), p.Text)
}

// ParsePiece reads the fields of a C or A line behind its letter; a damaged piece is not ok.
func ParsePiece(fields []string) (p Piece, ok bool) {
	if len(fields) != 5 {
		return Piece{}, false
	}
	id, err1 := strconv.ParseInt(fields[0], 10, 64)
	index, err2 := strconv.Atoi(fields[1])
	pieces, err3 := strconv.Atoi(fields[2])
	length, err4 := strconv.Atoi(fields[3])
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil ||
		index < 0 || index >= pieces || length != len(fields[4]) {
		return Piece{}, false
	}
	return Piece{ID: id, Index: index, Pieces: pieces, Text: fields[4]}, true
}

// JoinPieces decodes the pieces of one request or answer, given by index.
func JoinPieces(pieces map[int]string) ([]byte, error) {
	var text strings.Builder
	for i := range len(pieces) {
		piece, ok := pieces[i]
		if !ok {
			return nil, fmt.Errorf("piece %d of %d is missing", i, len(pieces))
		}
		text.WriteString(piece)
	}
	return base64.StdEncoding.DecodeString(text.String())
}

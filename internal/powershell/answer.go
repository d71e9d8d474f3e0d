package powershell

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// maxAnswerPieces bounds an answer to about 64 MiB.
const maxAnswerPieces = 64 << 20 / wire.AnswerPiece

// answer collects the pieces of the answer to one request, in any order and any number of times.
type answer struct {
	id      int64
	count   int
	pieces  map[int]string
	unknown bool  // the process says that it knows nothing of the request
	missing []int // the process says that these pieces of the request are missing
}

func (a *answer) add(piece wire.Piece) {
	if piece.ID != a.id {
		return
	}
	if a.pieces == nil {
		a.pieces, a.count = map[int]string{}, piece.Pieces
	}
	if piece.Pieces == a.count && a.count <= maxAnswerPieces {
		a.pieces[piece.Index] = piece.Text
	}
}

func (a *answer) state(id, state string) {
	if id != strconv.FormatInt(a.id, 10) {
		return
	}
	if state == "unknown" {
		a.unknown = true
	}
	if list, ok := strings.CutPrefix(state, "partial:"); ok {
		a.missing = []int{}
		for _, text := range strings.Split(list, ",") {
			if i, err := strconv.Atoi(text); err == nil {
				a.missing = append(a.missing, i)
			}
		}
	}
}

// text is the whole answer, once every piece is there.
func (a *answer) text() (text []byte, ok bool, err error) {
	if a.count > maxAnswerPieces {
		return nil, false, fmt.Errorf("an answer of %d pieces is too large", a.count)
	}
	if a.count == 0 || len(a.pieces) < a.count {
		return nil, false, nil
	}
	text, err = wire.JoinPieces(a.pieces)
	return text, err == nil, err
}

package powershell

import (
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"unicode/utf16"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

//go:embed bootstrap.ps1
var bootstrap string

//go:embed runner.ps1
var runnerScript string

// scriptLine is how long the lines are that the script is sent in.
const scriptLine = 4000

// CommandLine starts a PowerShell process that reads its script from stdin. It holds nothing but
// constants. Why each switch:
//   - NonInteractive: a prompt would read its answer from stdin, that is, from the protocol;
//   - ExecutionPolicy: modules that are scripts must load whatever the policy for users is;
//   - OutputFormat Text: with EncodedCommand stderr would be CLIXML otherwise.
func CommandLine() string {
	return "powershell.exe -NoLogo -NoProfile -NonInteractive -ExecutionPolicy Bypass -OutputFormat Text -EncodedCommand " +
		encodeCommand(bootstrap)
}

// encodeCommand is base64 of UTF-16LE, which -EncodedCommand takes.
func encodeCommand(script string) string {
	units := utf16.Encode([]rune(script))
	data := make([]byte, 0, 2*len(units))
	for _, unit := range units {
		data = binary.LittleEndian.AppendUint16(data, unit)
	}
	return base64.StdEncoding.EncodeToString(data)
}

// scriptInput is the runner script as the bootstrap reads it, cut into sends of at most size bytes.
func scriptInput(size int) []string {
	text := base64.StdEncoding.EncodeToString([]byte(runnerScript))
	var sends []string
	var send strings.Builder
	for len(text) > 0 {
		n := min(len(text), scriptLine, size-1)
		if send.Len()+n+1 > size {
			sends = append(sends, send.String())
			send.Reset()
		}
		send.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	end := wire.ScriptEnd + "\n"
	if send.Len()+len(end) > size {
		sends = append(sends, send.String())
		send.Reset()
	}
	return append(sends, send.String()+end)
}

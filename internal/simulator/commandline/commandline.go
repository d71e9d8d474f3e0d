// Package commandline reads the command lines that clients of a Windows remote shell send, as far as
// the simulator's engines need to.
package commandline

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf16"
)

// Split cuts a command line at spaces outside of double quotes.
func Split(commandLine string) (program string, args []string) {
	var fields []string
	var field strings.Builder
	quoted, open := false, false
	for _, r := range commandLine {
		switch {
		case r == '"':
			quoted, open = !quoted, true
		case (r == ' ' || r == '\t') && !quoted:
			if open {
				fields = append(fields, field.String())
				field.Reset()
				open = false
			}
		default:
			field.WriteRune(r)
			open = true
		}
	}
	if open {
		fields = append(fields, field.String())
	}
	if len(fields) == 0 {
		return "", nil
	}
	return fields[0], fields[1:]
}

// IsPowerShell says whether a program is Windows PowerShell.
func IsPowerShell(program string) bool {
	name := strings.ToLower(program[strings.LastIndexAny(program, `\/`)+1:])
	return name == "powershell" || name == "powershell.exe"
}

// NotRecognized is what cmd.exe prints for a program that is not there; it then exits with 1.
func NotRecognized(program string) string {
	return "'" + program + "' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n"
}

// ConstrainedText is what a PowerShell in constrained language mode says of the first method call of a script on
// a type that is not allowed there.
const ConstrainedText = "Cannot invoke method. Method invocation is supported only on core types in this language mode.\r\n" +
	"    + CategoryInfo          : InvalidOperation: (:) [], RuntimeException\r\n" +
	"    + FullyQualifiedErrorId : MethodInvocationNotSupportedInConstrainedLanguage\r\n"

// Refusal is what powershell.exe, or the simulator in its place, prints before it exits with 1.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Script is the script that powershell.exe is asked to run, by its arguments. Without -NonInteractive a missing
// parameter would make PowerShell read the caller's next line as its value, so that is refused.
func Script(args []string) (string, error) {
	nonInteractive, script, found := false, "", false
	for i := 0; i < len(args) && !found; i++ {
		option, ok := strings.CutPrefix(strings.ToLower(args[i]), "-")
		if !ok {
			continue
		}
		switch {
		case len(option) >= 4 && strings.HasPrefix("noninteractive", option):
			nonInteractive = true
		case option == "ec", option != "" && strings.HasPrefix("encodedcommand", option):
			if i+1 >= len(args) {
				return "", Refusal("Cannot process the command because of a missing parameter. A command must follow -EncodedCommand.")
			}
			i++
			text, err := decodeCommand(args[i])
			if err != nil {
				return "", Refusal("Cannot process the command because the value specified with -EncodedCommand is not properly encoded. The value must be Base64 encoded.")
			}
			script, found = text, true
			// Options may stand behind it.
			for _, rest := range args[i+1:] {
				rest = strings.ToLower(strings.TrimPrefix(rest, "-"))
				nonInteractive = nonInteractive || len(rest) >= 4 && strings.HasPrefix("noninteractive", rest)
			}
		case option != "" && strings.HasPrefix("command", option):
			script, found = strings.Join(args[i+1:], " "), true
		}
	}
	if !nonInteractive {
		return "", Refusal("The simulator runs powershell.exe only with -NonInteractive: without it a prompt for a missing parameter reads the caller's next line as its answer.")
	}
	if !found {
		return "", Refusal("The simulator runs powershell.exe only with -EncodedCommand or -Command.")
	}
	return script, nil
}

func decodeCommand(encoded string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", err
	}
	if len(raw)%2 != 0 {
		return "", errors.New("odd length")
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units)), nil
}

// Encode is the form of a script behind -EncodedCommand.
func Encode(script string) string {
	var raw []byte
	for _, u := range utf16.Encode([]rune(script)) {
		raw = binary.LittleEndian.AppendUint16(raw, u)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

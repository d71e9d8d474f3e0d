package winrm

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/masterzen/winrm"
	"github.com/masterzen/winrm/soap"
)

const (
	actionCreate  = "http://schemas.xmlsoap.org/ws/2004/09/transfer/Create"
	actionCommand = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell/Command"
	resourceCmd   = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell/cmd"
	anonymous     = "http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous"
)

// idleTimeout is after how long without any request the host removes a shell of ours by itself. It
// bounds the life of a shell that nobody knows: its Create was answered, but the answer was lost.
const idleTimeout = "PT900.000S"

func parameters(c Config) *winrm.Parameters {
	return winrm.NewParameters(fmt.Sprintf("PT%.3fS", c.OperationTimeout.Seconds()), "en-US", c.EnvelopeSize)
}

func newMessage(url, action string, p *winrm.Parameters) (*soap.SoapMessage, *soap.SoapHeader) {
	m := soap.NewMessage()
	return m, m.Header().To(url).ReplyTo(anonymous).MaxEnvelopeSize(p.EnvelopeSize).
		Id("uuid:" + uuid.NewString()).Locale(p.Locale).Timeout(p.Timeout).
		Action(action).ResourceURI(resourceCmd)
}

// newCreateRequest is winrm.NewOpenShellRequest with an idle timeout.
func newCreateRequest(url string, p *winrm.Parameters) *soap.SoapMessage {
	m, header := newMessage(url, actionCreate, p)
	header.AddOption(soap.NewHeaderOption("WINRS_NOPROFILE", "FALSE")).
		AddOption(soap.NewHeaderOption("WINRS_CODEPAGE", "65001")).Build()
	shell := m.CreateBodyElement("Shell", soap.DOM_NS_WIN_SHELL)
	for _, e := range [][2]string{{"IdleTimeOut", idleTimeout}, {"InputStreams", "stdin"}, {"OutputStreams", "stdout stderr"}} {
		m.CreateElement(shell, e[0], soap.DOM_NS_WIN_SHELL).SetContent(e[1])
	}
	return m
}

// newCommandRequest is winrm.NewExecuteCommandRequest with stdin as a pipe: as a console (MS-WSMV
// 3.1.4.11) it would have a console's line limits and echo.
func newCommandRequest(url, shell, commandLine string, p *winrm.Parameters) *soap.SoapMessage {
	m, header := newMessage(url, actionCommand, p)
	header.ShellId(shell).
		AddOption(soap.NewHeaderOption("WINRS_CONSOLEMODE_STDIN", "FALSE")).
		AddOption(soap.NewHeaderOption("WINRS_SKIP_CMD_SHELL", "FALSE")).Build()
	body := m.CreateBodyElement("CommandLine", soap.DOM_NS_WIN_SHELL)
	// simplexml writes content as it is.
	var text strings.Builder
	_ = xml.EscapeText(&text, []byte(commandLine))
	m.CreateElement(body, "Command", soap.DOM_NS_WIN_SHELL).SetContent(text.String())
	return m
}

// parseFault gives nil for a body that is no SOAP fault.
func parseFault(status int, body []byte) *Fault {
	var envelope struct {
		Fault *struct {
			Subcode string `xml:"Code>Subcode>Value"`
			Reason  string `xml:"Reason>Text"`
			Detail  struct {
				WSMan *struct {
					Code    string `xml:"Code,attr"`
					Message string `xml:"Message"`
				} `xml:"WSManFault"`
				WMI *struct {
					Code string `xml:"error_Code"`
				} `xml:"MSFT_WmiError"`
			} `xml:"Detail"`
		} `xml:"Body>Fault"`
	}
	if xml.Unmarshal(body, &envelope) != nil || envelope.Fault == nil {
		return nil
	}
	f := &Fault{Subcode: envelope.Fault.Subcode, Reason: strings.TrimSpace(envelope.Fault.Reason), Status: status}
	if detail := envelope.Fault.Detail.WSMan; detail != nil {
		f.Code = faultCode(detail.Code)
		if message := strings.TrimSpace(detail.Message); message != "" {
			f.Reason = message
		}
	} else if detail := envelope.Fault.Detail.WMI; detail != nil {
		f.Code = faultCode(detail.Code)
	}
	return f
}

// faultCode reads a code that may be written signed or in hexadecimal; 0 is no code.
func faultCode(text string) uint32 {
	code, err := strconv.ParseInt(strings.TrimSpace(text), 0, 64)
	if err != nil {
		return 0
	}
	return uint32(code) //nolint:gosec // a negative number is the same HRESULT
}

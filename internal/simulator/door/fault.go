package door

import "fmt"

// Codes of WS-Management faults that clients act on.
const (
	CodeTimedOut        = 2150858793 // no output within OperationTimeout
	CodeInvalidSelector = 2150858843 // no such shell, or no such command
	CodeMaxShells       = 2150859173
	CodeMaxOperations   = 2150859174
	CodeBusy            = 170
	CodeAccessDenied    = 5
	CodeAborted         = 995
	CodeTooLong         = 2147942606
	CodeKeyDeleted      = 2147943418
	CodeAction          = 2150858771
	// CodeResource is not confirmed by any recorded traffic.
	CodeResource = 2150858811
)

type fault struct {
	code, subcode, text string
	number              uint32
	wmi                 bool // arrives as MSFT_WmiError, with no WSManFault
}

func faultTimedOut() fault {
	return fault{"s:Receiver", "w:TimedOut", "The WS-Management service cannot complete the operation within the time specified in OperationTimeout.  ", CodeTimedOut, false}
}

func faultAccessDenied() fault {
	return fault{"s:Sender", "w:AccessDenied", "Access is denied. ", CodeAccessDenied, false}
}

func faultNoShell() fault {
	return fault{"s:Sender", "w:InvalidSelectors", "The WS-Management service cannot process the request because the request contained invalid selectors for the resource. ", CodeInvalidSelector, false}
}

func faultNoCommand() fault {
	return fault{"s:Sender", "w:InvalidSelectors", "The Windows Remote Shell received a request to perform an operation on a command identifier that does not exist. Either the command has completed execution or the client specified an invalid command identifier. ", CodeInvalidSelector, false}
}

func faultMaxShells(limit int) fault {
	return fault{"s:Receiver", "w:QuotaLimit", fmt.Sprintf("The WS-Management service cannot process the request. This user is allowed a maximum number of %d concurrent shells, which has been exceeded. Close existing shells or raise the quota for this user. ", limit), CodeMaxShells, false}
}

func faultMaxOperations(limit int) fault {
	return fault{"s:Receiver", "w:QuotaLimit", fmt.Sprintf("The WS-Management service cannot process the request. This user is allowed a maximum number of %d concurrent operations, which has been exceeded. Close existing operations for this user, or raise the quota for this user. ", limit), CodeMaxOperations, true}
}

func faultBusy() fault {
	return fault{"s:Receiver", "w:InternalError", "The requested resource is in use. ", CodeBusy, false}
}

func faultAborted() fault {
	return fault{"s:Receiver", "w:InternalError", "The I/O operation has been aborted because of either a thread exit or an application request. ", CodeAborted, false}
}

func faultKeyDeleted() fault {
	return fault{"s:Receiver", "w:InternalError", "Illegal operation attempted on a registry key that has been marked for deletion. ", CodeKeyDeleted, false}
}

func faultTooLong() fault {
	return fault{"s:Receiver", "w:InternalError", "The filename or extension is too long. ", CodeTooLong, false}
}

func faultAction() fault {
	return fault{"s:Sender", "a:ActionNotSupported", "The WS-Management service cannot process the request because the action is not supported. ", CodeAction, false}
}

func faultResource() fault {
	return fault{"s:Sender", "a:DestinationUnreachable", "The WS-Management service cannot process the request. The resource URI is missing or it has an incorrect format. ", CodeResource, false}
}

func (f fault) detail(machine string) string {
	if f.wmi {
		return fmt.Sprintf(`<p:MSFT_WmiError b:IsCIM_Error="true" xmlns:b="http://schemas.dmtf.org/wbem/wsman/1/cimbinding.xsd" xmlns:cim="http://schemas.dmtf.org/wbem/wscim/1/common" xmlns:p="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/MSFT_WmiError" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><p:CIMStatusCode xsi:type="cim:cimUnsignedInt">27</p:CIMStatusCode><p:Message xsi:type="cim:cimString">%s</p:Message><p:MessageID xsi:type="cim:cimString">HRESULT 0x%x</p:MessageID><p:error_Code xsi:type="cim:cimUnsignedInt">%d</p:error_Code></p:MSFT_WmiError>`, escape(f.text), f.number, f.number)
	}
	return fmt.Sprintf(`<f:WSManFault xmlns:f="http://schemas.microsoft.com/wbem/wsman/1/wsmanfault" Code="%d" Machine="%s"><f:Message>%s</f:Message></f:WSManFault>`, f.number, escape(machine), escape(f.text))
}

func (d *Door) fault(r *request, f fault) reply {
	body := `<s:Fault><s:Code><s:Value>` + f.code + `</s:Value><s:Subcode><s:Value>` + f.subcode + `</s:Value></s:Subcode></s:Code><s:Reason><s:Text xml:lang="en-US">` +
		escape(f.text) + `</s:Text></s:Reason><s:Detail>` + f.detail(d.cfg.Host) + `</s:Detail></s:Fault>`
	return reply{status: 500, body: response(actionFault, r.Header.MessageID, body), fault: f.number}
}

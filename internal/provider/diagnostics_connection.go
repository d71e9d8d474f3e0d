package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// contactLines say how the host was spoken with, where that failed.
func contactLines(err error) [][2]string {
	var op *winrm.OpError
	if !errors.As(err, &op) || op.Contact.URL == "" {
		return nil
	}
	c := op.Contact
	kind := c.Auth
	switch {
	case c.Auto && c.Auth == winrm.AuthAuto:
		kind = "auto, none was chosen"
	case c.Auto:
		kind += ", chosen by auto"
	}
	if c.User != "" {
		kind += fmt.Sprintf(", user %q", c.User)
	}
	lines := [][2]string{{"URL: ", c.URL}, {"Authentication: ", kind}, {"TLS: ", tlsState(c)}}
	if len(c.Offered) > 0 {
		lines = append(lines, [2]string{"Host offers: ", strings.Join(c.Offered, ", ")})
	}
	return lines
}

func tlsState(c winrm.Contact) string {
	switch {
	case !c.HTTPS && c.Auth == winrm.AuthBasic:
		return "none (HTTP), nothing is encrypted"
	case !c.HTTPS:
		return "none (HTTP), messages are sealed by NTLM"
	case c.TLSVersion == 0 && !c.Verified:
		return "not established, the certificate would not be verified"
	case c.TLSVersion == 0:
		return "not established"
	case !c.Verified:
		return winrm.TLSName(c.TLSVersion) + ", the certificate was not verified"
	}
	return winrm.TLSName(c.TLSVersion) + ", the certificate was verified"
}

// transportAdvice explains errors of the way to the host.
func transportAdvice(err error) (cause, fix string) {
	var (
		auth     *winrm.AuthError
		kerberos *winrm.KerberosError
		client   *winrm.ClientCertificateError
		security *winrm.SecurityError
		cert     *winrm.CertificateError
		net      *winrm.NetError
		page     *winrm.HTTPError
		config   *winrm.ConfigError
		lost     *powershell.LostError
		op       *winrm.OpError
	)
	var contact winrm.Contact
	if errors.As(err, &op) {
		contact = op.Contact
	}
	switch {
	case errors.As(err, &auth):
		return authAdvice(auth, contact)
	case errors.As(err, &kerberos):
		return kerberosAdvice(kerberos)
	case errors.As(err, &client):
		return clientCertificateAdvice(client)
	case errors.As(err, &security):
		return "The host's side of the authentication does not keep to what makes it safe: it is very old or set to be, or somebody in between changes what is sent.",
			"Give the host an HTTPS listener; on the host check the policy \"Network security: Minimum session security for NTLM SSP based servers\" (NTLMv2 and 128-bit encryption)."
	case errors.As(err, &cert):
		return certificateAdvice(cert)
	case errors.As(err, &config):
		return "The provider's configuration of this host cannot work.", "Correct it in hosts of the provider."
	case winrm.IsFault(err, winrm.CodeAccessDenied):
		return "The user was let in and may not use Windows Remote Management: he is no administrator there and no Remote Management User.",
			"On the host: Add-LocalGroupMember -SID S-1-5-32-544 -Member 'DOMAIN\\name' (Administrators; S-1-5-32-580, Remote Management Users, is enough to connect, not to manage). Of local users only the built-in Administrator is one over the network, unless LocalAccountTokenFilterPolicy is 1."
	case winrm.IsFault(err, winrm.CodeMaxShells, winrm.CodeMaxOperations):
		return "The user has too many shells open on the host, of this or of other programs.", "Wait until they time out, lower max_sessions, or raise MaxShellsPerUser on the host."
	case errors.As(err, &page):
		return pageAdvice(page, contact)
	case errors.As(err, &lost) && lost.Started:
		return "The session was lost while the change may have been running.", "Plan again: the provider reads what is there and continues from it."
	case errors.As(err, &net):
		return netAdvice(net, contact)
	case errors.As(err, &lost):
		return "The session on the host was lost before the work began.", "Apply again."
	case errors.Is(err, context.DeadlineExceeded):
		return "The time allowed for this operation is over.", "Look at the host for what it is still doing; raise the timeout in the resource's timeouts if it only needs longer."
	case errors.Is(err, context.Canceled):
		return "The run was cancelled.", "Plan again: the provider reads what is there and continues from it."
	}
	return "", ""
}

func authAdvice(e *winrm.AuthError, c winrm.Contact) (cause, fix string) {
	if !e.OffersAuth() {
		return notOffered(e, c)
	}
	switch e.Auth {
	case winrm.AuthNTLM:
		cause = "User or password is wrong, the user is disabled or locked, or the host takes no NTLM."
		fix = "Check user and password of the host (DOMAIN\\name for a user of a domain, the bare name for a local one); " +
			"on the host check the policy \"Network security: Restrict NTLM: Incoming NTLM traffic\", and event 4625 of the Security log for the reason."
		if e.TLS {
			cause += " Something in between that takes TLS apart would be refused in the same way (channel binding, CbtHardeningLevel)."
		}
		return cause, fix
	case winrm.AuthKerberos:
		return "The host did not accept the Kerberos ticket: its service principal name belongs to another account, its clock is wrong, or the user may not log on.",
			"Check with setspn -Q HTTP/name which account has the name, and the clock of the host (w32tm /query /status); spn of the provider takes another name."
	case winrm.AuthCertificate:
		return "The host asked for the client certificate and did not accept it: it is mapped to no user, the mapped user's password has changed, or the host does not trust its issuer.",
			`On the host check Get-ChildItem WSMan:\localhost\ClientCertificate, and that the issuer is in Cert:\LocalMachine\Root; for a self-signed certificate, also that it is in Cert:\LocalMachine\TrustedPeople.`
	}
	return "User or password is wrong, or the user is disabled.", "Check user and password of the host; basic takes local users only, not those of a domain."
}

// notOffered explains that no password would be right.
func notOffered(e *winrm.AuthError, c winrm.Contact) (cause, fix string) {
	allow := func(kind string) string {
		return fmt.Sprintf("Allow it on the host (winrm set winrm/config/service/auth '@{%s=\"true\"}'), or choose another auth.", kind)
	}
	onlyBasic := len(e.Offered) == 1 && strings.EqualFold(e.Offered[0], "Basic")
	cause = fmt.Sprintf("The host does not offer %s authentication; no password would be right.", e.Auth)
	switch {
	case len(e.Offered) == 0:
		return "The host, or something in front of it, refuses without offering any kind of authentication.",
			"Check address and port of the host; a proxy may be in between, or the WinRM service is just starting."
	case e.Auth == winrm.AuthBasic && !e.TLS:
		return cause, `Basic over HTTP needs both on the host: winrm set winrm/config/service/auth '@{Basic="true"}' and winrm set winrm/config/service '@{AllowUnencrypted="true"}'. Better choose auth = "ntlm", which is sealed and needs neither.`
	case e.Auth == winrm.AuthBasic:
		return cause, allow("Basic")
	case e.Auth == winrm.AuthNTLM, e.Auth == winrm.AuthKerberos:
		return cause, allow("Negotiate")
	case onlyBasic && !e.TLS:
		return "The host offers only basic authentication over HTTP, and auto never sends a password in clear.",
			`Allow NTLM on the host (winrm set winrm/config/service/auth '@{Negotiate="true"}'), or use HTTPS.`
	case onlyBasic && !c.Verified:
		return "The host offers only basic authentication and its certificate is not verified, so auto does not send it a password.",
			`Trust the host's certificate by ca_cert or ca_file in place of insecure_skip_verify, or ask for basic by name (auth = "basic").`
	case onlyBasic:
		return "Kerberos is configured, and the host offers only basic authentication. auto does not fall back to less.",
			`Allow Kerberos on the host (winrm set winrm/config/service/auth '@{Negotiate="true";Kerberos="true"}'), or choose auth by name.`
	}
	return "The host offers no kind of authentication that this provider knows and has credentials for.", allow("Negotiate")
}

func kerberosAdvice(e *winrm.KerberosError) (cause, fix string) {
	switch e.Problem {
	case winrm.KerberosUnreachable:
		return fmt.Sprintf("No key distribution center of the realm %s answers, or none is known.", e.Realm),
			"Check kdc or krb5_conf in kerberos of the provider, the realm (capitals count), and that TCP port 88 of a domain controller is open."
	case winrm.KerberosWrongPassword:
		return fmt.Sprintf("The password or key of the user is wrong in the realm %s.", e.Realm), "Check user, password or keytab_file; a keytab becomes void when the password changes."
	case winrm.KerberosUnknownUser:
		return fmt.Sprintf("The realm %s has no such user.", e.Realm), "Check user and realm; a local user of the host has no Kerberos, use ntlm for him."
	case winrm.KerberosDisabled:
		return "The user is disabled or locked, or the password has expired.", "Check the user in Active Directory (Get-ADUser name -Properties LockedOut, PasswordExpired)."
	case winrm.KerberosUnknownHost:
		return fmt.Sprintf("The realm %s has no service %s.", e.Realm, e.SPN),
			"Use the host's DNS name as address, or set spn; on a domain controller check setspn -Q " + e.SPN + " (HTTP/name stands for HOST/name there)."
	case winrm.KerberosClock:
		return "The clocks of this machine and of the key distribution center are more than five minutes apart.", "Set the clock; on Windows check w32tm /query /status."
	case winrm.KerberosExpired:
		return "The tickets in the credential cache have expired.", "Run kinit again, or use a keytab or a password."
	case winrm.KerberosEncryption:
		return "The user's account and this provider have no encryption in common; without a krb5.conf of your own it is AES.",
			"Set the password of the account again, so that it gets AES keys, and check msDS-SupportedEncryptionTypes of user and host."
	}
	return "The key distribution center refused a ticket.", "Check user, realm and spn; the event log of the domain controller has the reason (Security, 4768 and 4769)."
}

func clientCertificateAdvice(e *winrm.ClientCertificateError) (cause, fix string) {
	const set = `winrm set winrm/config/service/auth '@{Certificate="true"}'`
	if winrm.TLSName(e.TLSVersion) == "TLS 1.3" {
		return "The host did not ask for the client certificate in the first TLS handshake. Asking later, as Windows does by default, is possible with this provider only in TLS 1.2.",
			"Leave out tls_min_version, or let the listener ask at once (netsh http update sslcert ipport=0.0.0.0:5986 … clientcertnegotiation=enable); and allow certificates: " + set + "."
	}
	return "The host never asked for the client certificate.", "Allow certificates on the host: " + set + "."
}

func certificateAdvice(e *winrm.CertificateError) (cause, fix string) {
	switch e.Problem {
	case winrm.CertificateUnknownAuthority:
		if e.CustomCA {
			return "The host's certificate was not issued by an authority in ca_cert or ca_file.", "Give the certificate of the authority that issued it."
		}
		return "The host's certificate is self-signed or issued by an authority that this machine does not trust.",
			"Give the authority's certificate in ca_cert or ca_file; a self-signed certificate is its own authority (on the host: Export-Certificate, then certutil -encode)."
	case winrm.CertificateWrongName:
		names := ""
		if e.Certificate != nil {
			names = fmt.Sprintf(" It is for %s.", quotedList(append([]string{e.Certificate.Subject.CommonName}, e.Certificate.DNSNames...)))
		}
		return "The host's certificate is for another name than the address." + names, "Use that name as address, or give it as tls_server_name."
	}
	return "The host's certificate has expired, or is not meant for servers.", "Renew the certificate of the host's HTTPS listener."
}

func pageAdvice(e *winrm.HTTPError, c winrm.Contact) (cause, fix string) {
	if e.Status == http.StatusInternalServerError && !c.HTTPS && c.URL != "" {
		return "The host answers with an empty error, as Windows does to messages that are not encrypted.",
			`Use auth = "ntlm", which seals every message, or HTTPS; AllowUnencrypted on the host (winrm get winrm/config/service) decides.`
	}
	return "Something answers at this address that is not Windows Remote Management.", "Check address, port and https of the host; a proxy may be in between."
}

func netAdvice(e *winrm.NetError, c winrm.Contact) (cause, fix string) {
	switch {
	case e.NoSuchName():
		return "The host's address is a name that does not exist.", "Correct address of the host, or the name service."
	case e.NotTLS():
		return "What answers at this port does not speak TLS.", "Check port; an HTTP listener needs https = false."
	case e.TLSRefused() && c.Auth == winrm.AuthCertificate:
		return "The host ended the TLS handshake: it does not take the client certificate, or not the TLS version (1.2 with a client certificate, unless tls_min_version is 1.3).",
			`Check that the certificate's issuer is in Cert:\LocalMachine\Root of the host, and that TLS 1.2 is enabled there.`
	case e.TLSRefused():
		return "The host ended the TLS handshake: it has no TLS version or cipher in common with the provider (TLS 1.2 or later, tls_min_version).", "Enable TLS 1.2 on the host."
	case e.Refused() && c.HTTPS:
		return "Nothing listens at this address and port.",
			"Check on the host that Windows Remote Management has an HTTPS listener (winrm enumerate winrm/config/listener; winrm quickconfig -transport:https makes one), check address and port, and the firewall."
	case e.Refused():
		return "Nothing listens at this address and port.", "Enable Windows Remote Management on the host (winrm quickconfig), check address and port, and the firewall."
	}
	return "The host cannot be reached.", "Check that it is on, its address and port, and firewalls in between."
}

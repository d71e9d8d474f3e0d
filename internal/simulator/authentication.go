package simulator

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// authenticators are those of a listener that need no TLS of their own.
func authenticators(host string, login lab.Login, l lab.Listener) ([]door.Authenticator, error) {
	var list []door.Authenticator
	hardening := door.Hardening(l.CbtHardening)
	if l.Negotiate {
		list = append(list, door.NTLM{
			Computer: host, Username: login.Username, Password: login.Password, AllowUnencrypted: l.AllowUnencrypted, Hardening: hardening,
		})
	}
	if l.KeytabFile != "" {
		k, err := door.NewKerberos(l.KeytabFile, login.Username, l.AllowUnencrypted, hardening)
		if err != nil {
			return nil, err
		}
		list = append(list, k)
	}
	if l.Basic {
		list = append(list, door.Basic{Username: login.Username, Password: login.Password, AllowUnencrypted: l.AllowUnencrypted})
	}
	return list, nil
}

// clientCertificate issues a certificate for a machine's user, and says where it is.
func (s *Server) clientCertificate(a *door.Authority, user string, files *clientFiles) (door.Authenticator, error) {
	subject := user + "@localhost"
	cert, key, err := a.ClientCertificate(subject)
	if err != nil {
		return nil, err
	}
	base := filepath.Join(s.dir, fmt.Sprintf("client-%d", len(s.hosts)+len(s.guests)+1))
	files.ClientCertificateFile, files.ClientKeyFile = base+".pem", base+".key"
	for file, data := range map[string][]byte{files.ClientCertificateFile: cert, files.ClientKeyFile: key} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
	}
	return door.ClientCertificate{Issuers: a.Pool(), Subject: subject, Username: user}, nil
}

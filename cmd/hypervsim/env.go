package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator"
)

type env struct {
	Ready string `type:"existingfile" placeholder:"FILE" help:"File with the ready line. Default: standard input."`
	Host  string `placeholder:"NAME" help:"Host to use. Default: the first."`
}

// Run prints export lines for a POSIX shell.
func (c *env) Run(s streams) error {
	in := s.in
	if c.Ready != "" && c.Ready != "-" {
		f, err := os.Open(c.Ready)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	line, err := bufio.NewReader(in).ReadString('\n') // the simulator may keep its end of a pipe open
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("ready line: %w", err)
	}
	var ready simulator.Ready
	if err := json.Unmarshal([]byte(line), &ready); err != nil {
		return fmt.Errorf("ready line: %w", err)
	}
	host, err := pick(ready.Hosts, c.Host)
	if err != nil {
		return err
	}
	for _, v := range variables(host, ready.GuestCredential) {
		if _, err := fmt.Fprintf(s.out, "export %s=%s\n", v[0], quote(v[1])); err != nil {
			return err
		}
	}
	return nil
}

func pick(hosts []simulator.ReadyHost, name string) (simulator.ReadyHost, error) {
	if len(hosts) == 0 {
		return simulator.ReadyHost{}, fmt.Errorf("the ready line names no host")
	}
	if name == "" {
		return hosts[0], nil
	}
	names := make([]string, len(hosts))
	for i, h := range hosts {
		if strings.EqualFold(h.Name, name) {
			return h, nil
		}
		names[i] = h.Name
	}
	return simulator.ReadyHost{}, fmt.Errorf("no host %q in the ready line: it has %s", name, strings.Join(names, ", "))
}

// variables are those that the provider reads.
func variables(h simulator.ReadyHost, guest *simulator.Credential) [][2]string {
	port, https := h.HTTPPort, h.HTTPSPort != 0
	if https {
		port = h.HTTPSPort
	}
	vars := [][2]string{
		{"HYPERV_HOST", h.Address}, {"HYPERV_PORT", strconv.Itoa(port)}, {"HYPERV_HTTPS", strconv.FormatBool(https)},
		{"HYPERV_AUTH", "auto"}, {"HYPERV_USER", h.Username}, {"HYPERV_PASSWORD", h.Password},
	}
	if https {
		vars = append(vars, [2]string{"HYPERV_CA_FILE", h.CAFile})
	}
	if h.ClientCertificateFile != "" {
		vars = append(vars, [2]string{"HYPERV_CLIENT_CERTIFICATE_FILE", h.ClientCertificateFile}, [2]string{"HYPERV_CLIENT_KEY_FILE", h.ClientKeyFile})
	}
	if guest != nil {
		vars = append(vars, [2]string{"HYPERV_GUEST_USER", guest.Username}, [2]string{"HYPERV_GUEST_PASSWORD", guest.Password})
	}
	return vars
}

// quote makes one word of a POSIX shell out of any text.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

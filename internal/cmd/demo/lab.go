package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// labVariables makes a lab's terraform.tfvars.json, and the environment for its secrets:
//
//	hosts           map of {address, port, username, ca_file} by name
//	guest_username  the user inside the guests
//	password, guest_password  as TF_VAR_…
func labVariables(sim ready) (file []byte, secrets []string, err error) {
	type hostVariables struct {
		Address  string `json:"address"`
		Port     int    `json:"port"`
		Username string `json:"username"`
		CAFile   string `json:"ca_file"`
	}
	if sim.GuestCredential == nil {
		return nil, nil, errors.New("the scenario has no credential that is valid in all guests; the labs take one")
	}
	first := sim.Hosts[0]
	hosts := map[string]hostVariables{}
	for _, h := range sim.Hosts {
		if h.Password != first.Password {
			return nil, nil, fmt.Errorf("hosts %s and %s have different passwords; the labs take one", first.Name, h.Name)
		}
		if h.HTTPSPort == 0 || h.CAFile == "" {
			return nil, nil, fmt.Errorf("the simulator gives no HTTPS port or no CA file for host %s", h.Name)
		}
		hosts[h.Name] = hostVariables{h.Address, h.HTTPSPort, h.Username, h.CAFile}
	}
	file, err = json.MarshalIndent(map[string]any{"hosts": hosts, "guest_username": sim.GuestCredential.Username}, "", "  ")
	return file, []string{"TF_VAR_password=" + first.Password, "TF_VAR_guest_password=" + sim.GuestCredential.Password}, err
}

// copyConfiguration copies a folder of an example without what Terraform itself or its user left there.
func copyConfiguration(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if path != from && strings.HasPrefix(name, ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		if strings.Contains(name, ".tfstate") || strings.Contains(name, ".tfvars") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o600)
	})
}

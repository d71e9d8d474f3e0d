package pwsh

import (
	"os"
	"path/filepath"
)

// programs are what scripts on Windows start by name and the simulator has to have, too: PowerShell itself, and
// the program that sets the code page, which here is always UTF-8.
func programs() map[string]string {
	const nested = "#!/bin/sh\nexec \"$HVSIM_POWERSHELL\" -NoLogo -NoProfile -NonInteractive -File \"$HVSIM_LIBRARY/nested.ps1\" \"$@\"\n"
	return map[string]string{
		"powershell": nested, "PowerShell": nested, "powershell.exe": nested, "PowerShell.exe": nested,
		"chcp.com": "#!/bin/sh\necho \"Active code page: ${1:-65001}\"\n",
	}
}

// writePrograms makes a folder of them for the search path.
func writePrograms(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, text := range programs() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil { //nolint:gosec // it is to be run
			return err
		}
	}
	return nil
}

// searchPath is PATH with the programs in front.
func searchPath(programs string) string {
	return "PATH=" + programs + string(os.PathListSeparator) + os.Getenv("PATH")
}

package lab

import "time"

// windows finds an installation by the name that scenarios use.
func windows(name string) OS {
	switch name {
	case "windows-server-2016":
		return OS{Caption: "Microsoft Windows Server 2016 Datacenter", Build: 14393, UBR: 6709, SKU: 8, ProductType: 3}
	case "nano-server-2016":
		return OS{Caption: "Microsoft Windows Server 2016 Datacenter", Build: 14393, UBR: 6709, SKU: 143, ProductType: 3}
	case "windows-server-2022":
		return OS{Caption: "Microsoft Windows Server 2022 Datacenter", Build: 20348, UBR: 2340, SKU: 8, ProductType: 3}
	case "windows-server-2025":
		return OS{Caption: "Microsoft Windows Server 2025 Datacenter", Build: 26100, UBR: 2605, SKU: 8, ProductType: 3}
	case "windows-10-pro":
		return OS{Caption: "Microsoft Windows 10 Pro", Build: 19045, UBR: 4170, SKU: 48, ProductType: 1}
	case "windows-10-enterprise":
		return OS{Caption: "Microsoft Windows 10 Enterprise", Build: 19045, UBR: 4170, SKU: 4, ProductType: 1}
	case "windows-11-pro":
		return OS{Caption: "Microsoft Windows 11 Pro", Build: 22631, UBR: 3296, SKU: 48, ProductType: 1}
	case "windows-11-enterprise":
		return OS{Caption: "Microsoft Windows 11 Enterprise", Build: 22631, UBR: 3296, SKU: 4, ProductType: 1}
	case "linux":
		return OS{Caption: "Linux"}
	default:
		return OS{Caption: "Microsoft Windows Server 2019 Datacenter", Build: 17763, UBR: 5576, SKU: 8, ProductType: 3}
	}
}

// buildOS is an installation by name, with the fields that differ from it.
func buildOS(s ScenarioOS, now time.Time) OS {
	os := windows(s.Name)
	os.Architecture, os.Language = "64-bit", "en-US"
	if s.Build != 0 {
		os.Build = s.Build
	}
	if s.UBR != 0 {
		os.UBR = s.UBR
	}
	if s.Architecture != "" {
		os.Architecture = s.Architecture
	}
	if s.Language != "" {
		os.Language = s.Language
	}
	os.LastBoot = now.Add(-24 * time.Hour).Truncate(time.Second)
	return os
}

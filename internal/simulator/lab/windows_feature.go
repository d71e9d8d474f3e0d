package lab

import (
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// skuNano has no Server Manager.
const skuNano = 143

func registerWindowsFeature(r registry) {
	for name, run := range map[string]handler{
		"Get-WindowsFeature":       getWindowsFeature,
		"Install-WindowsFeature":   installWindowsFeature,
		"Uninstall-WindowsFeature": uninstallWindowsFeature,
	} {
		r.onHost(name, run)
		r[strings.ToLower(name)].present = func(_ *Lab, h *Host) bool { return h.OS.ProductType == 3 && h.OS.SKU != skuNano }
	}
}

// windowsFeature is a role or feature. Of those of a real host the lab knows the ones that it acts on.
type windowsFeature struct{ name, display, state string }

func (c *call) windowsFeatures() []windowsFeature {
	return []windowsFeature{
		{dcbFeature, "Data Center Bridging", c.host.Dcb.Feature},
		{"Hyper-V", "Hyper-V", featureInstalled},
		{"Hyper-V-PowerShell", "Hyper-V Module for Windows PowerShell", featureInstalled},
	}
}

// getWindowsFeature: a name that fits nothing gives nothing.
func getWindowsFeature(c *call) {
	for _, f := range c.windowsFeatures() {
		if !c.has("Name") || matchesAny(c.strs("Name"), f.name) {
			c.emit(&cmdlet.Object{Types: []string{"Microsoft.Windows.ServerManager.Commands.Feature"}, Ref: "feature:" + f.name, Text: f.name, Properties: []cmdlet.Property{
				prop("Name", f.name), prop("DisplayName", f.display), prop("Installed", f.state == featureInstalled), prop("InstallState", f.state),
				prop("FeatureType", "Feature"), prop("Path", f.display), prop("Depth", i32(1)),
			}})
		}
	}
}

func installWindowsFeature(c *call) {
	c.changeFeature("AddWindowsFeatureCommand", featureAvailable, featureInstalled, featureInstallPending)
}

func uninstallWindowsFeature(c *call) {
	c.changeFeature("RemoveWindowsFeatureCommand", featureInstalled, featureAvailable, featureUninstallPending)
}

// changeFeature: whether a restart is needed is a switch; -Restart then makes it.
func (c *call) changeFeature(class, from, to, pending string) {
	needed, code := "No", "NoChangeNeeded"
	for _, name := range c.strs("Name") {
		if !strings.EqualFold(name, dcbFeature) {
			c.fail(&cmdlet.Error{
				ID: "NameDoesNotExist,Microsoft.Windows.ServerManager.Commands." + class, Category: "InvalidArgument", Target: name, TargetType: "String",
				Exception: "System.Exception", Message: "ArgumentNotValid: The role, role service, or feature name is not valid: '" + name + "'. The name was not found.",
			})
			return
		}
		if c.host.Dcb.Feature != from {
			continue
		}
		code, c.host.Dcb.Feature = "Success", to
		if c.unknowns.DcbFeatureRestart == "yes" {
			needed, code, c.host.Dcb.Feature = "Yes", "SuccessRestartRequired", pending
		}
	}
	c.emit(&cmdlet.Object{Types: []string{"Microsoft.Windows.ServerManager.Commands.FeatureOperationResult"}, Text: "FeatureOperationResult", Properties: []cmdlet.Property{
		prop("Success", true), prop("RestartNeeded", needed), prop("FeatureResult", list(dcbFeature)), prop("ExitCode", code),
	}})
	if needed == "Yes" && c.boolean("Restart") {
		restartComputer(c)
	}
}

# Makes a process, or the runspace of a guest, look like a Windows machine: loads the simulator's types
# and the modules in the folder that says what this machine has.
param([string]$Modules)
$library = [Reflection.Assembly]::LoadFrom([IO.Path]::Combine($PSScriptRoot, 'HyperVSim.dll'))
# The engine's own names of these classes point to ones that need a native library. A name that is
# built in cannot be replaced, so the generated functions use names of their own; scripts that write
# [ciminstance] get the stand-in through the engine's table.
$accelerators = [psobject].Assembly.GetType('System.Management.Automation.TypeAccelerators')
foreach ($name in 'CimInstance', 'CimSession') {
    $type = $library.GetType("Microsoft.Management.Infrastructure.$name")
    [void]$accelerators::Remove("Hv$name")
    $accelerators::Add("Hv$name", $type)
    $table = $accelerators.GetField('builtinTypeAccelerators', 'NonPublic,Static')
    if ($table) { $table.GetValue($null)[$name] = $type }
}
# Nothing is loaded by name: neither modules of another machine nor what is left out here.
$global:PSModuleAutoLoadingPreference = 'None'
# The real ones first, because what is imported last wins. Cmdlets that would show or change the machine
# on which the simulator runs are left out: a simulated machine has them only if the model does.
Import-Module -Name Microsoft.PowerShell.Utility, Microsoft.PowerShell.Security -Global -ErrorAction Stop
# PowerShell adds members to objects of this class; here the model says what there is.
foreach ($name in 'System.ServiceProcess.ServiceController') { if (Get-TypeData -TypeName $name) { Remove-TypeData -TypeName $name } }
$management = [IO.Path]::Combine($PSHOME, 'Modules', 'Microsoft.PowerShell.Management', 'Microsoft.PowerShell.Management.psd1')
$hidden = [IO.File]::ReadAllLines([IO.Path]::Combine($Modules, 'hidden'))
$kept = foreach ($name in (& ([scriptblock]::Create([IO.File]::ReadAllText($management)))).CmdletsToExport) { if ($hidden -notcontains $name) { $name } }
Import-Module -Name $management -Cmdlet $kept -Global -ErrorAction Stop
Import-Module -Name ([IO.Path]::Combine($Modules, 'HyperVSim.Windows.psd1')) -Global -ErrorAction Stop
foreach ($folder in [IO.Directory]::GetDirectories([IO.Path]::Combine($Modules, 'Modules'))) {
    Import-Module -Name ([IO.Path]::Combine($folder, [IO.Path]::GetFileName($folder) + '.psd1')) -Global -DisableNameChecking -ErrorAction Stop
}

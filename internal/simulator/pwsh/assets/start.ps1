# Makes a process, or the runspace of a guest, look like a Windows machine: loads the simulator's types
# and the modules in the folder that says what this machine has.
param([string]$Modules, [string[]]$Hidden, [switch]$Here)
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
# The real ones first, because what is imported last wins. Cmdlets that would show or change the machine
# on which the simulator runs are left out: a simulated machine has them only if the model does.
Import-Module -Name Microsoft.PowerShell.Utility, Microsoft.PowerShell.Security -Global -ErrorAction Stop
$management = [IO.Path]::Combine($PSHOME, 'Modules', 'Microsoft.PowerShell.Management', 'Microsoft.PowerShell.Management.psd1')
$kept = @((Import-PowerShellDataFile -Path $management).CmdletsToExport | Where-Object { $Hidden -notcontains $_ })
Import-Module -Name $management -Cmdlet $kept -Global -ErrorAction Stop
Import-Module -Name ([IO.Path]::Combine($Modules, 'HyperVSim.Windows.psd1')) -Global -ErrorAction Stop
if ($Here) {
    $env:PSModulePath = [IO.Path]::Combine($Modules, 'Modules')
} else {
    foreach ($folder in [IO.Directory]::GetDirectories([IO.Path]::Combine($Modules, 'Modules'))) {
        Import-Module -Name ([IO.Path]::Combine($folder, [IO.Path]::GetFileName($folder) + '.psd1')) -Global -DisableNameChecking -ErrorAction Stop
    }
}

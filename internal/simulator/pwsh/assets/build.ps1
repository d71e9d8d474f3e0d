# Compiles the simulator's types, and then each module's cmdlets against them.
$ErrorActionPreference = 'Stop'
$library = Join-Path $PSScriptRoot 'HyperVSim.dll'
Add-Type -Path ([IO.Directory]::GetFiles($PSScriptRoot, '*.cs')) -OutputAssembly $library -IgnoreWarnings -WarningAction SilentlyContinue
# Classes that stand in for those of other assemblies must be found once only.
$references = @([psobject].Assembly.Location, $library) +
    @([IO.Directory]::GetFiles((Join-Path $PSHOME 'ref'), '*.dll') | Where-Object { [IO.Path]::GetFileName($_) -match '^(System|netstandard|mscorlib|Microsoft\.Win32)' -and [IO.Path]::GetFileName($_) -ne 'System.Management.Automation.dll' })
foreach ($source in [IO.Directory]::GetFiles((Join-Path $PSScriptRoot 'modules'), '*.cs')) {
    Add-Type -Path $source -OutputAssembly (Join-Path $PSScriptRoot ([IO.Path]::GetFileNameWithoutExtension($source) + '.dll')) -ReferencedAssemblies $references -IgnoreWarnings -WarningAction SilentlyContinue
}

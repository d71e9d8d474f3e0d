# A PowerShell that a script starts by its name, as programs do that wrap one in another: the same machine
# again. It takes the arguments of powershell.exe. No script here names the automatic variable with the pipeline's
# input, or the engine would read standard input before the script that it is meant for.
$text = $null
for ($i = 0; $i -lt $args.Count -and $null -eq $text; $i++) {
    switch -Regex ([string]$args[$i]) {
        '^-(ex|executionpolicy|ep|v|version|of|outputformat|if|inputformat)$' { $i++; break }
        '^-(e|ec|en.*)$' { $i++; $text = [Text.Encoding]::Unicode.GetString([Convert]::FromBase64String($args[$i])); break }
        '^-c(ommand)?$' { $text = @($args)[($i + 1)..$args.Count] -join ' '; break }
        '^-' { break }
        default { $text = @($args)[$i..$args.Count] -join ' ' }
    }
}
if ($null -eq $text) {
    [Console]::Error.WriteLine('The simulator runs powershell.exe only with -EncodedCommand or -Command.')
    exit 1
}
$ErrorActionPreference = 'Stop'
& ([IO.Path]::Combine($env:HVSIM_LIBRARY, 'start.ps1')) $env:HVSIM_MODULES
$ErrorActionPreference = 'Continue'
Remove-Variable -Name i
if ($text -match ('\$' + 'input\b')) {
    & { while ($null -ne ($line = [Console]::In.ReadLine())) { $line } } | & ([scriptblock]::Create($text))
}
else {
    . ([scriptblock]::Create($text))
}

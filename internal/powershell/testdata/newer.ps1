# Everything here is newer than Windows PowerShell 5.1.
$a = $true ? 1 : 2
Get-Item a && Get-Item b
$b = $null ?? 1
$c = ${b}?.Length
$b ??= 2
1..2 | ForEach-Object -Parallel { $_ }
Test-Json '{}'
ConvertFrom-Json -InputObject '{}' -AsHashtable
function Clear-Up { process { 1 } clean { 2 } }
Get-Item a &

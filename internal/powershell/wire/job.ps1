# Runs a batch that waits in the ledger's key, away from the session that put it there. Language: Windows PowerShell 5.1.
# Only the two names and the script's SHA-256 differ from job to job.
# The change and what takes it back never run at the same time: one that comes late finds that the job is over.
$HvLock = New-Object Threading.Mutex($false, 'Global\TerraformProviderHyperV-@ID@')
$HvMine = $true
try { $HvMine = $HvLock.WaitOne(300000) } catch { $null = $_ }
if (-not $HvMine -and '@PART@' -ceq 'payload') { throw 'The job is being taken back.' }
$HvKey = 'HKLM:\SOFTWARE\TerraformProviderHyperV'
$HvName = 'job.@ID@.'
$HvValues = Get-ItemProperty -LiteralPath $HvKey -ErrorAction Stop
$HvScript = [Convert]::FromBase64String([string]$HvValues.PSObject.Properties[$HvName + 'script'].Value)
$HvHash = [Security.Cryptography.SHA256]::Create()
if ([BitConverter]::ToString($HvHash.ComputeHash($HvScript)).Replace('-', '') -cne '@HASH@') { throw 'The script of the job is not the one that was meant.' }
$HvBatch = [string]$HvValues.PSObject.Properties[$HvName + '@PART@'].Value
if (-not $HvBatch) { throw 'The job is over.' }
$HvAnswer = . ([scriptblock]::Create([Text.Encoding]::UTF8.GetString($HvScript))) $null $HvBatch
$HvValues = Get-ItemProperty -LiteralPath $HvKey
if ('@PART@' -ceq 'payload' -and $HvValues.PSObject.Properties[$HvName + 'payload']) {
    Set-ItemProperty -LiteralPath $HvKey -Name ($HvName + 'result') -Value ([string]$HvAnswer) -Type String
}

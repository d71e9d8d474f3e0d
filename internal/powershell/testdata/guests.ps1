# Virtual machines for tests of the runner: sessions are runspaces, and what crosses is text.
# VM 1 runs; its session can be broken from inside (Stop-Session). VM 2 is off. VM 3 answers nonsense.

$global:HvTestOpened = 0
$global:HvTestSessions = @{}

function global:New-TestError {
    param([string]$Id, [string]$Category, [string]$Message)
    New-Object Management.Automation.ErrorRecord((New-Object InvalidOperationException($Message)), $Id, $Category, $null)
}

function global:New-PSSession {
    [CmdletBinding()] param([guid[]]$VMId, [pscredential]$Credential)
    if ($VMId[0].ToString().EndsWith('2')) { $PSCmdlet.WriteError((New-TestError 'InvalidVMState' 'InvalidArgument' 'off')); return }
    if ($Credential.GetNetworkCredential().Password -ne 'p"a''s$(1)s') { $PSCmdlet.WriteError((New-TestError 'PSSessionOpenFailed' 'OpenError' 'bad')); return }
    $global:HvTestOpened++
    $runspace = [runspacefactory]::CreateRunspace()
    $runspace.Open()
    $session = New-Object PSObject -Property @{ State = 'Opened'; Runspace = $runspace; VM = $VMId[0].ToString() }
    $null = Invoke-TestText $runspace ". '$global:HvTestCmdlets'" @()
    $session
}

function global:Invoke-TestText {
    param($Runspace, [string]$Text, $Arguments)
    $shell = [powershell]::Create()
    $shell.Runspace = $Runspace
    [void]$shell.AddScript($Text)
    foreach ($a in $Arguments) { [void]$shell.AddArgument($a) }
    try { $shell.Invoke() } finally { $shell.Dispose() }
}

function global:Invoke-Command {
    [CmdletBinding()] param($Session, [scriptblock]$ScriptBlock, [object[]]$ArgumentList)
    if ($Session.State -ne 'Opened') { $PSCmdlet.WriteError((New-TestError 'PSSessionStateBroken' 'OpenError' 'broken')); return }
    if ($Session.Runspace.SessionStateProxy.GetVariable('HvTestGone')) { $Session.State = 'Broken'; $PSCmdlet.WriteError((New-TestError 'PSSessionStateBroken' 'OpenError' 'broken')); return }
    $answer = Invoke-TestText $Session.Runspace $ScriptBlock.ToString() $ArgumentList
    if ($Session.Runspace.SessionStateProxy.GetVariable('HvTestDying')) { $Session.State = 'Broken'; $PSCmdlet.WriteError((New-TestError 'JobFailure' 'OpenError' 'died')); return }
    if ($Session.VM.EndsWith('3') -and $ScriptBlock.ToString() -match 'Group') { 'C!!!'; 'more'; return }
    if ($Session.VM.EndsWith('4') -and $ScriptBlock.ToString() -match 'Group') { 'Cbm8ganNvbg=='; return }
    $answer
}

function global:Remove-PSSession {
    [CmdletBinding()] param($Session)
    $Session.Runspace.Dispose()
}

# On the host: how many sessions were opened.
function global:Get-Opened {
    [CmdletBinding()] param()
    $global:HvTestOpened
}

# Cmdlets for tests of the runner: functions, so that the runner finds them as it finds a module's.

enum HvTestMode { Off = 2; Running = 3 }
class HvTestNested {
    [string]$Name = 'inner'
    [HvTestNested]$Next
    [string] ToString() { return 'nested:' + $this.Name }
}
class HvTestThing {
    [HvTestNested]$Child
    [string]$Name
    [string] ToString() { return 'thing:' + $this.Name }
}
Update-TypeData -TypeName HvTestThing -MemberType ScriptProperty -MemberName Broken -Value { throw 'no' } -Force

function global:Get-Value {
    [CmdletBinding()] param($Value, $Other)
    [pscustomobject]@{ Value = $Value; Type = $(if ($null -eq $Value) { 'null' } else { $Value.GetType().FullName }); Other = $Other }
}

function global:Get-Thing {
    [CmdletBinding()] param([string[]]$Name = @('one'))
    foreach ($n in $Name) {
        $t = [HvTestThing]::new()
        $t.Name = $n
        $t.Child = [HvTestNested]::new()
        $t.Child.Next = [HvTestNested]::new()
        $t.Child.Next.Next = [HvTestNested]::new()
        $t
    }
}

function global:Get-Mixed {
    [CmdletBinding()] param()
    [pscustomobject]@{
        Name = 'a'; Id = [guid]'6f1f3c5a-0b1e-4c55-9d9c-0a1b2c3d4e5f'; Mode = [HvTestMode]::Running; On = $true; Off = $false
        Nothing = $null; None = @(); One = @('x'); Two = @(1, 2); Bytes = [byte[]](1, 2, 255); Big = [uint64]::MaxValue; Small = [long]::MinValue
        Part = 1.5; Money = 12.25d; When = [datetime]::new(2024, 2, 29, 12, 0, 1, [DateTimeKind]::Utc); Span = [timespan]::FromMilliseconds(1500)
        Ip = [Net.IPAddress]::Parse('192.0.2.1'); Version = [version]'10.0.20348'; Switch = [switch]$true; Secret = (ConvertTo-SecureString 'x' -AsPlainText -Force)
        Table = [ordered]@{ b = 1; a = @{ deep = 1 } }; Char = [char]'c'; Nan = [double]::NaN
        Inner = [pscustomobject]@{ Name = 'i'; List = @([pscustomobject]@{ Name = 'l1' }, [pscustomobject]@{ Name = 'l2' }) }
        Adapters = @([pscustomobject]@{ Name = 'n1'; Ids = @('1', '2') }, [pscustomobject]@{ Name = 'n2'; Ids = @('3') })
    }
}

function global:Get-Row {
    [CmdletBinding()] param()
    [pscustomobject]@{ Name = 'vSwitch [1]*'; Mode = [HvTestMode]::Off; Tags = @('red', 'blue'); Id = [guid]'6f1f3c5a-0b1e-4c55-9d9c-0a1b2c3d4e5f'; Parent = [pscustomobject]@{ Id = 7; On = $true } }
    [pscustomobject]@{ Name = 'vSwitch 11'; Mode = [HvTestMode]::Running; Tags = @(); Id = [guid]::Empty; Parent = $null }
    [pscustomobject]@{ Name = "O'Brien `$(1) ``;"; Mode = [HvTestMode]::Running; Tags = 'blue'; Id = [guid]::Empty; Parent = [pscustomobject]@{ Id = 8; On = $false } }
}

function global:Get-Piped {
    [CmdletBinding()] param([Parameter(ValueFromPipeline = $true)]$InputObject)
    process { [pscustomobject]@{ Got = $InputObject.Name } }
}

function global:Add-Count {
    [CmdletBinding()] param([string]$Path, [int]$Milliseconds, [int]$Size)
    [IO.File]::AppendAllText($Path, 'x')
    Start-Sleep -Milliseconds $Milliseconds
    [pscustomobject]@{ Count = (New-Object IO.FileInfo($Path)).Length; Text = 'y' * $Size }
}

function global:Write-Trouble {
    [CmdletBinding()] param([string]$Kind, $Value)
    switch ($Kind) {
        'two' {
            Write-Warning 'careful'
            'before'
            Write-Error -Message 'first' -ErrorId 'FirstId' -Category ObjectNotFound -TargetObject 'target'
            Write-Error -Message 'second' -ErrorId 'SecondId' -Category ResourceBusy
            'after'
        }
        'terminating' {
            'before'
            $e = New-Object Management.Automation.ErrorRecord((New-Object InvalidOperationException('outer', (New-Object Exception('inner text')))), 'EndId', 'InvalidOperation', $null)
            $PSCmdlet.ThrowTerminatingError($e)
        }
        'throw' { throw 'thrown' }
        'null' { $null; 'x' }
        'noise' {
            [Console]::Out.Write('no newline at the end')
            Write-Host 'host'
            Write-Verbose 'v' -Verbose
            Write-Debug 'd'
            Write-Information 'i'
            Write-Progress -Activity 'p'
            [Console]::Out.Flush()
            'x'
        }
        'confirm' { if ($PSCmdlet.ShouldContinue('really', 'sure')) { 'yes' } }
        'exit' { [Environment]::Exit(7) }
    }
}

function global:Remove-Careful {
    [CmdletBinding(SupportsShouldProcess = $true, ConfirmImpact = 'High')] param()
    if ($PSCmdlet.ShouldProcess('x')) { 'removed' }
}

function global:Get-Security {
    [CmdletBinding()] param()
    $o = [pscustomobject]@{ Sddl = 'O:BA' }
    $o | Add-Member -MemberType ScriptMethod -Name SetSecurityDescriptorSddlForm -Value { param($Sddl) $this.Sddl = $Sddl }
    $o
}

function global:Get-BoundTo {
    [CmdletBinding()] param([string[]]$Texts, [int]$Number, [HvTestMode]$Mode, [guid]$Id, [switch]$Flag, [hashtable]$Table, [pscredential]$Credential)
    [pscustomobject]@{
        Texts = $Texts; Number = $Number; Mode = $Mode; Id = $Id; Flag = $Flag; Keys = @($(if ($Table) { $Table.Keys | Sort-Object }))
        User = $Credential.UserName; Password = $(if ($Credential) { $Credential.GetNetworkCredential().Password })
    }
}

# In a guest (guests.ps1): its session is found broken before the next use, or while this very call runs.
function global:Stop-Session {
    [CmdletBinding()] param([switch]$Now)
    if ($Now) { $global:HvTestDying = $true } else { $global:HvTestGone = $true }
    'stopping'
}

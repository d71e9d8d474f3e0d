param($HvIn, [string]$HvOnce)
# Runs batches of cmdlet calls that arrive as data on stdin and answers as data on stdout.
# Package wire describes the lines, the batch and the values. Language: Windows PowerShell 5.1.
# Nothing that arrives is ever parsed as code: cmdlets are looked up by name, values are splatted.
# With a batch as second argument it runs that one, gives the answer and ends.

# ---- Functions that run on the host and, sent there as text, in guests ----

# Set-HvPreferences sets what cmdlets see: script modules look at the global variables only.
function Set-HvPreferences {
    $global:ErrorActionPreference = 'Continue'
    $global:WarningPreference = 'Continue'
    $global:ProgressPreference = 'SilentlyContinue'
    $global:VerbosePreference = 'SilentlyContinue'
    $global:DebugPreference = 'SilentlyContinue'
    $global:InformationPreference = 'SilentlyContinue'
    $global:ConfirmPreference = 'None'
    $global:WhatIfPreference = $false
}

# New-HvTools gives what the functions below find as $HvTools in their caller's scope.
function New-HvTools {
    @{
        Invariant = [Globalization.CultureInfo]::InvariantCulture
        Utf8      = New-Object Text.UTF8Encoding($false)
        Unsafe    = New-Object Text.RegularExpressions.Regex('["\\\x00-\x1f]')
        Control   = New-Object Text.RegularExpressions.Regex('[\x00-\x1f]')
        Escape    = [Text.RegularExpressions.MatchEvaluator] { param($Match) '\u{0:x4}' -f [int][char]$Match.Value }
        DateKind  = (Get-Command -Name ConvertFrom-Json).Parameters.ContainsKey('DateKind')
    }
}

# ConvertFrom-HvJson keeps texts that look like dates, which newer versions turn into dates.
function ConvertFrom-HvJson {
    param([string]$Text)
    if ($HvTools.DateKind) { $more = @{ DateKind = 'String' } } else { $more = @{} }
    ConvertFrom-Json -InputObject $Text @more
}

function Add-HvText {
    param($Json, [string]$Text)
    if ($HvTools.Unsafe.IsMatch($Text)) {
        # The common ones without a script call for each.
        $Text = $Text.Replace('\', '\\').Replace('"', '\"').Replace("`r", '\r').Replace("`n", '\n').Replace("`t", '\t')
        $Text = $HvTools.Control.Replace($Text, $HvTools.Escape)
    }
    [void]$Json.Append('"').Append($Text).Append('"')
}

# Get-HvScalar gives kind and text of a value that is no object and no array; kind 'text' is quoted
# in JSON, 'raw' is not. For anything else it gives nothing.
function Get-HvScalar {
    param($Value)
    if ($null -eq $Value) { return @('raw', 'null') }
    if ($Value -is [string]) { return @('text', [string]$Value) }
    if ($Value -is [enum]) { return @('text', $Value.ToString()) }
    if ($Value -is [ValueType]) {
        switch ([Type]::GetTypeCode($Value.GetType()).ToString()) {
            'Boolean' { if ($Value) { return @('raw', 'true') } else { return @('raw', 'false') } }
            'Char' { return @('text', $Value.ToString()) }
            'DateTime' { return @('text', $Value.ToUniversalTime().ToString("yyyy-MM-dd'T'HH:mm:ss.fffffff'Z'", $HvTools.Invariant)) }
            { $_ -eq 'Double' -or $_ -eq 'Single' } {
                if ([double]::IsNaN($Value) -or [double]::IsInfinity($Value)) { return @('raw', 'null') }
                return @('raw', $Value.ToString('R', $HvTools.Invariant))
            }
            'Object' {
                if ($Value -is [Management.Automation.SwitchParameter]) { if ($Value.IsPresent) { return @('raw', 'true') } else { return @('raw', 'false') } }
                if ($Value -is [timespan]) { return @('raw', $Value.TotalSeconds.ToString('R', $HvTools.Invariant)) }
                if ($Value -is [DateTimeOffset]) { return @('text', $Value.UtcDateTime.ToString("yyyy-MM-dd'T'HH:mm:ss.fffffff'Z'", $HvTools.Invariant)) }
                if ($Value -is [guid]) { return @('text', $Value.ToString('D')) }
                if ($Value.GetType().FullName -eq 'System.Numerics.BigInteger' -or $Value -is [IntPtr] -or $Value -is [UIntPtr]) { return @('raw', $Value.ToString()) }
            }
            default { return @('raw', $Value.ToString($HvTools.Invariant)) }
        }
        return
    }
    if ($Value -is [Security.SecureString]) { return @('raw', 'null') }
    if ($Value -is [byte[]]) { return @('text', [Convert]::ToBase64String($Value)) }
    if ($Value -is [version] -or $Value -is [uri] -or $Value -is [type] -or $Value -is [Net.IPAddress] -or
        $Value -is [scriptblock] -or $Value -is [Xml.XmlNode] -or $Value -is [DBNull]) { return @('text', $Value.ToString()) }
}

# Test-HvArray: what JSON writes as an array.
function Test-HvArray {
    param($Value)
    $Value -is [Collections.IEnumerable] -and $Value -isnot [string] -and $Value -isnot [byte[]] -and
    $Value -isnot [Collections.IDictionary] -and $Value -isnot [Xml.XmlNode]
}

# Get-HvMember reads one property; one that is not there, or cannot be read, is null.
function Get-HvMember {
    param($Value, [string]$Name)
    if ($null -eq $Value) { return , $null }
    if ($Value -is [Collections.IDictionary]) {
        foreach ($key in $Value.get_Keys()) { if ([string]::Equals([string]$key, $Name, [StringComparison]::OrdinalIgnoreCase)) { return , $Value.get_Item($key) } }
        return , $null
    }
    try {
        $property = $Value.PSObject.Properties[$Name]
        if ($null -ne $property) { return , $property.Value }
    } catch { $null = $_ }
    , $null
}

# Get-HvPath walks property names, through arrays too.
function Get-HvPath {
    param($Value, [string[]]$Names)
    foreach ($name in $Names) {
        if ($null -eq $Value) { return , $null }
        if ($Value -is [Collections.IEnumerable] -and (Test-HvArray $Value)) {
            $all = New-Object Collections.ArrayList
            foreach ($element in $Value) {
                $found = Get-HvMember $element $name
                if (Test-HvArray $found) { foreach ($one in $found) { [void]$all.Add($one) } } else { [void]$all.Add($found) }
            }
            $Value = $all
        } else {
            $Value = Get-HvMember $Value $name
        }
    }
    , $Value
}

# New-HvFields prepares a projection: name as JSON, path as names, inner projection. It gives null for none.
function New-HvFields {
    param($Fields)
    if ($null -eq $Fields) { return }
    $prepared = New-Object Collections.ArrayList
    foreach ($field in $Fields) {
        $name = New-Object Text.StringBuilder
        Add-HvText $name $field.name
        $path = $field.path; if (-not $path) { $path = $field.name }
        [void]$prepared.Add(@{ Json = $name.ToString() + ':'; Names = $path.Split('.'); Single = $path.IndexOf('.') -lt 0; Fields = New-HvFields $field.fields })
    }
    , $prepared
}

# Add-HvJson writes a value. Level is that of the objects found here, the topmost being 1; below Depth
# objects become text. Fields, unless null, project the objects found here. The common cases are
# written out in place: a function call costs more than they do.
function Add-HvJson {
    param($Json, $Value, [int]$Level, [int]$Depth, $Fields)
    $scalar = Get-HvScalar $Value
    if ($null -ne $scalar) {
        if ($scalar[0] -eq 'raw') { [void]$Json.Append($scalar[1]) } else { Add-HvText $Json $scalar[1] }
        return
    }
    $separator = ''
    if (Test-HvArray $Value) {
        [void]$Json.Append('[')
        foreach ($element in $Value) {
            [void]$Json.Append($separator); $separator = ','
            Add-HvJson $Json $element $Level $Depth $Fields
        }
        [void]$Json.Append(']')
        return
    }
    if ($null -eq $Fields -and $Level -gt $Depth) { Add-HvText $Json ([string]$Value); return }
    [void]$Json.Append('{')
    if ($null -ne $Fields) {
        $properties = $Value.PSObject.Properties
        $plain = $Value -isnot [Collections.IDictionary]
        foreach ($field in $Fields) {
            [void]$Json.Append($separator).Append($field.Json); $separator = ','
            if ($plain -and $field.Single) {
                $inner = $null
                try { $property = $properties[$field.Names[0]]; if ($null -ne $property) { $inner = $property.Value } } catch { $null = $_ }
            } else { $inner = Get-HvPath $Value $field.Names }
            if ($null -eq $inner) { [void]$Json.Append('null') }
            elseif ($inner -is [string] -and -not $HvTools.Unsafe.IsMatch($inner)) { [void]$Json.Append('"').Append([string]$inner).Append('"') }
            elseif ($inner -is [bool]) { if ($inner) { [void]$Json.Append('true') } else { [void]$Json.Append('false') } }
            else { Add-HvJson $Json $inner ($Level + 1) $Depth $field.Fields }
        }
    } elseif ($Value -is [Collections.IDictionary]) {
        foreach ($key in @($Value.get_Keys())) {
            [void]$Json.Append($separator); $separator = ','
            Add-HvText $Json ([string]$key)
            [void]$Json.Append(':')
            Add-HvJson $Json $Value.get_Item($key) ($Level + 1) $Depth $null
        }
    } else {
        foreach ($property in $Value.PSObject.Properties) {
            [void]$Json.Append($separator); $separator = ','
            Add-HvText $Json $property.Name
            [void]$Json.Append(':')
            $inner = $null
            try { $inner = $property.Value } catch { $null = $_ }
            if ($null -eq $inner) { [void]$Json.Append('null') } else { Add-HvJson $Json $inner ($Level + 1) $Depth $null }
        }
    }
    [void]$Json.Append('}')
}

# New-HvConditions prepares conditions: path as names, texts as a set that ignores case.
function New-HvConditions {
    param($Conditions)
    $prepared = New-Object Collections.ArrayList
    foreach ($condition in $Conditions) {
        if ($null -eq $condition) { continue }
        $texts = New-Object Collections.Hashtable([StringComparer]::OrdinalIgnoreCase)
        foreach ($text in $condition.equals) { $texts[[string]$text] = $true }
        [void]$prepared.Add(@{ Names = ([string]$condition.property).Split('.'); Texts = $texts })
    }
    , $prepared
}

# Test-HvWhere: do all prepared conditions hold?
function Test-HvWhere {
    param($Value, $Conditions)
    foreach ($condition in $Conditions) {
        $found = Get-HvPath $Value $condition.Names
        $holds = $false
        if (-not (Test-HvArray $found)) { $found = @(, $found) }
        foreach ($candidate in $found) {
            $text = ''
            if ($null -ne $candidate) {
                $scalar = Get-HvScalar $candidate
                if ($null -ne $scalar) { $text = $scalar[1] } else { $text = [string]$candidate }
            }
            if ($condition.Texts.ContainsKey($text)) { $holds = $true; break }
        }
        if (-not $holds) { return $false }
    }
    $true
}

# New-HvError makes an error of the runner's own. Its text never holds a value that came in.
function New-HvError {
    param([string]$Id, [string]$Category, [string]$Message, [switch]$Session, [switch]$Started)
    $e = @{ id = $Id; category = $Category; message = $Message }
    if ($Session) { $e.session = $true }
    if ($Started) { $e.started = $true }
    $e
}

function ConvertTo-HvError {
    param($Record)
    if ($Record -isnot [Management.Automation.ErrorRecord]) {
        $Record = New-Object Management.Automation.ErrorRecord($Record, 'RunnerException', [Management.Automation.ErrorCategory]::NotSpecified, $null)
    }
    $exception = $Record.Exception
    $info = $Record.CategoryInfo
    $e = @{
        id = [string]$Record.FullyQualifiedErrorId; category = $info.Category.ToString(); reason = [string]$info.Reason
        activity = [string]$info.Activity; targetName = [string]$info.TargetName; targetType = [string]$info.TargetType
        message = ''
    }
    if ($null -ne $exception) {
        $e.message = [string]$exception.Message
        $e.exception = $exception.GetType().FullName
        $e.hresult = '0x{0:x8}' -f $exception.HResult
        # What came out of a guest or another process names the original exception like this.
        if ($null -ne $exception.InnerException) { $e.inner = [string]$exception.InnerException.Message }
    }
    if ($null -ne $Record.ErrorDetails) { $e.details = [string]$Record.ErrorDetails.Message }
    $e
}

# Resolve-HvValue makes the value of a parameter out of JSON. It throws a text that is an error id.
function Resolve-HvValue {
    param($Value, $Saved)
    if ($null -eq $Value -or $Value -is [string] -or $Value -is [ValueType]) { return , $Value }
    if ($Value -is [array]) {
        $list = New-Object Collections.ArrayList
        foreach ($element in $Value) { [void]$list.Add((Resolve-HvValue $element $Saved)) }
        return , $list.ToArray()
    }
    $names = @(foreach ($property in $Value.PSObject.Properties) { $property.Name })
    if ($names.Count -eq 1) {
        $form = $Value.PSObject.Properties[$names[0]].Value
        switch -CaseSensitive ($names[0]) {
            '$ref' { return , (Resolve-HvReference $form $Saved) }
            '$guid' { return , [guid][string]$form }
            '$cred' {
                $password = New-Object Security.SecureString
                foreach ($char in ([string]$form.password).ToCharArray()) { $password.AppendChar($char) }
                return , (New-Object Management.Automation.PSCredential([string]$form.user, $password))
            }
            '$sddl' {
                $security = Resolve-HvReference ([pscustomobject]@{ call = $form.call; index = 0 }) $Saved
                [void]$security.SetSecurityDescriptorSddlForm([string]$form.sddl)
                return , $security
            }
        }
    }
    $table = @{}
    foreach ($name in $names) { $table[$name] = Resolve-HvValue $Value.PSObject.Properties[$name].Value $Saved }
    , $table
}

function Resolve-HvReference {
    param($Reference, $Saved)
    $objects = $Saved[[string]$Reference.call]
    if ($null -eq $objects) { throw 'RunnerReferenceEmpty' }
    if ($Reference.path) { $objects = Get-HvPath $objects ([string]$Reference.path).Split('.') }
    $objects = @($objects)
    $index = $Reference.PSObject.Properties['index']
    if ($null -ne $index -and $null -ne $index.Value) {
        $at = [int]$index.Value
        if ($at -lt 0 -or $at -ge $objects.Count -or $null -eq $objects[$at]) { throw 'RunnerReferenceEmpty' }
        return , $objects[$at]
    }
    $objects = @(foreach ($one in $objects) { if ($null -ne $one) { , $one } })
    if ($objects.Count -eq 0) { throw 'RunnerReferenceEmpty' }
    if ($objects.Count -eq 1) { return , $objects[0] }
    , $objects
}

# Invoke-HvCall runs one call and appends its result; it returns whether there were errors.
function Invoke-HvCall {
    param($Json, $Call, $Saved)
    $watch = [Diagnostics.Stopwatch]::StartNew()
    $output = New-Object Collections.ArrayList
    $errors = New-Object Collections.ArrayList
    $warnings = New-Object Collections.ArrayList
    $skipped = $false
    try {
        $piped = $null
        if ($Call.input) {
            $piped = $Saved[[string]$Call.input]
            $skipped = $null -eq $piped -or $piped.Count -eq 0
        }
        if (-not $skipped) {
            $splat = @{}
            if ($null -ne $Call.parameters) {
                foreach ($parameter in $Call.parameters.PSObject.Properties) { $splat[$parameter.Name] = Resolve-HvValue $parameter.Value $Saved }
            }
            # Get-Command takes wildcards, which a name never holds.
            $name = [Management.Automation.WildcardPattern]::Escape([string]$Call.cmdlet)
            $command = Get-Command -Name $name -CommandType Cmdlet, Function -ErrorAction Stop | Select-Object -First 1
            $conditions = New-HvConditions $Call.where
            $collect = {
                if ($_ -is [Management.Automation.ErrorRecord]) { [void]$errors.Add((ConvertTo-HvError $_)) }
                elseif ($_ -is [Management.Automation.WarningRecord]) { [void]$warnings.Add([string]$_.Message) }
                elseif ($null -eq $_ -or $_ -is [Management.Automation.InformationalRecord] -or $_ -is [Management.Automation.InformationRecord]) { }
                elseif ($conditions.Count -eq 0 -or (Test-HvWhere $_ $conditions)) { [void]$output.Add($_) }
            }
            if ($Call.input) { $piped | & $command @splat *>&1 | ForEach-Object -Process $collect }
            else { & $command @splat *>&1 | ForEach-Object -Process $collect }
        }
    } catch {
        if ($_.FullyQualifiedErrorId -eq 'RunnerReferenceEmpty') {
            [void]$errors.Add((New-HvError -Id 'RunnerReferenceEmpty' -Category 'ObjectNotFound' -Message 'The object that this call refers to was not found.'))
        } else { [void]$errors.Add((ConvertTo-HvError $_)) }
    }
    if ($Call.save) { $Saved[[string]$Call.save] = $output }
    $depth = 2
    if ($Call.depth) { $depth = [int]$Call.depth }
    $written = New-Object Text.StringBuilder
    try {
        $fields = New-HvFields $Call.select
        Add-HvJson $written $output 1 $depth $fields
    } catch {
        [void]$errors.Add((ConvertTo-HvError $_))
        [void]$written.Clear().Append('[]')
    }
    [void]$Json.Append('{"output":').Append($written.ToString()).Append(',"errors":')
    Add-HvJson $Json $errors 1 2 $null
    [void]$Json.Append(',"warnings":')
    Add-HvJson $Json $warnings 1 1 $null
    [void]$Json.Append(',"ms":').Append($watch.ElapsedMilliseconds.ToString($HvTools.Invariant))
    if ($skipped) { [void]$Json.Append(',"skipped":true') }
    [void]$Json.Append('}')
    # Otherwise every error record of the process would be kept.
    $global:Error.Clear()
    $errors.Count -gt 0
}

# Invoke-HvGuest runs calls inside a guest. It answers one text: S if an error stopped the group, C if
# not, and the results as base64. Saved objects live as long as calls of the same group follow.
function Invoke-HvGuest {
    param([string]$Group, [string]$Calls)
    Set-HvPreferences
    $HvTools = New-HvTools
    if ($null -eq $global:HvGuestSaved -or $global:HvGuestSaved.Group -ne $Group) { $global:HvGuestSaved = @{ Group = $Group; Objects = @{} } }
    $batch = ConvertFrom-HvJson $HvTools.Utf8.GetString([Convert]::FromBase64String($Calls))
    $json = New-Object Text.StringBuilder
    [void]$json.Append('{"results":[')
    $state = 'C'; $separator = ''
    foreach ($call in $batch.calls) {
        [void]$json.Append($separator); $separator = ','
        $failed = Invoke-HvCall $json $call $global:HvGuestSaved.Objects
        if ($failed -and $call.onError -ne 'continue') { $state = 'S'; break }
    }
    [void]$json.Append(']}')
    $state + [Convert]::ToBase64String($HvTools.Utf8.GetBytes($json.ToString()))
}

# ---- Functions of the host ----

# Get-HvLibrary is the text of the functions above, for a guest's session.
function Get-HvLibrary {
    $text = New-Object Text.StringBuilder
    foreach ($name in 'Set-HvPreferences', 'New-HvTools', 'ConvertFrom-HvJson', 'Add-HvText', 'Get-HvScalar', 'Test-HvArray', 'Get-HvMember',
        'Get-HvPath', 'New-HvFields', 'Add-HvJson', 'New-HvConditions', 'Test-HvWhere', 'New-HvError', 'ConvertTo-HvError', 'Resolve-HvValue', 'Resolve-HvReference', 'Invoke-HvCall', 'Invoke-HvGuest') {
        [void]$text.Append('function global:').Append($name).Append(" {`n").Append((Get-Command -Name $name -CommandType Function).ScriptBlock.ToString()).Append("`n}`n")
    }
    [void]$text.Append("'HvReady'`n")
    $text.ToString()
}

# Resolve-HvGuest gives the virtual machine and user of a guest call, and the key of their session.
function Resolve-HvGuest {
    param($Guest, $Saved)
    $id = [guid][string](Resolve-HvValue $Guest.vmId $Saved)
    $credential = Resolve-HvValue $Guest.credential $Saved
    $hash = [Security.Cryptography.SHA256]::Create()
    try { $secret = [Convert]::ToBase64String($hash.ComputeHash($HvTools.Utf8.GetBytes($credential.GetNetworkCredential().Password))) } finally { $hash.Dispose() }
    @{ Id = $id; Credential = $credential; Key = $id.ToString('D') + "`n" + $credential.UserName.ToUpperInvariant() + "`n" + $secret }
}

# Test-HvSession: does a kept session still answer, and does it know the functions? Nothing of a batch
# has been handed to it then, so another one may take its place.
function Test-HvSession {
    param($Session)
    try {
        if ($Session.State -ne 'Opened') { return $false }
        return Test-HvReady @(Invoke-Command -Session $Session -ScriptBlock ([scriptblock]::Create('if (Get-Command -Name Invoke-HvGuest -ErrorAction SilentlyContinue) { ''HvReady'' }')) -ErrorAction Stop)
    } catch { return $false }
}

# Test-HvReady: is this what a guest says that knows the functions?
function Test-HvReady {
    param($Answer)
    $Answer.Count -eq 1 -and $Answer[0] -is [string] -and [string]$Answer[0] -ceq 'HvReady'
}

function Remove-HvSession {
    param([string]$Key)
    $session = $HvSessions[$Key]
    $HvSessions.Remove($Key)
    try { Remove-PSSession -Session $session -ErrorAction Stop } catch { $null = $_ }
}

# Get-HvSession gives a session that works; what it throws is about reaching the guest.
function Get-HvSession {
    param($Guest)
    if ($HvSessions.ContainsKey($Guest.Key)) {
        if (Test-HvSession $HvSessions[$Guest.Key]) { return $HvSessions[$Guest.Key] }
        Remove-HvSession $Guest.Key
    }
    $session = New-PSSession -VMId $Guest.Id -Credential $Guest.Credential -ErrorAction Stop
    $HvSessions[$Guest.Key] = $session
    try {
        if (-not (Test-HvReady @(Invoke-Command -Session $session -ScriptBlock ([scriptblock]::Create((Get-HvLibrary))) -ErrorAction Stop))) { throw 'RunnerGuestAnswer' }
    } catch {
        Remove-HvSession $Guest.Key
        throw
    }
    $session
}

# Add-HvFailures writes the same error for each of the calls, up to one that stops the group.
function Add-HvFailures {
    param($Json, $Calls, $Failure)
    $separator = ''
    foreach ($call in $Calls) {
        [void]$Json.Append($separator).Append('{"output":[],"errors":'); $separator = ','
        Add-HvJson $Json @(, $Failure) 1 2 $null
        [void]$Json.Append(',"warnings":[],"ms":0}')
        if ($call.onError -ne 'continue') { return $true }
    }
    $false
}

# Invoke-HvSegment runs calls that follow one another in the same guest. It returns whether an error
# stops the group. What a guest says is passed on as text and never looked into.
function Invoke-HvSegment {
    param($Json, $Calls, $Guest, [string]$Group)
    $failure = $null
    $started = $false
    try {
        $session = Get-HvSession $Guest
        $text = New-Object Text.StringBuilder
        [void]$text.Append('{"calls":')
        Add-HvJson $text @(foreach ($call in $Calls) { $call | Select-Object -Property cmdlet, parameters, input, save, where, select, onError, depth }) 1 100 $null
        [void]$text.Append('}')
        $started = $true
        $answer = @(Invoke-Command -Session $session -ScriptBlock ([scriptblock]::Create('param($Group, $Calls) Invoke-HvGuest $Group $Calls')) -ArgumentList $Group, ([Convert]::ToBase64String($HvTools.Utf8.GetBytes($text.ToString()))) -ErrorAction Stop)
        if ($answer.Count -ne 1 -or $answer[0] -isnot [string]) { throw 'RunnerGuestAnswer' }
        $answer = [string]$answer[0]
        if ($answer.Length -gt 8388608 -or $answer -cnotmatch '\A[CS][A-Za-z0-9+/]+={0,2}\z') { throw 'RunnerGuestAnswer' }
        [void]$Json.Append('{"guest":"').Append($answer, 1, $answer.Length - 1).Append('","calls":').Append($Calls.Count.ToString($HvTools.Invariant)).Append('}')
        return $answer[0] -ceq 'S'
    } catch {
        if ($_.FullyQualifiedErrorId -eq 'RunnerGuestAnswer') {
            $failure = New-HvError -Id 'RunnerGuestAnswer' -Category 'InvalidData' -Message 'The guest did not answer with one bounded text.'
        } else { $failure = ConvertTo-HvError $_ }
        $failure.session = $true
        if ($started) {
            $failure.started = $true
            Remove-HvSession $Guest.Key
        }
    }
    $global:Error.Clear()
    Add-HvFailures $Json $Calls $failure
}

function Invoke-HvGroup {
    param($Json, $Calls, [string]$Group)
    $saved = @{}
    $separator = ''
    $stopped = $false
    for ($i = 0; $i -lt $Calls.Count -and -not $stopped; $i++) {
        $call = $Calls[$i]
        [void]$Json.Append($separator); $separator = ','
        if ($null -eq $call.guest) {
            $failed = Invoke-HvCall $Json $call $saved
            $stopped = $failed -and $call.onError -ne 'continue'
            continue
        }
        try { $guest = Resolve-HvGuest $call.guest $saved } catch {
            if ($_.FullyQualifiedErrorId -eq 'RunnerReferenceEmpty') {
                $failure = New-HvError -Id 'RunnerReferenceEmpty' -Category 'ObjectNotFound' -Message 'The virtual machine that this call refers to was not found.'
            } else { $failure = ConvertTo-HvError $_; $failure.session = $true }
            $stopped = Add-HvFailures $Json @(, $call) $failure
            continue
        }
        $segment = New-Object Collections.ArrayList
        [void]$segment.Add($call)
        while ($i + 1 -lt $Calls.Count -and $null -ne $Calls[$i + 1].guest) {
            try { $next = Resolve-HvGuest $Calls[$i + 1].guest $saved } catch { break }
            if ($next.Key -cne $guest.Key) { break }
            $i++
            [void]$segment.Add($Calls[$i])
        }
        $stopped = Invoke-HvSegment $Json $segment $guest $Group
    }
}

function Invoke-HvBatch {
    param($Json, $Request, [string]$Id)
    [void]$Json.Append('{"groups":[')
    $number = 0
    foreach ($group in $Request.groups) {
        if ($number) { [void]$Json.Append(',') }
        [void]$Json.Append('[')
        Invoke-HvGroup $Json @($group) "$Id.$number"
        [void]$Json.Append(']')
        $number++
    }
    [void]$Json.Append(']}')
}

# Get-HvAnswer runs a batch that came as base64 and gives its answer as base64.
function Get-HvAnswer {
    param([string]$Id, [string]$Batch)
    $json = New-Object Text.StringBuilder
    try {
        $request = ConvertFrom-HvJson $HvTools.Utf8.GetString([Convert]::FromBase64String($Batch))
        $null = Invoke-HvBatch $json $request $Id
    } catch {
        [void]$json.Clear().Append('{"groups":[],"failure":')
        Add-HvJson $json (ConvertTo-HvError $_) 1 1 $null
        [void]$json.Append('}')
    }
    [Convert]::ToBase64String($HvTools.Utf8.GetBytes($json.ToString()))
}

# Write-HvLines puts lines on stdout, apart from what a cmdlet may have left there.
function Write-HvLines {
    param([string[]]$Lines)
    foreach ($line in $Lines) { $HvOut.Write("`n" + $line + "`n") }
    $HvOut.Flush()
}

function Write-HvAnswer {
    param([string]$Id, [string]$Text)
    $size = 49152
    $count = [Math]::Max(1, [int][Math]::Ceiling($Text.Length / $size))
    for ($i = 0; $i -lt $count; $i++) {
        $piece = $Text.Substring($i * $size, [Math]::Min($size, $Text.Length - $i * $size))
        Write-HvLines "#HV A $Id $i $count $($piece.Length) $piece"
    }
}

function Write-HvHello {
    $json = New-Object Text.StringBuilder
    Add-HvJson $json ([ordered]@{ protocol = 1; version = $PSVersionTable.PSVersion.ToString(); edition = [string]$PSVersionTable.PSEdition; pid = $PID }) 1 1 $null
    Write-HvLines ('#HV H ' + [Convert]::ToBase64String($HvTools.Utf8.GetBytes($json.ToString())))
}

# ---- The loop ----

Set-HvPreferences
# Numbers and dates are written the invariant way whatever the host's language.
[Threading.Thread]::CurrentThread.CurrentCulture = [Globalization.CultureInfo]::InvariantCulture
$HvTools = New-HvTools
$HvSessions = @{}
if ($HvOnce) { return Get-HvAnswer '0' $HvOnce }
$HvOut = New-Object IO.StreamWriter([Console]::OpenStandardOutput(), [Text.Encoding]::ASCII, 65536)
$HvOut.NewLine = "`n"
Write-HvHello

$current = [long]0; $pieces = @{}; $total = 0
$last = [long]0; $lastAnswer = ''
while ($null -ne ($line = $HvIn.ReadLine())) {
    $field = $line.Split(' ')
    $id = [long]0; $index = 0; $count = 0; $length = 0
    if ($field[0] -ceq 'X') { break }
    if ($field[0] -ceq 'H') { Write-HvHello; continue }
    if ($field[0] -ceq 'R' -and $field.Length -eq 2 -and [long]::TryParse($field[1], [ref]$id)) {
        if ($id -eq $last) { Write-HvAnswer $id $lastAnswer }
        elseif ($id -eq $current) {
            $missing = @(for ($i = 0; $i -lt $total; $i++) { if (-not $pieces.ContainsKey($i)) { $i } })
            Write-HvLines "#HV S $id partial:$($missing -join ',')"
        } else { Write-HvLines "#HV S $id unknown" }
        continue
    }
    if ($field[0] -cne 'C' -or $field.Length -ne 6) { continue }
    if (-not ([long]::TryParse($field[1], [ref]$id) -and [int]::TryParse($field[2], [ref]$index) -and
            [int]::TryParse($field[3], [ref]$count) -and [int]::TryParse($field[4], [ref]$length))) { continue }
    # A damaged piece is as good as a lost one.
    if ($index -lt 0 -or $index -ge $count -or $field[5].Length -ne $length) { continue }
    if ($id -eq $last) { if ($index -eq $count - 1) { Write-HvAnswer $id $lastAnswer }; continue }
    # A late copy of a piece that has had its time.
    if ($id -lt $last -or $id -lt $current) { continue }
    if ($id -ne $current) { $current = $id; $pieces = @{}; $total = $count }
    $pieces[$index] = $field[5]
    if ($pieces.Count -lt $total) { continue }
    $text = New-Object Text.StringBuilder
    for ($i = 0; $i -lt $total; $i++) { [void]$text.Append($pieces[$i]) }
    $lastAnswer = Get-HvAnswer ([string]$id) $text.ToString()
    $last = $id
    $current = [long]0; $pieces = @{}; $total = 0
    Write-HvAnswer $last $lastAnswer
}

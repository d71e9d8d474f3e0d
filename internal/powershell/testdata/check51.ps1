# Prints as JSON what each of the given scripts holds that Windows PowerShell 5.1 does not know.
# Node types of 5.1 that the scripts use; a new one is added here after a look at 5.1's grammar.
$nodes = 'ScriptBlockAst', 'ParamBlockAst', 'ParameterAst', 'NamedBlockAst', 'AssignmentStatementAst', 'PipelineAst', 'CommandAst', 'CommandExpressionAst',
    'CommandParameterAst', 'StringConstantExpressionAst', 'ExpandableStringExpressionAst', 'VariableExpressionAst', 'MemberExpressionAst', 'InvokeMemberExpressionAst',
    'TypeExpressionAst', 'TypeConstraintAst', 'ConvertExpressionAst', 'ConstantExpressionAst', 'BinaryExpressionAst', 'UnaryExpressionAst', 'IfStatementAst',
    'StatementBlockAst', 'WhileStatementAst', 'ForEachStatementAst', 'ForStatementAst', 'SwitchStatementAst', 'TryStatementAst', 'CatchClauseAst', 'ThrowStatementAst',
    'ReturnStatementAst', 'BreakStatementAst', 'ContinueStatementAst', 'FunctionDefinitionAst', 'HashtableAst', 'ArrayExpressionAst', 'ArrayLiteralAst',
    'ParenExpressionAst', 'SubExpressionAst', 'ScriptBlockExpressionAst', 'IndexExpressionAst', 'MergingRedirectionAst'
# Operators that 5.1 lacks are tokens of their own.
$newTokens = 'QuestionQuestion', 'QuestionQuestionEquals', 'QuestionDot', 'QuestionLBracket', 'QuestionMark', 'AndAnd', 'OrOr', 'Clean'
# Commands of 5.1 with the parameters that they have there.
$commands = @{}
$table = ConvertFrom-Json -InputObject ([IO.File]::ReadAllText([IO.Path]::Combine($PSScriptRoot, 'commands51.json')))
foreach ($p in $table.PSObject.Properties) { $commands[$p.Name] = @($p.Value) }
$all = @{}
foreach ($path in $args) {
    $errors = $null; $tokens = $null
    $ast = [Management.Automation.Language.Parser]::ParseFile($path, [ref]$tokens, [ref]$errors)
    $findings = New-Object Collections.ArrayList
    foreach ($e in $errors) { [void]$findings.Add("line $($e.Extent.StartLineNumber): $($e.Message)") }
    $own = @($ast.FindAll({ param($n) $n -is [Management.Automation.Language.FunctionDefinitionAst] }, $true) | ForEach-Object { $_.Name })

    foreach ($node in $ast.FindAll({ $true }, $true)) {
        $at = "line $($node.Extent.StartLineNumber): "
        $type = $node.GetType().Name
        if ($nodes -cnotcontains $type) { [void]$findings.Add("$at$type") }
        if ($node.PSObject.Properties['NullConditional'] -and $node.NullConditional) { [void]$findings.Add($at + 'null-conditional') }
        if ($node.PSObject.Properties['CleanBlock'] -and $node.CleanBlock) { [void]$findings.Add($at + 'CleanBlock') }
        if ($type -eq 'PipelineAst' -and $node.PSObject.Properties['Background'] -and $node.Background) { [void]$findings.Add($at + 'background') }
        if ($type -eq 'VariableExpressionAst' -and $node.VariablePath.UserPath -eq 'input') { [void]$findings.Add($at + 'the variable input') }
        if ($type -ne 'CommandAst') { continue }
        $name = $node.GetCommandName()
        if ($null -eq $name -or $own -contains $name) { continue }
        if (-not $commands.ContainsKey($name)) { [void]$findings.Add("$at$name"); continue }
        foreach ($element in $node.CommandElements) {
            if ($element -is [Management.Automation.Language.CommandParameterAst] -and $commands[$name] -notcontains $element.ParameterName) {
                [void]$findings.Add("$at$name -$($element.ParameterName)")
            }
        }
    }
    foreach ($token in $tokens) { if ($newTokens -ccontains $token.Kind.ToString()) { [void]$findings.Add("line $($token.Extent.StartLineNumber): $($token.Kind)") } }
    $all[[IO.Path]::GetFileName($path)] = @($findings)
}
ConvertTo-Json -InputObject $all -Compress

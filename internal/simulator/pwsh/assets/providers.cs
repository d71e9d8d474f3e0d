// Cmdlets of providers: paths of the session itself go to the real cmdlet, everything else to the model,
// because neither a registry nor the files of a simulated machine are on this one.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Management.Automation;
using System.Text.RegularExpressions;

namespace HyperVSim {
    public abstract class HvProviderCmdlet : HvCmdlet {
        // Drives of the session itself: functions, variables, aliases and the environment.
        static readonly Regex own = new Regex(@"^(Microsoft\.PowerShell\.Core\\)?((Function|Variable|Alias|Environment)::|(function|variable|alias|env):)", RegexOptions.IgnoreCase);

        static bool IsOwn(object v) {
            var o = v as PSObject;
            if (o != null) v = o.BaseObject;
            if (v is string) return own.IsMatch((string)v);
            return v is IEnumerable && ((IEnumerable)v).Cast<object>().Any() && ((IEnumerable)v).Cast<object>().All(IsOwn);
        }

        protected override void ProcessRecord() {
            var bound = MyInvocation.BoundParameters;
            object path;
            if (!(bound.TryGetValue("LiteralPath", out path) || bound.TryGetValue("Path", out path)) || !IsOwn(path)) { Door.Call(this, bound); return; }
            // The real cmdlet's enumerations are not ours: their names convert.
            var table = new Hashtable();
            foreach (var p in bound) table[p.Key] = p.Value is Enum ? p.Value.ToString() : p.Value;
            var real = InvokeCommand.GetCommand("Microsoft.PowerShell.Management\\" + MyInvocation.MyCommand.Name, CommandTypes.Cmdlet);
            if (real == null) {
                ThrowTerminatingError(new ErrorRecord(new CommandNotFoundException(MyInvocation.MyCommand.Name), "CommandNotFoundException", ErrorCategory.ObjectNotFound, MyInvocation.MyCommand.Name));
                return;
            }
            foreach (var o in InvokeCommand.InvokeScript(false, ScriptBlock.Create("param($HvReal, $HvBound) & $HvReal @HvBound"), null, real, table)) WriteObject(o, false);
        }
    }
}

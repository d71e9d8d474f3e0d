// Cmdlets of providers: registry paths go to the model, everything else to the real cmdlet.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Management.Automation;
using System.Text.RegularExpressions;

namespace HyperVSim {
    public abstract class HvProviderCmdlet : HvCmdlet {
        static readonly Regex registry = new Regex(@"^(Microsoft\.PowerShell\.Core\\)?(Registry::|HK(LM|CU|CR|U|CC):)", RegexOptions.IgnoreCase);

        static bool IsRegistry(object v) {
            var o = v as PSObject;
            if (o != null) v = o.BaseObject;
            if (v is string) return registry.IsMatch((string)v);
            if (v is IEnumerable) return ((IEnumerable)v).Cast<object>().Any(IsRegistry);
            return false;
        }

        protected override void ProcessRecord() {
            var bound = MyInvocation.BoundParameters;
            object path;
            foreach (var name in new[] { "Path", "LiteralPath" })
                if (bound.TryGetValue(name, out path) && IsRegistry(path)) { Door.Call(this, bound); return; }
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

// PowerShell Direct: a session is a runspace of this process whose calls go to the guest's model. What
// crosses the border is a copy, both ways.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Management.Automation;
using System.Management.Automation.Language;
using System.Management.Automation.Remoting;
using System.Management.Automation.Runspaces;

namespace HyperVSim {
    static class Sessions {
        internal static readonly ConcurrentDictionary<int, HvSession> All = new ConcurrentDictionary<int, HvSession>();

        static object Property(PSObject o, string name) { var p = o.Properties[name]; return p == null ? null : p.Value; }

        // Asks the model for sessions and opens a runspace for each.
        internal static List<HvSession> Open(PSCmdlet c, IDictionary<string, object> bound) {
            var sessions = new List<HvSession>();
            var answer = Door.Results(c, bound);
            foreach (var one in answer.Objects) {
                var o = PSObject.AsPSObject(one);
                var s = new HvSession {
                    Target = Convert.ToString(Property(o, "Target")), Key = Convert.ToString(Property(o, "InstanceId")),
                    VMName = Convert.ToString(Property(o, "VMName")), ComputerName = Convert.ToString(Property(o, "ComputerName")),
                };
                Guid id;
                if (Guid.TryParse(Convert.ToString(Property(o, "VMId")), out id)) s.VMId = id;
                if (string.IsNullOrEmpty(s.ComputerName)) s.ComputerName = s.VMName;
                object names;
                s.Name = bound.TryGetValue("Name", out names) && names is string[] && ((string[])names).Length > 0 ? ((string[])names)[0] : "Runspace" + s.Id;
                s.Runspace = NewRunspace(c, s);
                All[s.Id] = s;
                sessions.Add(s);
            }
            answer.Raise(c);
            return sessions;
        }

        static Runspace NewRunspace(PSCmdlet c, HvSession s) {
            var state = InitialSessionState.CreateDefault2();
            // Modules of the host must not be found by name here.
            state.Variables.Add(new SessionStateVariableEntry("PSModuleAutoLoadingPreference", "None", null));
            var r = RunspaceFactory.CreateRunspace(c.Host, state);
            r.Open();
            Door.SetPlace(r, new Place { Target = s.Target, Session = s.Key });
            using (var ps = PowerShell.Create()) {
                ps.Runspace = r;
                ps.AddScript("param($Start, $Modules) & $Start $Modules").AddArgument(Start()).AddArgument(Door.Modules(s.Target)).Invoke();
                if (ps.HadErrors && ps.Streams.Error.Count > 0) throw new RuntimeException(ps.Streams.Error[0].ToString());
            }
            return r;
        }

        static string Start() { return System.IO.Path.Combine(Environment.GetEnvironmentVariable("HVSIM_LIBRARY"), "start.ps1"); }

        internal static void Close(HvSession s, string state) {
            HvSession gone;
            All.TryRemove(s.Id, out gone);
            s.State = state;
            s.Runspace.Dispose();
        }

        static object Copy(object v, int depth) { return PSSerializer.Deserialize(PSSerializer.Serialize(v, depth)); }

        static bool Broken(PSCmdlet c, HvSession s) {
            if (s.State == "Opened" && !Door.SessionOpen(new Place { Target = s.Target, Session = s.Key })) Close(s, "Broken");
            if (s.State == "Opened") return false;
            var message = "The session state for session " + s.Name + " is " + s.State + ": the virtual machine has ended it.";
            var record = new ErrorRecord(new PSRemotingTransportException(message), "PSSessionStateBroken", ErrorCategory.OpenError, s.ComputerName);
            Errors.Fix(record, "PSSessionStateBroken");
            c.WriteError(record);
            return true;
        }

        internal static void Run(PSCmdlet c, HvSession s, ScriptBlock script, object[] arguments) {
            if (Broken(c, s)) return;
            using (var ps = PowerShell.Create()) {
                ps.Runspace = s.Runspace;
                ps.AddScript(Using(c, s, script), false);
                foreach (var a in arguments ?? new object[0]) ps.AddArgument(Copy(a, 2));
                ErrorRecord fatal = null;
                IEnumerable<PSObject> output = new PSObject[0];
                try { output = ps.Invoke(); } catch (RuntimeException e) { fatal = e.ErrorRecord; }
                // A guest that restarted while it ran the script cannot answer any more.
                if (Broken(c, s)) return;
                foreach (var w in ps.Streams.Warning) c.WriteWarning(w.Message);
                foreach (var o in output) c.WriteObject(o == null ? null : Mark(PSObject.AsPSObject(Copy(o, 1)), s), false);
                foreach (var e in ps.Streams.Error) Foreign(c, e, false);
                if (fatal != null) Foreign(c, fatal, true);
            }
        }

        static PSObject Mark(PSObject o, HvSession s) {
            o.Properties.Add(new PSNoteProperty("PSComputerName", s.ComputerName));
            o.Properties.Add(new PSNoteProperty("RunspaceId", s.Runspace.InstanceId));
            return o;
        }

        static void Foreign(PSCmdlet c, ErrorRecord e, bool fatal) { Errors.Fix(e, e.FullyQualifiedErrorId); Errors.Raise(c, e, fatal); }

        // $using: variables travel by value.
        static string Using(PSCmdlet c, HvSession s, ScriptBlock script) {
            foreach (UsingExpressionAst u in script.Ast.FindAll(a => a is UsingExpressionAst, true)) {
                var v = u.SubExpression as VariableExpressionAst;
                if (v != null) s.Runspace.SessionStateProxy.SetVariable("__using_" + v.VariablePath.UserPath, Copy(c.SessionState.PSVariable.GetValue(v.VariablePath.UserPath), 2));
            }
            return System.Text.RegularExpressions.Regex.Replace(script.ToString(), @"\$using:(\w+)", "$$__using_$1", System.Text.RegularExpressions.RegexOptions.IgnoreCase);
        }
    }

    public abstract class HvNewSession : HvCmdlet {
        protected override void ProcessRecord() { foreach (var s in Sessions.Open(this, MyInvocation.BoundParameters)) WriteObject(s, false); }
    }

    public abstract class HvGetSession : HvCmdlet {
        protected override void ProcessRecord() {
            object id, name;
            MyInvocation.BoundParameters.TryGetValue("Id", out id);
            MyInvocation.BoundParameters.TryGetValue("Name", out name);
            foreach (var s in Sessions.All.Values.OrderBy(s => s.Id))
                if ((id == null || ((int[])id).Contains(s.Id)) && (name == null || ((string[])name).Any(n => new WildcardPattern(n, WildcardOptions.IgnoreCase).IsMatch(s.Name)))) WriteObject(s, false);
        }
    }

    public abstract class HvRemoveSession : HvCmdlet {
        protected override void ProcessRecord() {
            object session, id;
            MyInvocation.BoundParameters.TryGetValue("Session", out session);
            MyInvocation.BoundParameters.TryGetValue("Id", out id);
            var chosen = session as HvSession[] ?? Sessions.All.Values.Where(s => id != null && ((int[])id).Contains(s.Id)).ToArray();
            foreach (var s in chosen) if (s.State == "Opened" && ShouldProcess(s.Name)) Sessions.Close(s, "Closed");
        }
    }

    public abstract class HvInvoke : HvCmdlet {
        protected override void ProcessRecord() {
            var bound = MyInvocation.BoundParameters;
            object session, script, arguments;
            bound.TryGetValue("ScriptBlock", out script);
            bound.TryGetValue("ArgumentList", out arguments);
            if (bound.TryGetValue("Session", out session)) { foreach (var s in (HvSession[])session) Sessions.Run(this, s, (ScriptBlock)script, (object[])arguments); return; }
            if (bound.ContainsKey("VMId") || bound.ContainsKey("VMName")) {
                var h = new Dictionary<string, object>(StringComparer.OrdinalIgnoreCase);
                foreach (var key in new[] { "VMId", "VMName", "Credential" }) if (bound.ContainsKey(key)) h[key] = bound[key];
                using (var ps = PowerShell.Create(RunspaceMode.CurrentRunspace)) {
                    foreach (var o in ps.AddCommand("New-PSSession").AddParameters(h).Invoke()) {
                        var s = (HvSession)o.BaseObject;
                        try { Sessions.Run(this, s, (ScriptBlock)script, (object[])arguments); } finally { if (s.State == "Opened") Sessions.Close(s, "Closed"); }
                    }
                    foreach (var e in ps.Streams.Error) Errors.Raise(this, e, false);
                }
                return;
            }
            var input = new List<object>();
            if (bound.ContainsKey("InputObject")) input.Add(bound["InputObject"]);
            foreach (var o in InvokeCommand.InvokeScript(!bound.ContainsKey("NoNewScope"), (ScriptBlock)script, input, (object[])arguments)) WriteObject(o, false);
        }
    }
}

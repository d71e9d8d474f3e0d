// The door to the model: one line of JSON each way over a socket, never sent twice, because the model
// may have acted.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Management.Automation;
using System.Management.Automation.Runspaces;
using System.Net.Sockets;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Json;

namespace HyperVSim {
    // Base class of the generated cmdlets: binding is the engine's, everything else the model's.
    public abstract class HvCmdlet : PSCmdlet {
        protected override void ProcessRecord() { Door.Call(this, MyInvocation.BoundParameters); }
    }

    // Where calls of a runspace go.
    public sealed class Place { public string Target; public string Session; }

    public static class Door {
        static readonly ConditionalWeakTable<Runspace, Place> places = new ConditionalWeakTable<Runspace, Place>();
        static readonly object gate = new object();
        static Stream stream;
        static StreamReader reader;

        internal static void SetPlace(Runspace r, Place p) { places.AddOrUpdate(r, p); }

        static Place Here() {
            Place p; var r = Runspace.DefaultRunspace;
            if (r != null && places.TryGetValue(r, out p)) return p;
            return new Place { Target = "host", Session = "" };
        }

        static string Send(byte[] line) {
            lock (gate) {
                try {
                    if (stream == null) {
                        var s = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                        s.Connect(new UnixDomainSocketEndPoint(Environment.GetEnvironmentVariable("HVSIM_DOOR")));
                        stream = new NetworkStream(s, true);
                        reader = new StreamReader(stream, new UTF8Encoding(false));
                    }
                    stream.Write(line, 0, line.Length); stream.WriteByte((byte)'\n'); stream.Flush();
                    var answer = reader.ReadLine();
                    if (answer == null) throw new IOException("the simulator closed the connection");
                    return answer;
                } catch (IOException) { if (stream != null) stream.Dispose(); stream = null; throw; }
            }
        }

        static JsonDocument Ask(string operation, Place place, Action<Utf8JsonWriter> more) {
            using (var ms = new MemoryStream()) {
                using (var w = new Utf8JsonWriter(ms)) {
                    w.WriteStartObject();
                    w.WriteString("process", Environment.GetEnvironmentVariable("HVSIM_PROCESS"));
                    w.WriteString("operation", operation);
                    w.WriteString("target", place.Target);
                    w.WriteString("session", place.Session);
                    more(w);
                    w.WriteEndObject();
                }
                return JsonDocument.Parse(Send(ms.ToArray()));
            }
        }

        // Is a session to a guest still open?
        internal static bool SessionOpen(Place place) {
            using (var d = Ask("session", place, w => { })) return d.RootElement.GetProperty("open").GetBoolean();
        }

        // The folder of module manifests that say what a guest has.
        internal static string Modules(string target) {
            using (var d = Ask("modules", new Place { Target = target, Session = "" }, w => { })) return d.RootElement.GetProperty("path").GetString();
        }

        static readonly HashSet<string> common = new HashSet<string>(
            PSCmdlet.CommonParameters.Concat(PSCmdlet.OptionalCommonParameters), StringComparer.OrdinalIgnoreCase);

        static bool Allowed(PSCmdlet c, string name, IDictionary<string, object> bound) {
            var attribute = c.GetType().GetCustomAttribute<CmdletAttribute>();
            bool asks = attribute != null ? attribute.SupportsShouldProcess : ((CommandInfo)c.MyInvocation.MyCommand).Parameters.ContainsKey("WhatIf");
            if (!asks) return true;
            object target;
            foreach (var key in new[] { "Name", "VMName", "Path", "LiteralPath" })
                if (bound.TryGetValue(key, out target) && target != null) return c.ShouldProcess(LanguagePrimitives.ConvertTo<string>(target), name);
            return c.ShouldProcess(c.MyInvocation.MyCommand.ModuleName, name);
        }

        // What the model answered, apart from warnings.
        internal sealed class Answer {
            internal readonly List<object> Objects = new List<object>();
            internal readonly List<KeyValuePair<ErrorRecord, bool>> Errors = new List<KeyValuePair<ErrorRecord, bool>>();
            internal void Raise(PSCmdlet c) { foreach (var e in Errors) HyperVSim.Errors.Raise(c, e.Key, e.Value); }
        }

        public static void Call(PSCmdlet c, IDictionary<string, object> bound) {
            var answer = Results(c, bound);
            foreach (var o in answer.Objects) c.WriteObject(o, false);
            answer.Raise(c);
        }

        internal static Answer Results(PSCmdlet c, IDictionary<string, object> bound) {
            var result = new Answer();
            string name = c.MyInvocation.MyCommand.Name;
            if (!Allowed(c, name, bound)) return result;
            JsonDocument answer;
            try {
                answer = Ask("call", Here(), w => {
                    w.WriteString("cmdlet", name);
                    w.WriteString("set", c.ParameterSetName);
                    w.WriteStartObject("parameters");
                    foreach (var p in bound) {
                        if (common.Contains(p.Key)) continue;
                        w.WritePropertyName(p.Key);
                        Values.Write(w, p.Value, 6);
                    }
                    w.WriteEndObject();
                });
            } catch (Exception e) when (e is IOException || e is SocketException) {
                c.ThrowTerminatingError(new ErrorRecord(e, "SimulatorDoor", ErrorCategory.ConnectionError, null));
                return result;
            }
            using (answer) {
                JsonElement list;
                if (answer.RootElement.TryGetProperty("objects", out list)) foreach (var e in list.EnumerateArray()) result.Objects.Add(Values.Read(e));
                if (answer.RootElement.TryGetProperty("warnings", out list)) foreach (var e in list.EnumerateArray()) c.WriteWarning(e.GetString());
                if (answer.RootElement.TryGetProperty("errors", out list)) foreach (var e in list.EnumerateArray())
                    result.Errors.Add(new KeyValuePair<ErrorRecord, bool>(HyperVSim.Errors.Read(e), e.GetProperty("terminating").GetBoolean()));
            }
            return result;
        }
    }
}

// Error records as the model words them.
using System;
using System.Globalization;
using System.Management.Automation;
using System.Reflection;
using System.Text.Json;

namespace HyperVSim {
    static class Errors {
        // An id that came over a wire is returned as it is, whatever the engine would make of it.
        static readonly FieldInfo fixedId = typeof(ErrorRecord).GetField("_serializedFullyQualifiedErrorId", BindingFlags.Instance | BindingFlags.NonPublic);

        internal static void Fix(ErrorRecord e, string id) {
            if (fixedId == null) throw new InvalidOperationException("This version of PowerShell cannot keep the id of an error record.");
            fixedId.SetValue(e, id);
        }

        internal static void Raise(PSCmdlet c, ErrorRecord e, bool terminating) {
            if (terminating) c.ThrowTerminatingError(e); else c.WriteError(e);
        }

        static Exception Make(string name, string message) {
            var t = Values.Find(name);
            if (t != null && typeof(Exception).IsAssignableFrom(t) && !t.IsAbstract) {
                const BindingFlags any = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;
                foreach (var args in new[] { new object[] { message }, new object[] { message, null } }) {
                    try { return (Exception)Activator.CreateInstance(t, any, null, args, null); } catch (MissingMethodException) { } catch (AmbiguousMatchException) { }
                }
            }
            return new Exception(message);
        }

        internal static ErrorRecord Read(JsonElement e) {
            Func<string, string> text = name => { JsonElement x; return e.TryGetProperty(name, out x) && x.ValueKind == JsonValueKind.String ? x.GetString() : ""; };
            var exception = Make(text("exception"), text("message"));
            uint hresult;
            if (text("hresult").StartsWith("0x") && uint.TryParse(text("hresult").Substring(2), NumberStyles.HexNumber, CultureInfo.InvariantCulture, out hresult)) exception.HResult = unchecked((int)hresult);
            ErrorCategory category;
            if (!Enum.TryParse(text("category"), out category)) category = ErrorCategory.NotSpecified;
            JsonElement target;
            var record = new ErrorRecord(exception, text("id"), category, e.TryGetProperty("target", out target) ? Values.Read(target) : null);
            if (text("targetType") != "") record.CategoryInfo.TargetType = text("targetType");
            Fix(record, text("id"));
            return record;
        }
    }
}

// Values through the door, both ways. Everything that JSON cannot say is an object whose single key
// starts with a dollar.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Management.Automation;
using System.Text.Json;

namespace HyperVSim {
    static class Values {
        static void Tag(Utf8JsonWriter w, string key, Action value) { w.WriteStartObject(); w.WritePropertyName(key); value(); w.WriteEndObject(); }

        internal static void Write(Utf8JsonWriter w, object v, int depth) {
            var pso = v as PSObject;
            if (pso != null && !(pso.BaseObject is PSCustomObject)) v = pso.BaseObject;
            if (v == null) { w.WriteNullValue(); return; }
            if (v is string || v is char) { w.WriteStringValue(v.ToString()); return; }
            if (v is bool) { w.WriteBooleanValue((bool)v); return; }
            if (v is SwitchParameter) { w.WriteBooleanValue(((SwitchParameter)v).IsPresent); return; }
            if (v is Enum) {
                Tag(w, "$enum", () => { w.WriteStartArray(); w.WriteStringValue(v.GetType().FullName); w.WriteStringValue(v.ToString()); w.WriteNumberValue(Convert.ToInt64(v)); w.WriteEndArray(); });
                return;
            }
            if (v is ulong) { w.WriteNumberValue((ulong)v); return; }
            if (v is double || v is float || v is decimal) { Tag(w, "$double", () => w.WriteStringValue(Convert.ToDouble(v).ToString("R", CultureInfo.InvariantCulture))); return; }
            if (v is long || v is int || v is uint || v is short || v is ushort || v is byte || v is sbyte) { w.WriteNumberValue(Convert.ToInt64(v)); return; }
            if (v is DateTime) { Tag(w, "$time", () => w.WriteStringValue(((DateTime)v).ToUniversalTime().ToString("o", CultureInfo.InvariantCulture))); return; }
            if (v is TimeSpan) { Tag(w, "$span", () => w.WriteNumberValue(((TimeSpan)v).Ticks)); return; }
            if (v is Guid) { Tag(w, "$guid", () => w.WriteStringValue(v.ToString())); return; }
            if (v is HvSecurity) { Tag(w, "$security", () => Bag(w, new PSObject(v), depth)); return; }
            if (v is HvObject) { Tag(w, "$object", () => w.WriteRawValue(((HvObject)v).Record, true)); return; }
            if (v is PSCredential) {
                var c = (PSCredential)v;
                Tag(w, "$cred", () => { w.WriteStartArray(); w.WriteStringValue(c.UserName); w.WriteStringValue(c.GetNetworkCredential().Password); w.WriteEndArray(); });
                return;
            }
            if (v is System.Security.SecureString) { w.WriteNullValue(); return; }
            if (depth < 0 || v is Version || v is Uri || v is ScriptBlock || v is Type) { w.WriteStringValue(v.ToString()); return; }
            if (v is IDictionary) {
                Tag(w, "$map", () => {
                    w.WriteStartObject();
                    foreach (DictionaryEntry e in (IDictionary)v) { w.WritePropertyName(Convert.ToString(e.Key, CultureInfo.InvariantCulture)); Write(w, e.Value, depth - 1); }
                    w.WriteEndObject();
                });
                return;
            }
            if (v is IEnumerable) { w.WriteStartArray(); foreach (var e in (IEnumerable)v) Write(w, e, depth - 1); w.WriteEndArray(); return; }
            if (pso != null) { Tag(w, "$bag", () => Bag(w, pso, depth)); return; }
            w.WriteStringValue(v.ToString());
        }

        static void Bag(Utf8JsonWriter w, PSObject o, int depth) {
            w.WriteStartArray();
            foreach (var p in o.Properties.Where(p => p.IsInstance)) {
                w.WriteStartArray(); w.WriteStringValue(p.Name); Write(w, p.Value, depth - 1); w.WriteEndArray();
            }
            w.WriteEndArray();
        }

        static readonly Dictionary<string, Type> types = new Dictionary<string, Type>();
        // A class by its full name: our own first, then whatever the process has.
        internal static Type Find(string name) {
            lock (types) {
                Type t;
                if (!types.TryGetValue(name, out t)) {
                    t = typeof(Values).Assembly.GetType(name);
                    if (t == null) foreach (var a in AppDomain.CurrentDomain.GetAssemblies()) { t = a.IsDynamic ? null : a.GetType(name); if (t != null) break; }
                    types[name] = t;
                }
                return t;
            }
        }

        internal static object Read(JsonElement e) {
            switch (e.ValueKind) {
                case JsonValueKind.Null: case JsonValueKind.Undefined: return null;
                case JsonValueKind.True: return true;
                case JsonValueKind.False: return false;
                case JsonValueKind.String: return e.GetString();
                case JsonValueKind.Number:
                    int i; long l; ulong u;
                    if (e.TryGetInt32(out i)) return i;
                    if (e.TryGetInt64(out l)) return l;
                    if (e.TryGetUInt64(out u)) return u;
                    return e.GetDouble();
                case JsonValueKind.Array: return e.EnumerateArray().Select(Read).ToArray();
            }
            var tag = e.EnumerateObject().First();
            var v = tag.Value;
            switch (tag.Name) {
                case "$as": return As(v[0].GetString(), v[1]);
                case "$enum": {
                    // By name: the numbers of some enumerations are only counted.
                    var t = Find(v[0].GetString());
                    object member;
                    return t != null && t.IsEnum && Enum.TryParse(t, v[1].GetString(), true, out member) ? member : v[1].GetString();
                }
                case "$double": return double.Parse(v.GetString(), CultureInfo.InvariantCulture);
                case "$time": return DateTime.Parse(v.GetString(), CultureInfo.InvariantCulture, DateTimeStyles.RoundtripKind).ToUniversalTime();
                case "$span": return TimeSpan.FromTicks(v.GetInt64());
                case "$guid": { Guid g; return Guid.TryParse(v.GetString(), out g) ? g : (object)v.GetString(); }
                case "$bytes": return v.GetBytesFromBase64();
                case "$map": { var h = new Hashtable(StringComparer.OrdinalIgnoreCase); foreach (var p in v.EnumerateObject()) h[p.Name] = Read(p.Value); return h; }
                case "$bag": { var o = new PSObject(); Fill(o, v); return o; }
                case "$object": return Object(v);
            }
            throw new FormatException("unknown value " + tag.Name);
        }

        // A number or text with its .NET type.
        static object As(string name, JsonElement e) {
            var v = Read(e);
            if (v is string && name == "System.Type") return Find((string)v) ?? v;
            var t = Find(name) ?? Type.GetType(name);
            if (t == null || v == null) return v;
            object converted;
            return LanguagePrimitives.TryConvertTo(v, t, CultureInfo.InvariantCulture, out converted) ? converted : v;
        }

        static void Fill(PSObject o, JsonElement properties) {
            foreach (var p in properties.EnumerateArray()) {
                var name = p[0].GetString();
                if (o.Properties[name] == null) o.Properties.Add(new PSNoteProperty(name, Read(p[1])));
            }
        }

        const string Cim = "Microsoft.Management.Infrastructure.CimInstance";

        static object Object(JsonElement e) {
            var names = e.GetProperty("types").EnumerateArray().Select(t => t.GetString()).ToList();
            HvObject o;
            var k = names.Count > 0 ? Find(names[0]) : null;
            if (k != null && typeof(HvObject).IsAssignableFrom(k)) o = (HvObject)Activator.CreateInstance(k, true);
            else if (names.Any(n => n == Cim || n.StartsWith(Cim + "#"))) o = new Microsoft.Management.Infrastructure.CimInstance();
            else if (names.Any(n => n.StartsWith("System.Security.AccessControl."))) o = new HvSecurity { Class = names[0] };
            else o = new HvBag { Class = names[0].Split('#')[0] };
            o.Record = e.GetRawText();
            JsonElement text;
            if (e.TryGetProperty("text", out text)) o.Words = text.GetString();
            var pso = new PSObject(o);
            foreach (var n in Enumerable.Reverse(names)) {
                // Binding by class asks for the short form.
                if (n.StartsWith(Cim + "#") && n.Contains('/')) pso.TypeNames.Insert(0, Cim + "#" + n.Substring(n.LastIndexOf('/') + 1));
                if (!pso.TypeNames.Contains(n)) pso.TypeNames.Insert(0, n);
            }
            Fill(pso, e.GetProperty("properties"));
            return pso;
        }
    }
}

// What cmdlets return. Every object carries the model's own record of it, which scripts cannot see.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Management.Automation;
using System.Management.Automation.Runspaces;

namespace HyperVSim {
    // Properties are ETS note properties, so that a script sees exactly what the model gave, in its order.
    public class HvObject {
        internal string Record; // JSON as it came through the door
        internal string Words;
        public override string ToString() { return Words ?? GetType().FullName; }
    }

    // An object of a class that this runtime does not have.
    public class HvBag : HvObject {
        internal string Class;
        public override string ToString() { return Words ?? Class; }
    }

    // What Get-Acl returns: its SDDL form may be replaced before Set-Acl.
    public class HvSecurity : HvBag {
        public void SetSecurityDescriptorSddlForm(string sddlForm) {
            if (string.IsNullOrEmpty(sddlForm)) throw new ArgumentNullException(nameof(sddlForm));
            new PSObject(this).Properties["Sddl"].Value = sddlForm;
        }
        public string GetSecurityDescriptorSddlForm() { return (string)new PSObject(this).Properties["Sddl"].Value; }
    }

    // Stands in for PSSession, which only real remoting can make.
    public class HvSession {
        static int last;
        internal Runspace Runspace;
        internal string Target, Key;
        public int Id { get; } = System.Threading.Interlocked.Increment(ref last);
        public string Name { get; internal set; }
        public string ComputerName { get; internal set; }
        public string ComputerType { get { return "VirtualMachine"; } }
        public Guid? VMId { get; internal set; }
        public string VMName { get; internal set; }
        public string ConfigurationName { get; internal set; }
        public string State { get; internal set; } = "Opened";
        public string Availability { get { return State == "Opened" ? "Available" : "None"; } }
        public string InstanceId { get { return Key; } }
        public override string ToString() { return "[PSSession]" + Name; }
    }
}

namespace Microsoft.HyperV.PowerShell {
    public class VirtualizationException : Exception { public VirtualizationException(string m) : base(m) { } }
    public class VirtualizationOperationFailedException : VirtualizationException { public VirtualizationOperationFailedException(string m) : base(m) { } }
    public class VMTask : HyperVSim.HvObject { internal VMTask() { } }
}
namespace Microsoft.PowerShell.Cmdletization.Cim {
    public class CimJobException : Exception { public CimJobException(string m) : base(m) { } }
}
// The Linux build of these classes needs a native library that is not there.
namespace Microsoft.Management.Infrastructure {
    public class CimInstance : HyperVSim.HvObject { internal CimInstance() { } }
    public class CimSession : HyperVSim.HvObject { internal CimSession() { } }
    public class CimException : Exception { public CimException(string m) : base(m) { } }
}

//! No capabilities, and no way to gain any: also for root, and also for programs that change user.

use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::sys;
use crate::warden::{Doing, Failure};

/// The highest number a capability can have, with room for those to come.
const LAST_CAPABILITY: libc::c_ulong = 63;

/// Gives up everything this process could do beyond its user's rights, for good.
pub(super) fn give_up() -> Result<(), Failure> {
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1).doing(|| "give up new privileges".into())?;
    for capability in 0..=LAST_CAPABILITY {
        // Numbers the kernel does not know are refused; and who has none to give needs not.
        let _unknown = sys::prctl(libc::PR_CAPBSET_DROP, capability);
    }
    let _none = rustix::thread::clear_ambient_capability_set();
    let nothing = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, nothing).doing(|| "give up capabilities".into())
}

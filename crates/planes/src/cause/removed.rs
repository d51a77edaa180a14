//! One shared thing taken away, and given back when dropped.

use host::favour::Rank;
use host::interrupts::Interrupts;
use host::partition::Partition;
use host::settings::{self, Setting};
use host::tasks::TaskError;
use host::{CoreId, Namespace, favour, napi, tasks};

use super::intervention::Removal;
use super::setup::Setup;
use crate::deployment::{Deployment, Running};
use crate::error::{Error, host};
use crate::management::Server;
use crate::result::Plane;

/// What is undone when dropped.
#[derive(Default)]
pub(super) struct Removed<'a> {
    settings: Vec<Setting>,
    interrupts: Option<Interrupts>,
    /// Threads that were raised.
    raised: Vec<u32>,
    /// Interfaces whose softirqs moved, and the core of the thread in which they were.
    moved: Vec<(&'a Namespace, &'a str, Option<CoreId>)>,
    partitions: Vec<Partition>,
}

impl<'a> Removed<'a> {
    pub(super) fn apply(
        removal: Removal,
        victim: Plane,
        setup: &Setup<'a>,
        running: &mut Running,
        server: &Server,
    ) -> Result<Self, Error> {
        let others = setup.cores.others();
        let away = match victim {
            Plane::User => others.as_slice(),
            Plane::Management => std::slice::from_ref(&setup.cores.user),
        };
        let mut removed = Self::default();
        match removal {
            Removal::Queue => match victim {
                Plane::User => removed.raise(&running.processes(), Rank::First(1))?,
                // Before the tester's sender too, which has the lowest real-time priority.
                Plane::Management => removed.raise(&[server.process()], Rank::First(2))?,
            },
            Removal::Softirqs => removed.move_softirqs(setup)?,
            Removal::Interrupts => {
                let interrupts = removed.interrupts.insert(Interrupts::take());
                interrupts.put(away);
            }
            Removal::Workers => {
                let setting =
                    settings::workers_to(away).map_err(host("move the kernel's workers"))?;
                removed.settings.push(setting);
            }
            Removal::HostTasks => removed.partitions.push(clear_core(setup, running)?),
            // These two are another load, not another machine.
            Removal::Routes | Removal::HandlerMemory => {}
        }
        Ok(removed)
    }

    fn raise(&mut self, processes: &[u32], rank: Rank) -> Result<(), Error> {
        for &process in processes {
            // A process that has ended meanwhile needs no rank.
            for thread in tasks::threads(process).unwrap_or_default() {
                if favour::rank(thread, rank).is_ok() {
                    self.raised.push(thread);
                }
            }
        }
        if self.raised.is_empty() {
            let refused = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
            return Err(host("give the victim's tasks a real-time priority")(
                refused,
            ));
        }
        Ok(())
    }

    fn move_softirqs(&mut self, setup: &Setup<'a>) -> Result<(), Error> {
        let threaded = matches!(
            setup.variant.deployment,
            Deployment::SmpBound | Deployment::Partitioned
        );
        let (thread, none) = (Some(setup.cores.user), None);
        let (before, now) = if threaded {
            (thread, none)
        } else {
            (none, thread)
        };
        for interface in setup.site.interfaces() {
            move_softirqs(&setup.site.device, interface, now)?;
            self.moved.push((&setup.site.device, interface, before));
        }
        Ok(())
    }
}

/// Has an interface's softirqs run in a thread on that core, or where packets arrive.
fn move_softirqs(
    device: &Namespace,
    interface: &str,
    thread: Option<CoreId>,
) -> Result<(), TaskError> {
    match thread {
        None => napi::set_threaded(device, interface, false),
        Some(core) => napi::to_core(device, interface, core, Rank::First(1), false).map(drop),
    }
}

/// Sets the user plane's core apart for the user plane alone.
fn clear_core(setup: &Setup<'_>, running: &mut Running) -> Result<Partition, Error> {
    let user = setup.cores.user;
    let partition = Partition::isolate(&[user], &setup.cores.all)?;
    let mut tasks = running.processes();
    if setup.variant.deployment == Deployment::SmpBound {
        tasks.extend(setup.site.interfaces().flat_map(napi::threads));
    }
    for task in tasks {
        partition.take(task)?;
        tasks::bind(task, &[user])?;
    }
    Ok(partition)
}

impl Drop for Removed<'_> {
    fn drop(&mut self) {
        for &thread in &self.raised {
            // Threads that ended meanwhile have nothing to give back.
            let _ = favour::rank(thread, Rank::Normal);
        }
        for &(device, interface, before) in &self.moved {
            // The next trial would show it, and the site goes away at the end.
            let _ = move_softirqs(device, interface, before);
        }
    }
}

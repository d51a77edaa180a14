//! Who the threads are: names, processes, and which of them the verdict is about.

use crate::event::{TaskNews, Tid};
use crate::fast_map::FastMap;
use crate::trace::{Scope, Trace};

/// The parent of all kernel threads.
const KTHREADD: Tid = 2;

/// What a thread is to the verdict. The budget and the page count with these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It belongs to the program under study.
    Target,
    /// It belongs to another program.
    Other,
    /// It is a thread of the kernel.
    Kernel,
    /// It is the recorder's.
    Recorder,
    /// It is a core's idle thread.
    Idle,
}

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its number.
    pub tid: Tid,
    /// Its process; its own number where nothing was heard.
    pub process: Tid,
    /// Its name, the last one it had.
    pub name: String,
    /// What it is to the verdict.
    pub role: Role,
    /// When it was made, if that was during the recording.
    pub born: Option<u64>,
    /// When it ended, if that was during the recording.
    pub gone: Option<u64>,
}

/// All threads that were heard of.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    known: FastMap<Tid, Thread>,
}

impl Threads {
    /// Gathers the threads of a trace.
    pub fn new(trace: &Trace) -> Self {
        let mut known: FastMap<Tid, Thread> = FastMap::default();
        let mut parents: FastMap<Tid, Tid> = FastMap::default();
        for change in &trace.tasks {
            let thread = known.entry(change.tid).or_insert_with(|| Thread {
                tid: change.tid,
                process: change.process,
                name: String::new(),
                role: Role::Other,
                born: None,
                gone: None,
            });
            match &change.what {
                TaskNews::Named(name) => {
                    thread.name.clone_from(name);
                    thread.process = change.process;
                }
                TaskNews::Forked { parent } => {
                    thread.process = change.process;
                    if change.time > 0 {
                        thread.born = Some(change.time);
                        thread.gone = None;
                    }
                    if *parent != change.process {
                        parents.insert(change.process, *parent);
                    }
                }
                TaskNews::Exited => thread.gone = Some(change.time),
            }
        }
        let mut threads = Self { known };
        threads.name_the_unnamed(&parents);
        threads.give_roles(trace, &parents);
        threads
    }

    /// A new thread has its maker's name until it takes its own.
    fn name_the_unnamed(&mut self, parents: &FastMap<Tid, Tid>) {
        let name = |tid: &Tid| {
            let thread = self.known.get(tid);
            thread
                .map(|thread| &thread.name)
                .filter(|name| !name.is_empty())
        };
        let names: Vec<(Tid, String)> = self
            .known
            .values()
            .filter(|thread| thread.name.is_empty())
            .filter_map(|thread| {
                let leader = name(&thread.process);
                let name = leader.or_else(|| name(parents.get(&thread.process)?))?;
                Some((thread.tid, name.clone()))
            })
            .collect();
        for (tid, name) in names {
            if let Some(thread) = self.known.get_mut(&tid) {
                thread.name = name;
            }
        }
    }

    fn give_roles(&mut self, trace: &Trace, parents: &FastMap<Tid, Tid>) {
        let descends = |process: Tid, root: Tid| {
            // A chain longer than this is a loop made by reused numbers.
            const GENERATIONS: usize = 64;
            std::iter::successors(Some(process), |child| parents.get(child).copied())
                .take(GENERATIONS)
                .any(|ancestor| ancestor == root)
        };
        for thread in self.known.values_mut() {
            thread.role = if trace.trailer.recorder_threads.contains(&thread.tid) {
                Role::Recorder
            } else if thread.tid == 0 {
                Role::Idle
            } else if thread.process == KTHREADD || parents.get(&thread.process) == Some(&KTHREADD)
            {
                Role::Kernel
            } else {
                match trace.trailer.scope {
                    Scope::Everything => Role::Target,
                    Scope::Process(root) if descends(thread.process, root) => Role::Target,
                    Scope::Process(_) => Role::Other,
                }
            };
        }
    }

    /// The thread numbered `tid`, if it was heard of.
    pub fn get(&self, tid: Tid) -> Option<&Thread> {
        self.known.get(&tid)
    }

    /// What `tid` is to the verdict.
    pub fn role(&self, tid: Tid) -> Role {
        match self.known.get(&tid) {
            Some(thread) => thread.role,
            None if tid == 0 => Role::Idle,
            None => Role::Other,
        }
    }

    /// The process of `tid`.
    pub fn process(&self, tid: Tid) -> Tid {
        self.known.get(&tid).map_or(tid, |thread| thread.process)
    }

    /// The name of `tid` for people.
    pub fn name(&self, tid: Tid) -> String {
        match self.known.get(&tid) {
            _ if tid == 0 => "idle".to_owned(),
            Some(thread) if !thread.name.is_empty() => thread.name.clone(),
            _ => format!("thread {tid}"),
        }
    }

    /// All threads, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Thread> {
        self.known.values()
    }
}

//! From a parsed object to programs in the kernel: set constants, size maps, create, patch, load.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crate::bound;
use crate::joined::{self, CALL};
use crate::map::Map;
use crate::object::{CONSTANTS, Code, Object, Reference};
use crate::specialise::{Referent, specialise};
use crate::sys::{self, Instruction, MapDefinition, RunResult, SocketBuffer};
use crate::{Error, Result};

/// How much of a refused program's log an error carries, in lines.
const LOG_LINES: usize = 12;
const LOG_BYTES: usize = 1 << 20;
/// `BPF_PSEUDO_MAP_FD`: the immediate is a map's descriptor.
const PSEUDO_MAP: u8 = 1;
/// `BPF_PSEUDO_MAP_VALUE`: the same, and the second half's is an offset in its first value.
const PSEUDO_MAP_VALUE: u8 = 2;
/// `BPF_PSEUDO_KFUNC_CALL`: the immediate is the number of a function of the kernel's.
const PSEUDO_FUNCTION: u8 = 2;

/// Collects what must be known before the programs of an object are loaded.
#[derive(Debug)]
pub struct Loader {
    object: Object,
    constants: HashMap<String, u64>,
    shared: HashMap<String, Map>,
    functions: Vec<(i32, u32)>,
    behind: Option<(i32, Vec<Instruction>)>,
    others: Vec<Other>,
    bound: u32,
}

/// A program that each program of an object goes on as, or begins as.
#[derive(Debug)]
struct Other {
    stand_in: i32,
    code: Code,
    begins: bool,
}

impl Loader {
    /// Begins with an object file.
    ///
    /// # Errors
    /// [`Error::Object`] when it is not one of ours.
    pub fn new(file: &[u8]) -> Result<Self> {
        Ok(Self {
            object: Object::parse(file)?,
            constants: HashMap::new(),
            shared: HashMap::new(),
            functions: Vec::new(),
            behind: None,
            others: Vec::new(),
            bound: 0,
        })
    }

    /// Sets a load-time constant.
    #[must_use]
    pub fn constant(mut self, name: &str, value: u64) -> Self {
        self.constants.insert(name.to_owned(), value);
        self
    }

    /// Sets how many entries a map gets.
    ///
    /// # Errors
    /// [`Error::Object`] when there is no such map.
    pub fn entries(mut self, map: &str, entries: u32) -> Result<Self> {
        self.definition(map)?.entries = entries;
        Ok(self)
    }

    /// Makes a map that this configuration of the programs never reaches a plain array of one
    /// entry, which every kernel has.
    ///
    /// # Errors
    /// [`Error::Object`] when there is no such map.
    pub fn unused(mut self, map: &str) -> Result<Self> {
        let definition = self.definition(map)?;
        definition.kind = sys::TYPE_ARRAY;
        definition.entries = 1;
        Ok(self)
    }

    /// Sets how large a map's values are, in bytes; their type is then no longer known.
    ///
    /// # Errors
    /// [`Error::Object`] when there is no such map.
    pub fn value_size(mut self, map: &str, bytes: u32) -> Result<Self> {
        let definition = self.definition(map)?;
        definition.value_size = bytes;
        (definition.key_type, definition.value_type) = (0, 0);
        Ok(self)
    }

    /// Uses an existing map instead of creating one.
    #[must_use]
    pub fn share(mut self, name: &str, map: Map) -> Self {
        self.shared.insert(name.to_owned(), map);
        self
    }

    /// Has the programs call a function of the kernel's, of this number in its type information,
    /// where they call `stand_in`, which is no helper. Who does not set it must rule the calls out
    /// by a constant.
    #[must_use]
    pub fn function(mut self, stand_in: i32, number: u32) -> Self {
        self.functions.push((stand_in, number));
        self
    }

    /// Puts a function behind each program, which it calls where it calls `stand_in`, which is no
    /// helper. Who does not set it must rule the calls out by a constant.
    #[must_use]
    pub fn behind(mut self, stand_in: i32, function: Vec<Instruction>) -> Self {
        self.behind = Some((stand_in, function));
        self
    }

    /// Has each program, with what it goes on as or begins as already, go on as the one of this name,
    /// which is none of its own then, where it would call `stand_in`, which is no helper, and end.
    ///
    /// # Errors
    /// [`Error::Object`] when there is no such program.
    pub fn goes_on(self, stand_in: i32, name: &str) -> Result<Self> {
        self.join(stand_in, name, false)
    }

    /// Has each program begin as the one of this name, which is none of its own then, and go on as
    /// itself where that would call `stand_in`, which is no helper, and end.
    ///
    /// # Errors
    /// [`Error::Object`] when there is no such program.
    pub fn begins_as(self, name: &str, stand_in: i32) -> Result<Self> {
        self.join(stand_in, name, true)
    }

    fn join(mut self, stand_in: i32, name: &str, begins: bool) -> Result<Self> {
        let code = self.take_out(name)?;
        self.others.push(Other {
            stand_in,
            code,
            begins,
        });
        Ok(self)
    }

    /// Leaves a program out.
    ///
    /// # Errors
    /// [`Error::Object`] when there is no such program.
    pub fn without(mut self, name: &str) -> Result<Self> {
        self.take_out(name)?;
        Ok(self)
    }

    fn take_out(&mut self, name: &str) -> Result<Code> {
        let place = self.object.programs.iter().position(|one| one.name == name);
        let place = place.ok_or_else(|| Error::Object(format!("no program `{name}`")))?;
        Ok(self.object.programs.remove(place))
    }

    /// Loads the programs for this device alone, so that they may ask its driver. They cannot be
    /// run by hand. [`Loader::load`] says [`Error::NotBound`] where the kernel would fail later.
    #[must_use]
    pub fn bound_to(mut self, ifindex: u32) -> Self {
        self.bound = ifindex;
        self
    }

    fn definition(&mut self, name: &str) -> Result<&mut MapDefinition> {
        self.object
            .maps
            .iter_mut()
            .find(|map| map.name == name)
            .ok_or_else(|| Error::Object(format!("no map `{name}`")))
    }

    /// Creates the maps and loads every program.
    ///
    /// # Errors
    /// [`Error::CreateMap`], [`Error::Refused`] with the end of the verifier's log,
    /// [`Error::Object`] for a constant that was not set or that no program uses.
    pub fn load(mut self) -> Result<Loaded> {
        let maps = self.create()?;
        let load = |code| self.load_one(code, &maps);
        let programs = self.object.programs.iter().map(load);
        let programs: Vec<Program> = programs.collect::<Result<_>>()?;
        let is_constants = |map: &&Map| map.definition().name == CONSTANTS;
        if let Some(constants) = maps.iter().find(is_constants) {
            for program in &programs {
                // No program reads them any more. They too serve who looks from outside.
                let _bound = sys::program_bind(program.as_fd(), constants.as_fd());
            }
        }
        Ok(Loaded { maps, programs })
    }

    /// Creates the maps alone, for programs that are loaded later: the verifier takes its time.
    ///
    /// # Errors
    /// [`Error::CreateMap`], and [`Error::Object`] as with [`Loader::load`].
    pub fn maps(mut self) -> Result<Loaded> {
        let (maps, programs) = (self.create()?, Vec::new());
        Ok(Loaded { maps, programs })
    }

    fn create(&mut self) -> Result<Vec<Map>> {
        self.set_constants()?;
        // Types only serve who looks at the maps from outside: without them all works.
        let types = sys::btf_load(self.object.types.bytes()).ok();
        let mut maps = Vec::with_capacity(self.object.maps.len());
        for definition in &self.object.maps {
            maps.push(match self.shared.get(&definition.name) {
                Some(map) => map.clone(),
                None => Map::create(definition.clone(), types.as_ref().map(AsFd::as_fd))?,
            });
            if let (Some(map), CONSTANTS) = (maps.last(), &*definition.name) {
                map.freeze(&self.object.constant_bytes)?;
            }
        }
        Ok(maps)
    }

    /// Writes the constants to where the programs read them: each of them, and no others.
    fn set_constants(&mut self) -> Result<()> {
        for constant in &self.object.constants {
            let name = &constant.name;
            let value = self
                .constants
                .remove(name)
                .ok_or_else(|| Error::Object(format!("constant `{name}` is not set")))?;
            // The parser has checked that it is a word in these bytes.
            let bytes = &mut self.object.constant_bytes[constant.bytes.clone()];
            bytes.copy_from_slice(&value.to_le_bytes()[..bytes.len()]);
        }
        match self.constants.keys().next() {
            Some(name) => Err(Error::Object(format!("no program uses constant `{name}`"))),
            None => Ok(()),
        }
    }

    /// What a program's instructions refer to.
    fn referents(&self, code: &Code) -> BTreeMap<usize, Referent> {
        let constants = |map: usize| self.object.maps[map].name == CONSTANTS;
        let referent = |reference: &Reference| match reference.offset {
            Some(offset) if constants(reference.map) => Referent::Constant(offset),
            Some(_) => Referent::Value,
            None => Referent::Map,
        };
        let referents = code.references.iter();
        referents.map(|one| (one.at, referent(one))).collect()
    }

    /// A program's instructions, with all that they refer to, made for the constants; and how many
    /// were left out.
    fn made(&self, code: &Code, maps: &[Map]) -> (Vec<Instruction>, usize) {
        let mut instructions = code.instructions.clone();
        for call in instructions.iter_mut().filter(|one| one.code == CALL) {
            let function = self
                .functions
                .iter()
                .find(|(stand_in, _)| *stand_in == call.immediate);
            if let Some((_, number)) = function {
                call.registers = PSEUDO_FUNCTION << 4;
                call.immediate = number.cast_signed();
            }
        }
        for reference in &code.references {
            let source = match reference.offset {
                Some(_) => PSEUDO_MAP_VALUE,
                None => PSEUDO_MAP,
            };
            // The parser has checked that there is the first half of a 64-bit load, and that the
            // second follows.
            let first = &mut instructions[reference.at];
            first.registers = first.registers & 0x0f | source << 4;
            first.immediate = maps[reference.map].as_fd().as_raw_fd();
            instructions[reference.at + 1].immediate = reference.offset.unwrap_or(0).cast_signed();
        }
        let made = specialise(
            &instructions,
            &self.referents(code),
            &self.object.constant_bytes,
        );
        let left_out = instructions.len() - made.len();
        (made, left_out)
    }

    fn load_one(&self, code: &Code, maps: &[Map]) -> Result<Program> {
        let (mut instructions, mut left_out) = self.made(code, maps);
        for other in &self.others {
            let (mut second, left_out_there) = self.made(&other.code, maps);
            if other.begins {
                std::mem::swap(&mut instructions, &mut second);
            }
            instructions = joined::goes_on(instructions, other.stand_in, &second)?;
            left_out += left_out_there;
        }
        if let Some((stand_in, function)) = &self.behind {
            instructions = joined::calls(instructions, *stand_in, function);
        }
        if self.bound != 0 {
            // It must not outgrow its pages ([`bound`]).
            let room = bound::beside_an_edge(left_out, instructions.len());
            instructions.splice(0..0, bound::room(room));
        }
        // The kernel takes no such word for a bound program.
        let unaligned = match self.bound {
            0 => sys::PROGRAM_UNALIGNED,
            _ => 0,
        };
        let flags = code.flags | unaligned;
        let load = || load_code(code, &instructions, &self.object.license, flags, self.bound);
        if self.bound == 0 {
            return load();
        }
        let not_bound = |why: String| Error::NotBound {
            program: code.name.clone(),
            why,
        };
        let failed = |error: io::Error| not_bound(error.to_string());
        if let Some(why) = bound::forbidden().map_err(failed)? {
            return Err(not_bound(why.to_owned()));
        }
        let program = load()?;
        if bound::has_grown(program.as_fd(), &instructions).map_err(failed)? {
            return Err(not_bound("the kernel has enlarged it".to_owned()));
        }
        Ok(program)
    }
}

/// Loads quietly; only a refusal costs the time of a second attempt with a log.
fn load_code(
    code: &Code,
    instructions: &[Instruction],
    license: &str,
    flags: u32,
    bound: u32,
) -> Result<Program> {
    let name = &*code.name;
    let load = |log: &mut [u8]| {
        sys::program_load(code.hook, name, instructions, license, flags, bound, log)
    };
    let error = match load(&mut []) {
        Ok(descriptor) => {
            return Ok(Program {
                name: Arc::from(name),
                descriptor: Arc::new(descriptor),
            });
        }
        Err(error) => error,
    };
    let mut log = vec![0_u8; LOG_BYTES];
    let _second_refusal = load(&mut log);
    let written = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..written]);
    let lines: Vec<_> = text.lines().collect();
    Err(Error::Refused {
        program: name.to_owned(),
        error,
        log: lines[lines.len().saturating_sub(LOG_LINES)..].join("\n"),
    })
}

/// The programs and maps of one loaded object.
#[derive(Debug)]
pub struct Loaded {
    maps: Vec<Map>,
    programs: Vec<Program>,
}

impl Loaded {
    /// The map of this name.
    ///
    /// # Errors
    /// [`Error::Object`] when there is none.
    pub fn map(&self, name: &str) -> Result<Map> {
        self.maps
            .iter()
            .find(|map| map.definition().name == name)
            .cloned()
            .ok_or_else(|| Error::Object(format!("no map `{name}`")))
    }

    /// The program of this name.
    ///
    /// # Errors
    /// [`Error::Object`] when there is none.
    pub fn program(&self, name: &str) -> Result<Program> {
        self.programs
            .iter()
            .find(|program| &*program.name == name)
            .cloned()
            .ok_or_else(|| Error::Object(format!("no program `{name}`")))
    }
}

/// A program in the kernel.
#[derive(Clone, Debug)]
pub struct Program {
    name: Arc<str>,
    descriptor: Arc<OwnedFd>,
}

impl Program {
    /// Its name in the C source.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs it on one frame as if received on `ingress_ifindex` (0: nowhere), `repeat` times;
    /// nothing is sent.
    ///
    /// # Errors
    /// [`Error::Run`].
    pub fn run(&self, frame: &[u8], ingress_ifindex: u32, repeat: u32) -> Result<RunResult> {
        sys::run_dry(self.as_fd(), frame, ingress_ifindex, repeat).map_err(|error| Error::Run {
            program: self.name.to_string(),
            error,
        })
    }

    /// Runs one at tc on a frame and what the kernel knows beside it.
    ///
    /// # Errors
    /// [`Error::Run`].
    pub fn run_buffer(&self, frame: &[u8], buffer: &mut SocketBuffer) -> Result<RunResult> {
        sys::run_buffer(self.as_fd(), frame, buffer).map_err(|error| Error::Run {
            program: self.name.to_string(),
            error,
        })
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

//! Making an object's BTF one that a kernel takes.
//!
//! Compilers write what kernels refuse (extern variables and functions), and old kernels refuse
//! what newer compilers write. Both are replaced by types of the same record length, so ids and
//! offsets in line information remain valid. The caller determines what the kernel lacks.

use super::types::{RECORD_LEN, word};
use super::{Btf, Builder, Kind, Linkage};
use crate::Error;

/// BTF features that a kernel lacks. The default is a kernel that supports all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissingFeatures {
    /// `FUNC` and `FUNC_PROTO`: before 4.20.
    pub func: bool,
    /// `VAR` and `DATASEC`: before 5.2.
    pub datasec: bool,
    /// Global linkage of functions: before 5.6. Also right when functions that are global in
    /// the source are to be verified with their caller.
    pub global_func: bool,
    /// `FLOAT`: before 5.13.
    pub float: bool,
    /// `DECL_TAG`: before 5.16.
    pub decl_tag: bool,
    /// `TYPE_TAG`: before 5.17.
    pub type_tag: bool,
    /// `ENUM64` and signed enums: before 6.0.
    pub enum64: bool,
}

impl Btf {
    /// A copy for `bpf(BTF_LOAD)`: externs become what the kernel accepts for them, parameters of
    /// functions get names, and kinds that it lacks are replaced. Ids and strings remain valid.
    ///
    /// # Errors
    /// [`Error::Btf`] when the copy would outgrow 32-bit offsets.
    pub fn for_kernel(&self, lacks: MissingFeatures) -> Result<Self, Error> {
        let externs = self.types().any(|ty| ty.linkage() == Linkage::Extern as u32);
        let wide = lacks.enum64 && self.types().any(|ty| ty.kind() == Kind::Enum64);
        let unnamed = self.protos_to_name();
        if !externs && !wide && unnamed.is_empty() && lacks == MissingFeatures::default() {
            return Ok(self.clone());
        }
        let mut builder = Builder::extend(self);
        let int = builder.int("int", 32, true);
        let stand_in = StandIn {
            int,
            wide: builder.int("enum64_value", 64, false),
            var: builder.var("ksym", int, Linkage::Global),
            param: builder.string("unnamed"),
        };
        let mut copy = builder.build()?;
        for proto in unnamed {
            copy.name_params(proto, stand_in.param);
        }
        for id in 1..copy.len() {
            copy.allow_extern(id, stand_in);
        }
        for id in 1..copy.len() {
            copy.replace_lacking(id, lacks, stand_in);
        }
        Ok(copy)
    }

    /// The kernel knows no extern variables or functions: it wants each variable of a section
    /// to be one, with a place.
    fn allow_extern(&mut self, id: u32, stand_in: StandIn) {
        let Some((ty, start)) = self.ty(id).zip(self.start(id)) else { return };
        let (kind, name) = (ty.kind(), ty.name().to_owned());
        match kind {
            Kind::Datasec if name == ".ksyms" => self.place_ksyms(id, start, stand_in),
            Kind::Datasec if name == ".kconfig" => {
                for var in self.externs_of(id) {
                    self.put(var + RECORD_LEN, Linkage::Global as u32);
                }
            }
            _ => {}
        }
    }

    /// Each extern of `.ksyms` becomes a four-byte variable; functions lose their place to one.
    fn place_ksyms(&mut self, id: u32, start: usize, stand_in: StandIn) {
        let Some(ty) = self.ty(id) else { return };
        let symbols: Vec<_> = ty.vars().map(|place| place.type_id).collect();
        for (number, symbol) in symbols.iter().enumerate() {
            let entry = start + RECORD_LEN + 12 * number;
            self.put(entry + 4, number as u32 * 4);
            self.put(entry + 8, 4);
            let Some((symbol, at)) = self.ty(*symbol).zip(self.start(*symbol)) else { continue };
            match symbol.kind() {
                Kind::Func => {
                    let proto = symbol.target();
                    self.put(entry, stand_in.var);
                    self.put(at + 4, (Kind::Func as u32) << 24 | Linkage::Global as u32);
                    self.name_params(proto, stand_in.param);
                }
                Kind::Var => {
                    self.put(at + 8, stand_in.int);
                    self.put(at + RECORD_LEN, Linkage::Global as u32);
                }
                _ => {}
            }
        }
        self.put(start + 8, symbols.len() as u32 * 4);
    }

    /// Prototypes of functions, not of pointers to functions, with a parameter that has no name
    /// (C23 allows that in definitions, the kernel does not: `btf_func_check`).
    fn protos_to_name(&self) -> Vec<u32> {
        let functions = self.types().filter(|ty| ty.kind() == Kind::Func);
        let protos = functions.map(|function| function.target());
        protos.filter(|proto| !self.unnamed_params(*proto).is_empty()).collect()
    }

    fn name_params(&mut self, proto: u32, name: u32) {
        for at in self.unnamed_params(proto) {
            self.put(at, name);
        }
    }

    /// Where the names of the parameters that have a type but no name belong.
    fn unnamed_params(&self, proto: u32) -> Vec<usize> {
        let Some((ty, start)) = self.ty(proto).zip(self.start(proto)) else { return Vec::new() };
        ty.params()
            .enumerate()
            .filter(|(_, param)| param.name.is_empty() && param.type_id != 0)
            .map(|(number, _)| start + RECORD_LEN + 8 * number)
            .collect()
    }

    /// Starts of the extern `VAR` records of a section.
    fn externs_of(&self, datasec: u32) -> Vec<usize> {
        let Some(ty) = self.ty(datasec) else { return Vec::new() };
        ty.vars()
            .filter_map(|place| self.ty(place.type_id))
            .filter(|var| var.kind() == Kind::Var && var.linkage() == Linkage::Extern as u32)
            .filter_map(|var| self.start(var.id()))
            .collect()
    }

    fn replace_lacking(&mut self, id: u32, lacks: MissingFeatures, stand_in: StandIn) {
        let Some((ty, start)) = self.ty(id).zip(self.start(id)) else { return };
        let (kind, vlen) = (ty.kind(), ty.vlen() as u32);
        let retyped = |kind: Kind| (kind as u32) << 24 | vlen;
        let alone = |kind: Kind| (kind as u32) << 24;
        match kind {
            Kind::Datasec if lacks.datasec => self.datasec_to_struct(id, start),
            Kind::Var if lacks.datasec => self.shrink_to_byte(start),
            Kind::DeclTag if lacks.decl_tag => self.shrink_to_byte(start),
            Kind::FuncProto if lacks.func => self.proto_to_enum(id, start, stand_in.param),
            Kind::Func if lacks.func => self.put(start + 4, alone(Kind::Typedef)),
            Kind::Func if lacks.global_func => self.put(start + 4, alone(Kind::Func)),
            Kind::Float if lacks.float => {
                self.put(start, 0);
                self.put(start + 4, alone(Kind::Struct));
            }
            Kind::TypeTag if lacks.type_tag => {
                self.put(start, 0);
                self.put(start + 4, alone(Kind::Const));
            }
            Kind::Enum if lacks.enum64 => self.put(start + 4, retyped(Kind::Enum)),
            Kind::Enum64 if lacks.enum64 => self.enum64_to_union(id, start, stand_in),
            _ => {}
        }
    }

    /// A one-byte integer: a record of the same length as `VAR` and `DECL_TAG`.
    fn shrink_to_byte(&mut self, start: usize) {
        self.put(start + 4, (Kind::Int as u32) << 24);
        self.put(start + 8, 1);
        self.put(start + RECORD_LEN, 8);
    }

    /// Parameters become enumerators, which must have names.
    fn proto_to_enum(&mut self, id: u32, start: usize, name: u32) {
        let Some(vlen) = self.ty(id).map(|ty| ty.vlen()) else { return };
        self.put(start + 4, (Kind::Enum as u32) << 24 | vlen as u32);
        self.put(start + 8, 4);
        for entry in (0..vlen).map(|number| start + RECORD_LEN + 8 * number) {
            if word(&self.raw, entry) == 0 {
                self.put(entry, name);
            }
        }
    }

    /// Section variables become fields. Old kernels want identifiers for names, so the name,
    /// which starts with a dot, goes.
    fn datasec_to_struct(&mut self, id: u32, start: usize) {
        let Some(ty) = self.ty(id) else { return };
        let vars: Vec<_> = ty.vars().collect();
        self.put(start, 0);
        self.put(start + 4, (Kind::Struct as u32) << 24 | vars.len() as u32);
        for (number, place) in vars.iter().enumerate() {
            let entry = start + RECORD_LEN + 12 * number;
            let Some(at) = self.start(place.type_id) else { continue };
            let name = word(&self.raw, at);
            self.put(entry, name);
            self.put(entry + 4, place.type_id);
            self.put(entry + 8, place.offset.saturating_mul(8));
        }
    }

    /// Each value becomes a field at the start, of the enum's width.
    fn enum64_to_union(&mut self, id: u32, start: usize, stand_in: StandIn) {
        let Some(ty) = self.ty(id) else { return };
        let vlen = ty.vlen();
        self.put(start + 4, (Kind::Union as u32) << 24 | vlen as u32);
        for number in 0..vlen {
            let entry = start + RECORD_LEN + 12 * number;
            self.put(entry + 4, stand_in.wide);
            self.put(entry + 8, 0);
        }
    }
}

/// Types and a string added at the end for others to refer to.
#[derive(Clone, Copy)]
struct StandIn {
    int: u32,
    wide: u32,
    var: u32,
    /// Name of a parameter that has none, an offset in the strings.
    param: u32,
}

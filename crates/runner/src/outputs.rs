//! Captures of what came out: one for each verdict, one for each place packets went to.
//!
//! Rule: a file has its final name only when it is whole; what an interrupted run leaves begins
//! with a dot. A file is made when its first packet is there.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::path::{Path, PathBuf};

use control::folder::{Folder, NewFile};
use pcap::{LinkType, Packet, Writer};
use vm::{Port, Run, World};

use crate::error::{Context as _, Result};
use crate::input::Played;

pub struct Outputs<'a> {
    folder: Option<Folder>,
    world: &'a World,
    files: BTreeMap<String, Output>,
}

struct Output {
    file: NewFile,
    writer: Writer<File>,
}

impl<'a> Outputs<'a> {
    /// Writes nothing without a folder.
    pub fn open(folder: Option<&'a Path>, world: &'a World) -> Result<Self> {
        let folder = folder.map(Folder::make).transpose()?;
        Ok(Self { folder, world, files: BTreeMap::new() })
    }

    pub fn write(&mut self, played: &Played, run: &Run) -> Result<()> {
        if self.folder.is_none() {
            return Ok(());
        }
        let ingress = self.interface(played.input.ingress_ifindex);
        self.add(run.verdict.name(), &ingress, played, (run.code, &run.packet))?;
        for output in &run.outputs {
            let (name, interface) = self.place(output.port);
            self.add(&name, &interface, played, (run.code, &output.packet))?;
        }
        Ok(())
    }

    /// Gives the files their names.
    pub fn finish(self) -> Result<Vec<PathBuf>> {
        let mut finished = Vec::new();
        for output in self.files.into_values() {
            let Output { file, writer } = output;
            writer.finish().on_file(file.path())?;
            finished.push(file.keep()?);
        }
        Ok(finished)
    }

    fn add(
        &mut self,
        name: &str,
        interface: &str,
        played: &Played,
        (code, data): (u32, &[u8]),
    ) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let output = match self.files.entry(name.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(Output::create(folder, name, interface)?),
        };
        let packet = Packet {
            timestamp_ns: played.timestamp_ns,
            data: data.to_vec(),
            verdict: Some(code.into()),
            queue: Some(played.input.rx_queue),
            id: Some(played.number),
            ..Packet::default()
        };
        output.writer.write(&packet).on_file(output.file.path())
    }

    /// Name of the file and of the interface in it.
    fn place(&self, port: Port) -> (String, String) {
        match port {
            Port::Stack { ifindex } => ("stack".to_owned(), self.interface(ifindex)),
            Port::Device { ifindex } => (format!("dev-{ifindex}"), self.interface(ifindex)),
            Port::Cpu { cpu } => (format!("cpu-{cpu}"), format!("cpu{cpu}")),
            Port::Xsk { map: _, key } => (format!("xsk-{key}"), format!("xsk{key}")),
        }
    }

    fn interface(&self, ifindex: u32) -> String {
        let known = self.world.interface(ifindex);
        known.map_or_else(|| format!("if{ifindex}"), |interface| interface.name.clone())
    }
}

impl Output {
    fn create(folder: &Folder, name: &str, interface: &str) -> Result<Self> {
        let file = folder.file(format!("{name}.pcapng"))?;
        let options =
            pcap::Options { application: Some("xway run".to_owned()), ..Default::default() };
        let mut writer = Writer::pcapng(file.writer()?, &options)?;
        writer.interface(interface, LinkType::ETHERNET)?;
        Ok(Self { file, writer })
    }
}

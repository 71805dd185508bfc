//! `File`: streams as TOML or JSON; `Stream`: one of them.
//!
//! Text is read in two steps, first as generic tables, then each layer separately, so that an error
//! names the stream and layer of an unknown key or invalid value.

use std::collections::HashSet;

use packet::Mac;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::build::{Builder, Frames};
use super::error::{Error, Reason};
use super::flows::Flows;
use super::layer::{self, Layer, NAMES};
use super::size::Sizes;
use super::value::Value;
use crate::limits::STREAMS;
use crate::stamp::Expect;
use crate::template::Template;

/// Streams that are sent in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct File {
    #[serde(rename = "stream")]
    /// In the order of their ids.
    pub streams: Vec<Stream>,
}

/// One stream's frames. `docs/streams.md` has an example of each protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stream {
    /// Unique in a run.
    pub name: String,
    /// Share of the run's frames: weights 3 and 1 mean three frames to one.
    pub weight: u32,
    /// Whether each frame ends with a [`Stamp`](crate::Stamp), by which a sink verifies it.
    pub stamp: bool,
    /// What a device under test must do with the frames; requires a stamp unless it is `pass`.
    pub expect: Expect,
    /// Sizes of the frames; when `None`, what layers and stamp need, at least 60 bytes.
    pub size: Option<Sizes>,
    /// Fields that vary together.
    pub flows: Option<Flows>,
    /// Outermost first.
    pub layers: Vec<Layer>,
}

impl File {
    /// Reads TOML, or JSON if the text starts with `{`.
    ///
    /// # Errors
    /// [`Error`] with the stream, layer and field that cannot be read.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let fail = |reason| Error::new("streams", reason);
        let syntax = |message: String| fail(Reason::Syntax(message.trim().to_owned()));
        let mut file: Map<String, Json> = match text.trim_start().starts_with('{') {
            true => serde_json::from_str(text).map_err(|error| syntax(error.to_string()))?,
            false => toml::from_str(text).map_err(|error| syntax(error.to_string()))?,
        };
        let streams = file.remove("stream");
        if let Some(key) = file.keys().next() {
            return Err(fail(Reason::UnknownKey { key: key.clone() }));
        }
        let Some(Json::Array(streams)) = streams else {
            return Err(fail(Reason::NoStreams));
        };
        let streams = streams.into_iter().enumerate();
        Ok(Self {
            streams: streams.map(|(at, stream)| read(at, stream)).collect::<Result<_, _>>()?,
        })
    }

    /// Templates of all streams, for an interface with this MTU. Their ids are their indices in the
    /// file.
    ///
    /// # Errors
    /// [`Error`] with the stream, layer and field that cannot be sent.
    pub fn templates(&self, mtu: usize) -> Result<Vec<Template>, Error> {
        let fail = |reason| Err(Error::new("streams", reason));
        if !(1..=STREAMS).contains(&self.streams.len()) {
            return fail(Reason::StreamCount { count: self.streams.len() });
        }
        let mut names = HashSet::new();
        if let Some(twice) = self.streams.iter().find(|stream| !names.insert(&stream.name)) {
            return fail(Reason::DuplicateName { name: twice.name.clone() });
        }
        let streams = self.streams.iter().enumerate();
        streams.map(|(id, stream)| stream.template(id as u16, mtu)).collect()
    }
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            name: String::new(),
            weight: 1,
            stamp: false,
            expect: Expect::Pass,
            size: None,
            flows: None,
            layers: Vec::new(),
        }
    }
}

impl Stream {
    /// The template of its frames, for an interface with this MTU. Stamps carry `id`.
    ///
    /// # Errors
    /// [`Error`] with the layer and field that cannot be sent.
    pub fn template(&self, id: u16, mtu: usize) -> Result<Template, Error> {
        let fail = |field, reason| Err(Error::of_stream(&self.name, field, reason));
        if self.weight == 0 {
            return fail("weight", Reason::ZeroWeight);
        }
        if self.expect == Expect::Drop && !self.stamp {
            return fail("expect", Reason::ExpectWithoutStamp);
        }
        if self.layers.is_empty() {
            return fail("layers", Reason::NoLayers);
        }
        let mut builder = Builder::new(self.frames());
        layer::lay_out(&self.layers, &mut builder)?;
        builder.finish(id, mtu)
    }

    /// Sets the addresses of the outermost Ethernet header that have no value yet.
    pub fn address(&mut self, source: Mac, destination: Option<Mac>) {
        let Some(Layer::Ethernet(ethernet)) = self.layers.first_mut() else { return };
        let value = |mac: Mac| Value::from(mac.to_string().as_str());
        ethernet.src.get_or_insert_with(|| value(source));
        ethernet.dst = ethernet.dst.take().or(destination.map(value));
    }

    fn frames(&self) -> Frames<'_> {
        Frames {
            name: &self.name,
            weight: self.weight,
            stamp: self.stamp.then_some(self.expect),
            size: self.size.as_ref(),
            flows: self.flows.as_ref(),
            is_tagged: self.layers.iter().any(|layer| matches!(layer, Layer::Vlan(_))),
        }
    }
}

fn read(index: usize, stream: Json) -> Result<Stream, Error> {
    let place = match stream.get("name").and_then(Json::as_str) {
        Some(name) => format!("stream \"{name}\""),
        None => format!("stream {}", index + 1),
    };
    let Json::Object(mut keys) = stream else {
        return Err(Error::new(place, Reason::StreamNotATable));
    };
    let layers = match keys.remove("layers") {
        None => Vec::new(),
        Some(Json::Array(layers)) => layers,
        Some(_) => return Err(Error::new(place, Reason::LayersNotAList)),
    };
    let layers = layers.into_iter().enumerate();
    let layers: Result<_, Error> =
        layers.map(|(index, layer)| read_layer(&place, index, layer)).collect();
    check_each(&keys, &place, |alone| typed::<Stream>(alone, "").map(drop))?;
    let mut stream: Stream = typed(Json::Object(keys), &place)?;
    stream.layers = layers?;
    if stream.name.is_empty() {
        stream.name = format!("{}", index + 1);
    }
    Ok(stream)
}

fn read_layer(place: &str, index: usize, layer: Json) -> Result<Layer, Error> {
    let number = format!("{place}, layer {}", index + 1);
    let Json::Object(keys) = &layer else {
        return Err(Error::new(number, Reason::LayerNotATable));
    };
    let (Some(name), 1) = (keys.keys().next(), keys.len()) else {
        return Err(Error::new(number, Reason::LayerKeys));
    };
    if !NAMES.contains(&name.as_str()) {
        let (name, expected) = (name.clone(), NAMES.join(", "));
        return Err(Error::new(number, Reason::UnknownProtocol { name, expected }));
    }
    let place = format!("{number} ({name})");
    if let Json::Object(fields) = &keys[name] {
        check_each(fields, &place, |alone| {
            typed::<Layer>(Json::Object(Map::from_iter([(name.clone(), alone)])), "").map(drop)
        })?;
    }
    typed(layer, &place)
}

/// Checks each field separately, so that the error names the wrong one.
fn check_each(
    fields: &Map<String, Json>,
    place: &str,
    check: impl Fn(Json) -> Result<(), Error>,
) -> Result<(), Error> {
    for (field, value) in fields {
        let alone = Json::Object(Map::from_iter([(field.clone(), value.clone())]));
        let place = || format!("{place}, field \"{field}\"");
        check(alone).map_err(|error| Error::new(place(), error.reason))?;
    }
    Ok(())
}

fn typed<T: DeserializeOwned>(json: Json, place: &str) -> Result<T, Error> {
    serde_json::from_value(json)
        .map_err(|error| Error::new(place, Reason::Syntax(error.to_string())))
}

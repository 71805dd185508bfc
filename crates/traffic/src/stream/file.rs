//! `File`: streams as TOML or JSON; `Stream`: one of them.
//!
//! Text is read in two steps, first as any tables, then each layer on its own, so that an unknown
//! key or a wrong value is reported with its stream and layer instead of a line far above it.

use std::collections::HashSet;

use packet::Mac;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::build::Builder;
use super::error::Error;
use super::flows::Flows;
use super::layer::{Layer, NAMES};
use super::size::Sizes;
use super::value::Value;
use crate::limits::STREAMS;
use crate::stamp::Expect;
use crate::template::Template;

/// Streams that are sent together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct File {
    #[serde(rename = "stream")]
    pub streams: Vec<Stream>,
}

/// One stream's frames. `docs/streams.md` has an example of each protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stream {
    pub name: String,
    /// Frames among those of the other streams: 3 and 1 means three to one.
    pub weight: u32,
    /// Whether each frame ends with a [`Stamp`](crate::Stamp), by which a sink judges it.
    pub stamp: bool,
    /// What a device under test should do with them; only with a stamp.
    pub expect: Expect,
    /// Without: what the layers and the stamp need, at least 60 bytes.
    pub size: Option<Sizes>,
    /// Fields that vary together.
    pub flows: Option<Flows>,
    /// Outermost first.
    pub layers: Vec<Layer>,
}

impl File {
    /// Reads TOML, or JSON if the text starts with `{`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let fail = |why: String| Error::new("streams", why.trim());
        let mut file: Map<String, Json> = match text.trim_start().starts_with('{') {
            true => serde_json::from_str(text).map_err(|error| fail(error.to_string()))?,
            false => toml::from_str(text).map_err(|error| fail(error.to_string()))?,
        };
        let streams = file.remove("stream");
        if let Some(key) = file.keys().next() {
            return Err(fail(format!("unknown key \"{key}\"; streams are tables called `stream`")));
        }
        let Some(Json::Array(streams)) = streams else {
            return Err(fail("no streams: each starts with [[stream]]".into()));
        };
        let streams = streams.into_iter().enumerate();
        Ok(Self {
            streams: streams.map(|(at, stream)| read(at, stream)).collect::<Result<_, _>>()?,
        })
    }

    /// All streams; ids are their places in the file. `mtu` is that of the interface to send from.
    pub fn templates(&self, mtu: usize) -> Result<Vec<Template>, Error> {
        let fail = |why: String| Err(Error::new("streams", why));
        if !(1..=STREAMS).contains(&self.streams.len()) {
            return fail(format!("1 to {STREAMS} in one run, not {}", self.streams.len()));
        }
        let mut names = HashSet::new();
        if let Some(twice) = self.streams.iter().find(|stream| !names.insert(&stream.name)) {
            return fail(format!("two are called \"{}\"", twice.name));
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
    /// Its frames, for an interface with this MTU. `id` is what stamps carry.
    pub fn template(&self, id: u16, mtu: usize) -> Result<Template, Error> {
        let fail = |field, why: &str| Err(Error::of_stream(&self.name, field, why));
        if self.weight == 0 {
            return fail("weight", "is 0: it would never be sent");
        }
        if self.expect == Expect::Drop && !self.stamp {
            return fail("expect", "is judged by stamps: say stamp = true");
        }
        if self.layers.is_empty() {
            return fail("layers", "there are none");
        }
        let mut builder = Builder::new(self);
        for index in 0..self.layers.len() {
            builder.layer(index)?;
        }
        builder.finish(id, mtu)
    }

    /// Gives the outermost Ethernet header the addresses that it lacks.
    pub fn address(&mut self, source: Mac, destination: Option<Mac>) {
        let Some(Layer::Ethernet(ethernet)) = self.layers.first_mut() else { return };
        let value = |mac: Mac| Value::from(mac.to_string().as_str());
        ethernet.src.get_or_insert_with(|| value(source));
        ethernet.dst = ethernet.dst.take().or(destination.map(value));
    }

    pub(super) fn is_tagged(&self) -> bool {
        self.layers.iter().any(|layer| matches!(layer, Layer::Vlan(_)))
    }
}

fn read(index: usize, stream: Json) -> Result<Stream, Error> {
    let place = match stream.get("name").and_then(Json::as_str) {
        Some(name) => format!("stream \"{name}\""),
        None => format!("stream {}", index + 1),
    };
    let Json::Object(mut keys) = stream else {
        return Err(Error::new(place, "is no table"));
    };
    let layers = match keys.remove("layers") {
        None => Vec::new(),
        Some(Json::Array(layers)) => layers,
        Some(_) => return Err(Error::new(place, "`layers` is no list")),
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
        return Err(Error::new(number, "is no table such as { udp = { dst = 53 } }"));
    };
    let (Some(name), 1) = (keys.keys().next(), keys.len()) else {
        return Err(Error::new(number, "has one key, the protocol: { udp = { dst = 53 } }"));
    };
    if !NAMES.contains(&name.as_str()) {
        let why = format!("no protocol is called \"{name}\": {}", NAMES.join(", "));
        return Err(Error::new(number, why));
    }
    let place = format!("{number} ({name})");
    if let Json::Object(fields) = &keys[name] {
        check_each(fields, &place, |alone| {
            typed::<Layer>(Json::Object(Map::from_iter([(name.clone(), alone)])), "").map(drop)
        })?;
    }
    typed(layer, &place)
}

/// Field by field, so that the error names the one that is wrong.
fn check_each(
    fields: &Map<String, Json>,
    place: &str,
    check: impl Fn(Json) -> Result<(), Error>,
) -> Result<(), Error> {
    for (field, value) in fields {
        let alone = Json::Object(Map::from_iter([(field.clone(), value.clone())]));
        let place = || format!("{place}, field \"{field}\"");
        check(alone).map_err(|error| Error::new(place(), error.why))?;
    }
    Ok(())
}

fn typed<T: DeserializeOwned>(json: Json, place: &str) -> Result<T, Error> {
    serde_json::from_value(json).map_err(|error| Error::new(place, error.to_string()))
}

//! The part of a program for one stream, from the selection of the stream to the exit of the frame.

use spec::asm::Cond;
use spec::asm::Reg::{R1, R3, R4};

use super::abi::state;
use super::checksum;
use super::draft::{CONTEXT, Draft, ENDING, FRAME, word_at};
use super::draw::Drawing;
use super::fields::Fields;
use super::image::Image;
use super::job::Job;
use super::pace::Pacer;
use super::shape::Shape;
use super::sizes::Sizes;
use super::stamp::{Stamped, Time};

/// The parts that all streams of a program share.
pub(super) struct Shared<'a> {
    pub job: &'a Job<'a>,
    pub image: Image,
    pub pacer: Option<Pacer>,
    pub time: Option<Time>,
}

/// One stream, prepared for writing.
struct Stream<'a> {
    number: usize,
    shape: &'a Shape<'a>,
    draws: Vec<Drawing>,
    fields: Fields<'a>,
    sizes: Sizes,
}

/// Writes the part of the stream with this number.
pub(super) fn write(draft: &mut Draft, shared: &Shared, shape: &Shape, number: usize) {
    let draws: Vec<Drawing> = (0..shape.template.draws.len())
        .map(|draw| Drawing::new(draft, shared.job, number, draw))
        .collect();
    let picks = shape.template.size_draw.map(|draw| draws[draw].part);
    let sizes = Sizes::new(draft, shape, picks);
    let fields = Fields::new(draft, shape);
    let stream = Stream { number, shape, draws, fields, sizes };
    draft.a.note(format!("stream \"{}\"", shape.template.name));
    stream.write_frame(draft, shared);
    stream.sizes.cut(draft, shared.image.frame.len());
    stream.count(draft, shared);
    draft.leave(shared.job.exit);
    draft.write_failed();
}

impl Stream<'_> {
    /// Writes the contents of the frame.
    fn write_frame(&self, draft: &mut Draft, shared: &Shared) {
        let template = self.shape.template;
        let time = shared.time.filter(|_| template.stamp.is_some());
        if let Some(time) = time {
            time.read(draft, shared.job);
        } else if shared.time.is_some() {
            let failed = draft.failed();
            draft.a.note("no stamps").jump_if(ENDING, Cond::Ne, 0, failed);
        }
        shared.image.write_long(draft, self.shape);
        if self.is_constant(shared) {
            return;
        }
        let whole = shared.image.frame.len();
        let failed = draft.failed();
        draft.a.packet(FRAME, R3, CONTEXT).need(FRAME, R3, whole as i32, R4, failed);
        shared.image.write_short(draft, self.shape);
        self.write_draws(draft);
        self.fields.write_shared(draft);
        checksum::write(draft, self.shape, &self.fields, &self.sizes);
        if let Some(time) = time {
            let (stream, sizes) = (self.number, &self.sizes);
            time.write(draft, shared.job, &Stamped { template, stream, sizes, whole });
        }
    }

    /// Whether the program itself stores nothing.
    fn is_constant(&self, shared: &Shared) -> bool {
        let template = self.shape.template;
        let varies = !template.fields.is_empty() || self.shape.sizes().len() > 1;
        !varies && template.stamp.is_none() && !shared.image.is_short(self.shape)
    }

    /// Draws each number, and writes its fields.
    fn write_draws(&self, draft: &mut Draft) {
        let count = word_at(state::STREAMS + 8 * self.number);
        for (index, draw) in self.draws.iter().enumerate() {
            let picks = self.shape.template.size_draw == Some(index);
            if !picks && self.fields.of(index).next().is_none() {
                continue;
            }
            draft.a.note(format!("draw {index}"));
            draw.write(draft, count);
            for field in self.fields.of(index) {
                self.fields.write(draft, field, draw.part);
            }
            if picks {
                self.sizes.pick(draft, self.shape, draw.part);
            }
        }
    }

    /// Counts the frame, unless it announces the end.
    fn count(&self, draft: &mut Draft, shared: &Shared) {
        let leave = draft.a.label();
        draft.a.note("count");
        if shared.time.is_some() {
            draft.a.jump_if(ENDING, Cond::Ne, 0, leave);
        }
        let sent = word_at(state::SENT);
        draft.a.count(sent, 1, R1).count(word_at(state::STREAMS + 8 * self.number), 1, R1);
        draft.a.load64(R1, word_at(state::BYTES));
        self.sizes.add(draft, R1);
        draft.a.store64(word_at(state::BYTES), R1);
        if let Some(pacer) = &shared.pacer {
            pacer.record_delay(draft);
        }
        draft.a.note("leave").bind(leave);
    }
}

//! Compiles a job to a program.

use super::draft::Draft;
use super::gate;
use super::image::Image;
use super::job::{Job, Made};
use super::mix::{self, Mix};
use super::pace::Pacer;
use super::shape::Shape;
use super::stamp::Time;
use super::stream::{self, Shared};
use crate::error::Result;

/// Compiles the program of a job.
///
/// # Errors
/// [`Error::Template`](crate::Error::Template) when a template does not describe frames,
/// [`Error::Config`](crate::Error::Config) when the job exceeds the limits of one program.
pub fn compile(job: &Job) -> Result<Made> {
    job.check()?;
    let order = mix::order(job.templates)?;
    let shapes: Vec<Shape> = job.templates.iter().map(Shape::new).collect();
    let mut draft = Draft::new();
    let ready = draft.a.label();
    let shared = Shared {
        job,
        image: Image::new(&shapes, job.rewrite),
        pacer: job.pace.map(|gaps| Pacer::new(job.group, gaps)),
        time: job.is_stamped().then(|| Time::new(job.clock)),
    };
    gate::gate(&mut draft, &shared, ready);
    if let Some(pacer) = &shared.pacer {
        pacer.pace(&mut draft, job);
    }
    draft.a.bind(ready);
    match &shapes[..] {
        [shape] => stream::write(&mut draft, &shared, shape, 0),
        shapes => {
            let mut write = |draft: &mut Draft, number: usize| {
                stream::write(draft, &shared, &shapes[number], number);
            };
            let mix = Mix::new(&mut draft, &order, job.is_stamped());
            mix.pick(&mut draft, shapes.len(), &mut write);
        }
    }
    draft.finish(shared.image.frame)
}

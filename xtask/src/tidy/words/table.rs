//! The words and phrases that texts of this project avoid, and what to write in their place.
//!
//! Rule: this is the only list. A phrase is words with one space between them; `a|b` accepts
//! either word, and `..` up to two words in between. Case does not matter.

/// One phrase to avoid.
#[derive(Debug)]
pub struct Phrase {
    /// The phrase, as described above.
    pub pattern: &'static str,
    /// What to write instead.
    pub instead: &'static str,
    /// The phrase is correct English after one of these words.
    pub except_after: &'static [&'static str],
    /// The phrase is correct English before one of these words.
    pub except_before: &'static [&'static str],
}

const fn avoid(pattern: &'static str, instead: &'static str) -> Phrase {
    Phrase { pattern, instead, except_after: &[], except_before: &[] }
}

impl Phrase {
    const fn unless_after(mut self, words: &'static [&'static str]) -> Self {
        self.except_after = words;
        self
    }

    const fn unless_before(mut self, words: &'static [&'static str]) -> Self {
        self.except_before = words;
        self
    }
}

/// Phrases that are findings anywhere in a text.
pub const PHRASES: &[Phrase] = &[
    avoid("tell|tells|told|telling apart", "distinguish"),
    avoid("tell|tells|told|telling", "report, print, return, pass; reported"),
    avoid("say|says|said|saying", "report, state, specify, print, declare"),
    avoid("is|are|was|were|be|been asked", "is queried, is requested, is called"),
    avoid("somebody|someone", "another process, the owner, a peer"),
    avoid("nobody", "no process, no caller, no program"),
    avoid("whoever", "the caller, the process that, the holder"),
    avoid("put|puts|putting in force", "load, activate, attach"),
    avoid("in force", "active"),
    avoid("put|puts|putting on", "attach"),
    avoid("become|becomes|became of", "what happens to, the outcome of"),
    avoid("fate|fates", "outcome"),
    avoid("come|comes|came to nothing", "fails, has no effect"),
    avoid("is|are|was|were no", "is not a, is not a valid, is unknown")
        .unless_after(&["there"])
        .unless_before(&["longer", "more", "less", "better", "worse", "larger", "smaller"]),
    avoid("shall", "must"),
    avoid("go|goes|went|going on", "continue"),
    avoid("stay|stays|stayed|staying", "remain, continue, persist"),
    avoid("oddity|oddities|oddly", "anomaly, malformed part"),
    avoid("odd", "malformed, unusual, unexpected").unless_before(&[
        "number",
        "numbers",
        "length",
        "lengths",
        "size",
        "sizes",
        "byte",
        "bytes",
        "count",
        "and",
        "or",
        "half",
        "address",
        "addresses",
        "offset",
        "one",
        "ones",
        "value",
        "values",
        "port",
    ]),
    avoid("so many|much", "N, the number of, this number of"),
    avoid("as many", "the same number of").unless_before(&["as"]),
    avoid("look|looks|looked|looking at", "inspect, examine, read"),
    avoid("look|looks|looked|looking up twice", "looks up"),
    avoid("take|takes|took|taken|taking the place", "replace"),
    avoid("too much", "flood, over the threshold, too large"),
    avoid("thing|things", "the concrete noun: object, value, field"),
    avoid("rooms|guest|guests", "the concrete noun: space, buffer, owner"),
    avoid("house rule|rules", "style rules"),
    avoid("the answer is no", "the result is negative"),
    avoid("by itself|themselves", "automatically, alone"),
    avoid("unasked", "automatically"),
    avoid("give|gives|gave|given|giving .. back", "return, release"),
    avoid("hand|hands|handed|handing .. on|over", "forward, pass, transfer")
        .unless_after(&["by", "other"]),
    avoid("a moment", "the duration or the event"),
    avoid("at once", "immediately, at the same time"),
    avoid("for ever", "forever, indefinitely"),
    avoid("in spite of", "despite"),
    avoid("behind", "after (time, order), below, under")
        .unless_after(&["fall", "falls", "fell", "fallen", "falling", "lag", "lags", "left"])
        .unless_before(&["nat", "schedule"]),
    avoid("in front of", "before"),
];

/// Beginnings of doc comments that leave open what they are about.
pub const DANGLING: &[Phrase] = &[
    avoid("of", "a sentence that names its subject"),
    avoid("that", "a sentence that names its subject"),
    avoid("those", "a sentence that names its subject"),
    avoid("the same", "a sentence that names its subject"),
    avoid("so many", "a sentence that names its subject"),
];

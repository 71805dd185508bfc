//! Directories of declarations, for tests of `apply` and `save`.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::stage::Stage;
use crate::xway::Answer;

/// A directory of declarations.
#[derive(Debug)]
pub struct Files<'s> {
    stage: &'s Stage,
    pub dir: PathBuf,
}

impl<'s> Files<'s> {
    pub fn new(stage: &'s Stage) -> Self {
        let dir = stage.xway.state().join("etc");
        fs::create_dir_all(dir.join("rules")).unwrap();
        Self { stage, dir: fs::canonicalize(dir).unwrap() }
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.join(name), text).unwrap();
    }

    /// Declares a filter with these rules on eth0.
    pub fn filter(&self, rules: &str) {
        self.write("eth0.toml", "interface = 'eth0'\n[[program]]\nfilter = 'rules/eth0.toml'\n");
        self.write("rules/eth0.toml", rules);
    }

    pub fn apply(&self, options: &[&str]) -> Answer {
        let dir = self.dir.to_str().unwrap();
        self.stage.run(&[&["--json", "apply", dir], options].concat())
    }

    /// Actions of the first interface of a plan.
    pub fn plan(&self) -> Vec<String> {
        let planned = self.apply(&["--plan"]);
        let code = planned.code;
        let actions = actions(&planned.json(code)["interfaces"][0]);
        assert_eq!(code, i32::from(!actions.is_empty()));
        actions
    }

    /// Applies the files, after which nothing more would change.
    #[track_caller]
    pub fn applied(&self) -> Value {
        let result = self.apply(&[]).json(0);
        assert_eq!(self.plan(), [""; 0], "applied twice");
        result
    }
}

/// Actions of an interface of a plan.
pub fn actions(interface: &Value) -> Vec<String> {
    let changes = interface["changes"].as_array().into_iter().flatten();
    changes.map(|change| change["action"].as_str().unwrap().to_owned()).collect()
}

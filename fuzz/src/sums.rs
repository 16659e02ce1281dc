//! The tallies of many runs added up, kept as JSON, so that a long run can be stopped, resumed and reported.

use crate::tally::Tally;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Tallies by target, and the commits they were made on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sums {
    targets: BTreeMap<String, (Tally, BTreeMap<String, u64>)>,
}

impl Sums {
    /// Reads a file that `save` wrote; a file that does not exist is empty.
    pub fn load(path: &Path) -> io::Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let value: Value = serde_json::from_str(&text)?;
        Self::from_json(&value).ok_or_else(|| io::Error::other("these are not the sums of fuzzing runs"))
    }

    fn from_json(value: &Value) -> Option<Self> {
        let mut sums = Self::default();
        for (name, value) in value.get("targets")?.as_object()? {
            let commits: &Map<String, Value> = value.get("commits")?.as_object()?;
            let commits = commits.iter().map(|(commit, n)| Some((commit.clone(), n.as_u64()?)));
            let entry = (Tally::from_json(name, value)?, commits.collect::<Option<_>>()?);
            sums.targets.insert(name.clone(), entry);
        }
        Some(sums)
    }

    /// Writes the file; the old one stays where that fails.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let targets = self.targets.iter().map(|(name, (tally, commits))| {
            let mut value = tally.to_json();
            value["commits"] = json!(commits);
            (name.clone(), value)
        });
        let text = serde_json::to_string_pretty(&json!({ "targets": targets.collect::<Map<_, _>>() }))?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let partial = path.with_extension("partial");
        std::fs::write(&partial, text + "\n")?;
        std::fs::rename(&partial, path)
    }

    /// Adds a run that was made on a commit.
    pub fn add(&mut self, tally: &Tally, commit: &str) {
        let new = || (Tally { target: tally.target.clone(), ..Tally::default() }, BTreeMap::new());
        let (sum, commits) = self.targets.entry(tally.target.clone()).or_insert_with(new);
        sum.merge(tally);
        *commits.entry(commit.to_owned()).or_default() += tally.executions;
    }

    /// Adds the sums of runs on another machine.
    pub fn absorb(&mut self, other: &Self) {
        for (name, (tally, commits)) in &other.targets {
            let new = || (Tally { target: name.clone(), ..Tally::default() }, BTreeMap::new());
            let (sum, known) = self.targets.entry(name.clone()).or_insert_with(new);
            sum.merge(tally);
            for (commit, executions) in commits {
                *known.entry(commit.clone()).or_default() += executions;
            }
        }
    }

    /// What was done of a target so far.
    pub fn of(&self, target: &str) -> Option<&Tally> {
        self.targets.get(target).map(|(tally, _)| tally)
    }

    /// A table of all targets, in the order of `names`, then the others.
    pub fn table(&self, names: &[&str]) -> String {
        let known = names.iter().filter_map(|name| self.of(name));
        let others = self.targets.values().map(|(tally, _)| tally);
        let others = others.filter(|tally| !names.contains(&tally.target.as_str()));
        let rows: Vec<String> = known.chain(others).map(Tally::row).collect();
        format!("{}\n{}\n", Tally::heading(), rows.join("\n"))
    }
}

//! What a transformation does between two datums, for plans and metadata.

/// The way from one datum to another that a [`super::Transformer`] takes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Operation {
    /// Its name: that of the registered operation, or a sentence where none is applied.
    pub name: String,
    /// Stated accuracy in metres, all steps together. `None` where it is not known, as for coordinates that pass
    /// between datums unchanged.
    pub accuracy: Option<f64>,
    /// The operations that are applied, in their order; none where both systems have the same datum.
    pub steps: Vec<OperationStep>,
    /// Whether a system has heights: they are left as they are.
    pub heights_unchanged: bool,
}

/// One operation between two datums.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OperationStep {
    /// EPSG code of the operation; `None` for numbers that the text of a system states.
    pub code: Option<u32>,
    /// Its name.
    pub name: String,
    /// Stated accuracy in metres.
    pub accuracy: Option<f64>,
    /// Whether it is applied against its own direction.
    pub reversed: bool,
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        let codes: Vec<String> =
            self.steps.iter().filter_map(|step| Some(format!("EPSG:{}", step.code?))).collect();
        if !codes.is_empty() {
            write!(f, " ({})", codes.join(", "))?;
        }
        match self.accuracy {
            Some(0.0) if self.steps.is_empty() => {}
            Some(accuracy) => write!(f, ", accuracy {accuracy} m")?,
            None => f.write_str(", accuracy unknown")?,
        }
        if self.heights_unchanged {
            f.write_str("; heights are left unchanged")?;
        }
        Ok(())
    }
}

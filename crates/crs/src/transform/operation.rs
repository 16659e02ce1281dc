//! Operations between two datums, for plans and metadata.

/// The operation of a [`super::Transformer`] from one datum to another.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Operation {
    /// Its name: that of the registered operation, or a sentence if none is applied.
    pub name: String,
    /// Stated accuracy in metres of all steps together. `None` if unknown, as for coordinates that are unchanged
    /// between datums.
    pub accuracy: Option<f64>,
    /// The applied operations, in order; none if both systems have the same datum.
    pub steps: Vec<OperationStep>,
    /// Whether a system has heights, which are unchanged.
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
    /// Whether it is applied in reverse.
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

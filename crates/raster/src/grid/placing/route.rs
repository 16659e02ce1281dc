//! Converts the coordinates of a grid to pixels of a raster and back.

use super::heights::Heights;
use super::{Model, Placement};
use strile_crs::{Operation, Transformer};
use strile_tiff::InvalidValue;

/// A conversion from coordinates of one system to those of another; or to or from columns and rows of a raster without
/// a transform.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    transformer: Transformer,
    from: Option<Model>,
    to: Option<Model>,
}

impl From<Transformer> for Route {
    fn from(transformer: Transformer) -> Self {
        Self { transformer, from: None, to: None }
    }
}

impl Route {
    /// Returns the route that starts at the raster.
    pub(crate) fn from_raster(raster: &Placement, transformer: Transformer) -> Self {
        Self { transformer, from: raster.model.clone(), to: None }
    }

    pub(crate) fn inverse(&self) -> Self {
        Self { transformer: self.transformer.inverse(), from: self.to.clone(), to: self.from.clone() }
    }

    pub(crate) fn transform(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (x, y) = match &self.from {
            None => (x, y),
            Some(model) => model.to_world(x, y)?,
        };
        let (x, y) = self.transformer.transform(x, y)?;
        match &self.to {
            None => Some((x, y)),
            Some(model) => model.to_pixel(x, y),
        }
    }

    /// Returns whether places depend on an elevation model: then places between two others cannot be interpolated.
    pub(crate) fn is_uneven(&self) -> bool {
        [&self.from, &self.to].into_iter().flatten().any(|model| model.heights().is_some())
    }

    /// Fails if heights of an elevation model could not be read.
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        let models = [&self.from, &self.to].into_iter().flatten();
        let fault = models.filter_map(Model::heights).find_map(Heights::fault);
        fault.map_or(Ok(()), |problem| Err(problem.into()))
    }

    /// Returns the part between two reference systems.
    pub(crate) fn into_transformer(self) -> Transformer {
        self.transformer
    }

    pub(crate) const fn operation(&self) -> &Operation {
        self.transformer.operation()
    }

    /// Returns whether the results are longitudes and latitudes.
    pub(crate) fn to_is_geographic(&self) -> bool {
        self.to.is_none() && self.transformer.to_is_geographic()
    }

    /// Returns the change of x per turn around the Earth, in the target.
    pub(crate) fn target_period(&self) -> Option<f64> {
        self.transformer.target_period().filter(|_| self.to.is_none())
    }
}

"""The exact places of a raster under the pixels of a grid, by PROJ."""

import numpy as np
import rasterio
import warp_cases


class Under:
    """The exact places of the raster under the pixels of the grid, in pixels of the level that is read."""

    def __init__(self, case):
        self.shape = case.shape
        self.case, self.kept = case, {}
        stored = case.pixels
        valid = np.ones(case.shape, bool) if case.valid is None else case.valid
        valid = np.broadcast_to(valid, stored.shape).copy()
        if case.nodata is not None:
            valid &= ~np.isnan(stored) if np.isnan(case.nodata) else stored != np.array(case.nodata).astype(case.dtype)
        self.pixels, self.valid = stored, valid
        if case.level:
            with rasterio.open(case.path, overview_level=0) as file:
                self.pixels = file.read()
                self.valid = file.read_masks() > 0 if not case.alpha else np.broadcast_to(file.read(case.bands + 1) > 0, self.pixels.shape)
                self.shape = file.shape
        # Columns around the Earth, where the raster has all of them.
        turn = abs(360 / case.transform[0]) * self.shape[1] / case.shape[1] if case.system == "EPSG:4326" else 0
        self.turn = turn if self.shape[1] >= turn - 1e-6 else 0

    def at(self, column, row):
        """Columns and rows of the raster at columns and rows of the grid."""
        case = self.case
        x, y = rasterio.Affine(*case.target_transform) @ (column, row)
        x, y = warp_cases.transformer(case.target, case.system).transform(x, y)
        column, row = ~rasterio.Affine(*case.transform) @ (np.asarray(x), np.asarray(y))
        column, row = column * self.shape[1] / case.shape[1], row * self.shape[0] / case.shape[0]
        return (column % self.turn if self.turn else column), row

    def back(self, column, row):
        """Columns and rows of the grid at columns and rows of the raster."""
        case = self.case
        column, row = column * case.shape[1] / self.shape[1], row * case.shape[0] / self.shape[0]
        x, y = rasterio.Affine(*case.transform) @ (column, row)
        there = warp_cases.transformer(case.system, case.target).transform(x, y)
        return ~rasterio.Affine(*case.target_transform) @ (np.asarray(there[0]), np.asarray(there[1]))

    def in_domain(self, column, row):
        """As `at`, but NaN where the place does not lead back to the point, nor to one a turn along the equator away: cylindrical systems go on."""
        there = self.at(column, row)
        back, turn = np.array(self.back(*there)), self.turn_of_grid()
        is_same = any((np.abs(back + turns * turn - (column, row)) < 0.01).all() for turns in (0, 1, -1))
        return there if is_same else (np.nan, np.nan)

    def turn_of_grid(self):
        """What a turn along the equator adds to columns and rows of the grid."""
        if "turn" not in self.kept:
            x, _ = warp_cases.transformer("EPSG:4326", self.case.target).transform([-180.0, 180.0], [0.0, 0.0])
            ends = [np.array(~rasterio.Affine(*self.case.target_transform) @ (one, 0.0)) for one in x]
            self.kept["turn"] = ends[1] - ends[0] if np.isfinite(ends).all() else np.zeros(2)
        return self.kept["turn"]

    def whole(self, x, y):
        """Columns and rows of the raster at a point of all pixels of the grid, and whether those lead back to it."""
        if (x, y) not in self.kept:
            rows, columns = np.mgrid[0 : self.case.target_shape[0], 0 : self.case.target_shape[1]]
            there = self.at(columns + x, rows + y)
            back = self.back(*there)
            with np.errstate(invalid="ignore"):
                leads_back = (np.abs(back[0] - columns - x) < 0.01) & (np.abs(back[1] - rows - y) < 0.01)
            self.kept[x, y] = (*there, leads_back)
        return self.kept[x, y]

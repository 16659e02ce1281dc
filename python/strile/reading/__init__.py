"""Reads a file into a DataArray: arguments, source, description of the result, and the read of a window.

`opening.open_geotiff` is the door. Arguments are checked before anything is opened (`arguments`); the source
is resolved and opened once (`source`, `opened`); from its facts and the request alone follows what the result
will be (`description`); a `Request` reads any window of it, for
the eager array (`eager`), for a dask chunk (`lazy`) and on a GPU alike. """

"""Every exception and warning of strile, in one place.

`StrileError` is the base of all errors about files, arguments' contents and devices, and is a `ValueError`;
`FileNotFoundError`, `PermissionError`, `MemoryError`, `TypeError`, `IndexError`, `ImportError` and `KeyboardInterrupt`
stay Python's own. The core raises these classes too: it finds them here by name.
"""


class StrileError(ValueError):
    """A file that is wrong or not supported, a request that cannot be served, or a device that failed."""


class GeoTIFFAmbiguousMetadataError(StrileError):
    """Ambiguous metadata. The base of the errors about transforms, reference systems and nodata."""


class InvalidCRSCodeError(GeoTIFFAmbiguousMetadataError):
    """A code that names no coordinate reference system."""


class UnparseableCRSError(GeoTIFFAmbiguousMetadataError):
    """Text that describes no coordinate reference system."""


class RotatedTransformError(GeoTIFFAmbiguousMetadataError):
    """A transform with rotation or shear, where axes must be rows and columns."""


class NonUniformCoordsError(GeoTIFFAmbiguousMetadataError):
    """Coordinates that are not evenly spaced."""


class DegeneratePixelSizeError(GeoTIFFAmbiguousMetadataError):
    """A pixel size that is zero or not finite."""


class MixedBandMetadataError(GeoTIFFAmbiguousMetadataError):
    """Bands that differ where one value is needed for all."""


class ConflictingCRSError(GeoTIFFAmbiguousMetadataError):
    """Two statements of the reference system that disagree."""


class ConflictingNodataError(GeoTIFFAmbiguousMetadataError):
    """Two statements of the nodata value that disagree."""


class InconsistentGeoKeysError(GeoTIFFAmbiguousMetadataError):
    """GeoKeys that contradict each other."""


class InvalidIntegerNodataError(GeoTIFFAmbiguousMetadataError):
    """A nodata value that integers cannot hold: not finite, or with a fraction."""


class MalformedScaleOffsetError(GeoTIFFAmbiguousMetadataError):
    """A scale or offset that is not a usable number."""


class VRTUnsupportedError(GeoTIFFAmbiguousMetadataError):
    """A VRT that is not a mosaic of files, or one that this reader does not support."""


class VRTStableSourcesOnlyError(GeoTIFFAmbiguousMetadataError):
    """A VRT where `stable_only` was asked for."""


class RemoteStableSourcesOnlyError(GeoTIFFAmbiguousMetadataError):
    """A remote source where `stable_only` was asked for."""


class UnknownCRSModelTypeError(GeoTIFFAmbiguousMetadataError):
    """A reference system that is neither projected, geographic nor geocentric."""


class NonRepresentableEPSGCRSError(GeoTIFFAmbiguousMetadataError):
    """A reference system whose code GeoKeys cannot state."""


class DuplicateIFDTagError(StrileError):
    """A directory that has a tag twice."""


class UnsupportedGeoTIFFFeatureError(StrileError, NotImplementedError):
    """A valid file or request that strile does not support."""


class PixelSafetyLimitError(StrileError):
    """More pixels than `max_pixels` allows in one result, or than are plausible for the file."""


class CloudSizeLimitError(StrileError):
    """A read that would fetch more than `max_cloud_bytes`."""


class UnsafeURLError(StrileError):
    """A URL that leads to this machine or a private network, or a chain of URLs."""


class ClosedError(StrileError):
    """A dataset or writer that was closed."""


class DeviceError(StrileError):
    """A GPU that is missing, cannot be used, or failed."""


class ForkedError(StrileError):
    """A forked process used something of its parent that it cannot share: a file being written, an open mosaic or file
    object, batches that are read ahead. Objects made in the child work."""


class InternalError(StrileError, RuntimeError):
    """A bug in strile: please report it with the message."""


class GeoTIFFFallbackWarning(UserWarning):
    """Something was done in another way than requested; the message says how and why."""

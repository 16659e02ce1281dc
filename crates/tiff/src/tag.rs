//! The table of tags that strile knows by name.

macro_rules! tags {
    ($($variant:ident = $code:literal;)+) => {
        /// The number of a tag.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct Tag(pub u16);

        #[expect(non_upper_case_globals, missing_docs, reason = "names as the specifications spell them")]
        impl Tag {
            $(pub const $variant: Tag = Tag($code);)+

            /// Returns the tag's name, if it is known.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 { $($code => Some(stringify!($variant)),)+ _ => None }
            }
        }
    };
}

tags! {
    NewSubfileType = 254;
    SubfileType = 255;
    ImageWidth = 256;
    ImageLength = 257;
    BitsPerSample = 258;
    Compression = 259;
    PhotometricInterpretation = 262;
    FillOrder = 266;
    DocumentName = 269;
    ImageDescription = 270;
    Make = 271;
    Model = 272;
    StripOffsets = 273;
    Orientation = 274;
    SamplesPerPixel = 277;
    RowsPerStrip = 278;
    StripByteCounts = 279;
    MinSampleValue = 280;
    MaxSampleValue = 281;
    XResolution = 282;
    YResolution = 283;
    PlanarConfiguration = 284;
    PageName = 285;
    FreeOffsets = 288;
    FreeByteCounts = 289;
    T4Options = 292;
    T6Options = 293;
    ResolutionUnit = 296;
    PageNumber = 297;
    TransferFunction = 301;
    Software = 305;
    DateTime = 306;
    Artist = 315;
    HostComputer = 316;
    Predictor = 317;
    ColorMap = 320;
    TileWidth = 322;
    TileLength = 323;
    TileOffsets = 324;
    TileByteCounts = 325;
    SubIFDs = 330;
    InkSet = 332;
    InkNames = 333;
    NumberOfInks = 334;
    DotRange = 336;
    ExtraSamples = 338;
    SampleFormat = 339;
    SMinSampleValue = 340;
    SMaxSampleValue = 341;
    JPEGTables = 347;
    GlobalParametersIFD = 400;
    JPEGProc = 512;
    JPEGInterchangeFormat = 513;
    JPEGInterchangeFormatLength = 514;
    JPEGRestartInterval = 515;
    JPEGLosslessPredictors = 517;
    JPEGPointTransforms = 518;
    JPEGQTables = 519;
    JPEGDCTables = 520;
    JPEGACTables = 521;
    YCbCrCoefficients = 529;
    YCbCrSubSampling = 530;
    YCbCrPositioning = 531;
    ReferenceBlackWhite = 532;
    StripRowCounts = 559;
    XMP = 700;
    ImageDepth = 32997;
    TileDepth = 32998;
    Copyright = 33432;
    ModelPixelScaleTag = 33550;
    IPTC = 33723;
    ModelTiepointTag = 33922;
    ModelTransformationTag = 34264;
    Photoshop = 34377;
    ExifIFD = 34665;
    ICCProfile = 34675;
    GeoKeyDirectoryTag = 34735;
    GeoDoubleParamsTag = 34736;
    GeoAsciiParamsTag = 34737;
    GPSIFD = 34853;
    InteroperabilityIFD = 40965;
    GDAL_METADATA = 42112;
    GDAL_NODATA = 42113;
    RPCCoefficientTag = 50844;
    LercParameters = 50674;
}

impl Tag {
    /// Returns whether the tag describes which samples there are, where they are, and how they are stored.
    pub const fn is_of_layout(self) -> bool {
        matches!(
            self,
            Self::NewSubfileType
                | Self::SubfileType
                | Self::ImageWidth
                | Self::ImageLength
                | Self::BitsPerSample
                | Self::Compression
                | Self::PhotometricInterpretation
                | Self::FillOrder
                | Self::StripOffsets
                | Self::SamplesPerPixel
                | Self::RowsPerStrip
                | Self::StripByteCounts
                | Self::PlanarConfiguration
                | Self::T4Options
                | Self::T6Options
                | Self::Predictor
                | Self::ColorMap
                | Self::TileWidth
                | Self::TileLength
                | Self::TileOffsets
                | Self::TileByteCounts
                | Self::SubIFDs
                | Self::ExtraSamples
                | Self::SampleFormat
                | Self::JPEGTables
                | Self::YCbCrSubSampling
                | Self::LercParameters
        )
    }
}

impl std::fmt::Display for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => write!(f, "tag {name} ({})", self.0),
            None => write!(f, "tag {}", self.0),
        }
    }
}

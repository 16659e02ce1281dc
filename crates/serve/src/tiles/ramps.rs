//! Colour ramps by their names in matplotlib and titiler, as evenly spaced stops.
//!
//! Colours are interpolated between stops; they differ from matplotlib's tables by at most 9 of 255.

use super::render::byte;
use crate::answer::Refusal;

const RAMPS: [(&str, &str); 14] = [
    (
        "viridis",
        "440154 46085c 471063 481769 481d6f 482475 472a7a 46307e 453781 433d84 414287 3f4889 3d4e8a 3a538b 38598c \
         355e8d 33638d 31688e 2e6d8e 2c718e 2a768e 297b8e 27808e 25848e 23898e 218e8d 20928c 1f978b 1e9c89 1fa188 \
         21a585 24aa83 28ae80 2eb37c 35b779 3dbc74 46c06f 50c46a 5ac864 65cb5e 70cf57 7cd250 89d548 95d840 a2da37 \
         b0dd2f bddf26 cae11f d8e219 e5e419 f1e51d fde725",
    ),
    (
        "magma",
        "000004 02020b 050416 090720 0e0b2b 140e36 1a1042 21114e 29115a 311165 390f6e 420f75 4a1079 52137c 5a167e \
         621980 6a1c81 721f81 792282 812581 892881 912b81 992d80 a1307e aa337d b2357b ba3878 c23b75 ca3e72 d2426f \
         d9466b e04c67 e75263 ec5860 f1605d f4695c f7725c f97b5d fb8560 fc8e64 fd9869 fea16e feaa74 feb47b febd82 \
         fec68a fecf92 fed89a fde2a3 fdebac fcf4b6 fcfdbf",
    ),
    (
        "inferno",
        "000004 02020c 050417 0a0722 10092d 160b39 1e0c45 260c51 2f0a5b 380962 400a67 490b6a 510e6c 59106e 61136e \
         69166e 71196e 781c6d 801f6c 88226a 902568 982766 a02a63 a82e5f b0315b b73557 bf3952 c63d4d cc4248 d34743 \
         d94d3d df5337 e45a31 e9612b ed6925 f1711f f47918 f78212 f98b0b fa9407 fb9d07 fca60c fcb014 fbba1f fac42a \
         f8cd37 f6d746 f4e156 f2ea69 f2f27d f5f992 fcffa4",
    ),
    (
        "plasma",
        "0d0887 1b068d 260591 2f0596 38049a 41049d 4903a0 5102a3 5901a5 6100a7 6900a8 7100a8 7801a8 8004a8 8707a6 \
         8e0ca4 9511a1 9c179e a21d9a a82296 ae2892 b42e8d ba3388 bf3984 c43e7f c9447a cd4a76 d24f71 d6556d da5b69 \
         de6164 e26660 e66c5c e97257 ed7953 f07f4f f3854b f58c46 f79342 f99a3e fba139 fca835 fdaf31 feb72d febe2a \
         fdc627 fcce25 fbd724 f8df25 f6e826 f3f027 f0f921",
    ),
    (
        "cividis",
        "00224e 002656 002a5f 002d68 003070 083370 163770 203a6f 273e6e 2e416d 34456c 3a486c 3f4c6c 444f6c 49536c \
         4e566c 535a6d 575d6d 5c616e 60646f 656870 696b71 6d6f72 727274 767676 7a7a78 7e7d78 838179 888578 8d8878 \
         928c78 969077 9b9476 a09875 a59c74 aaa073 afa471 b5a86f baac6d bfb06b c4b468 c9b965 cfbd62 d4c15f dac65b \
         dfca57 e5cf52 ead34c f0d846 f6dd3f fce236 fee838",
    ),
    (
        "turbo",
        "30123b 36215f 3b2f80 3f3e9c 424bb5 4559cb 4666dd 4773eb 4680f6 458cfd 4099ff 38a5fb 2fb2f4 27bee9 1fc9dd \
         1ad4d0 18ddc2 1ae4b6 22ebaa 2ff19b 3ff68a 52fa7a 65fd69 79fe59 8bff4b 9cfe40 a9fb39 b7f735 c3f134 d0ea34 \
         dbe236 e5d938 eecf3a f5c53a faba39 fdae35 fea130 fe932a fc8423 f9751d f46617 ef5811 e84b0c e14109 d83706 \
         ce2d04 c32503 b71d02 a91601 9b0f01 8b0902 7a0403",
    ),
    ("gray", "000000 ffffff"),
    (
        "terrain",
        "333399 2c40a6 264eb4 1f5bc1 1868ce 1276dc 0b83e9 0490f6 009cf4 00a6d7 00b0b9 00bb9b 00c47d 05cd67 19d16b \
         2dd56f 41d973 55dd77 69e17b 7de57f 91e983 a5ed87 b9f18b cdf58f e1f993 f5fd97 faf996 f0ec91 e6df8b dcd286 \
         d2c581 c8b97b beac76 b49f70 aa926b a08566 967960 8c6c5b 825f56 87655e 91726c 9b7f79 a58c86 af9994 b9a5a1 \
         c3b2af cdbfbc d7ccc9 e1d9d7 ebe5e4 f5f2f2 ffffff",
    ),
    (
        "rdylgn",
        "a50026 af0926 b91326 c21c27 cc2627 d62f27 dc3b2c e24731 e75337 ed5f3c f36b42 f57748 f7844e f99153 fb9d59 \
         fcaa5f fdb567 fdbf6f fec877 fed27f fedc88 fee491 feea9b fff0a6 fff6b0 fffcba fbfdba f4fab0 ecf7a6 e5f49b \
         ddf191 d5ed88 cbe982 c1e57b b7e075 addc6f a2d76a 96d268 89cc67 7dc765 70c164 63bc62 54b45f 45ad5b 36a657 \
         279f53 199750 148e4b 0f8446 0a7b41 05713c 006837",
    ),
    (
        "rdbu",
        "67001f 760521 840924 930e26 a21328 b1182b b82531 bf3338 c6413e ce4f45 d55d4c db6b55 e17860 e6866a ec9374 \
         f2a17f f5ac8b f7b799 f9c2a7 fbccb4 fcd7c2 fcdecd fbe4d6 fae9df f9efe9 f8f4f2 f3f5f6 ecf2f5 e4eef4 ddebf2 \
         d5e7f1 cce2ef c0dceb b3d6e8 a7d0e4 9bc9e0 8dc2dc 7eb8d7 6eaed2 5fa5cd 4f9bc7 4291c2 3b88be 3480b9 2e77b5 \
         276eb0 2065ab 1b5a9c 15508d 10457e 0a3b70 053061",
    ),
    (
        "spectral",
        "9e0142 a90d45 b41947 be254a c9314c d43d4f da464d e1504b e75948 ed6246 f36b43 f57748 f7844e f99153 fb9d59 \
         fcaa5f fdb567 fdbf6f fec877 fed27f fedc88 fee491 feea9b fff0a6 fff6b0 fffcba fdfebb f8fcb4 f3faac eef8a4 \
         e9f69d e1f399 d6ee9b caea9e bfe5a0 b3e0a2 a7dba4 99d6a4 8cd1a4 7ecca5 71c6a5 64c0a6 5ab4ab 50a9af 459eb4 \
         3b92b9 3387bc 3b7cb7 4471b2 4d65ad 555aa7 5e4fa2",
    ),
    (
        "blues",
        "f7fbff f3f8fe eff6fc ebf3fb e7f1fa e3eef9 dfecf7 dce9f6 d8e7f5 d4e4f4 d0e2f2 cddff1 c9ddf0 c4daee bed8ec \
         b8d5ea b2d2e8 abd0e6 a5cde3 9fcae1 97c6df 8fc2de 87bddc 7fb9da 77b5d9 6fb0d7 68acd5 61a7d2 5ba3d0 549fcd \
         4e9acb 4896c8 4191c6 3c8cc3 3787c0 3282be 2d7dbb 2777b8 2272b6 1e6db2 1a68ae 1663aa 125ea6 0e59a2 0a549e \
         084f99 084a91 08458a 084082 083a7a 083573 08306b",
    ),
    (
        "greens",
        "f7fcf5 f4fbf2 f1faee eff9eb ecf8e8 e9f7e5 e6f5e1 e2f4dd ddf2d8 d9f0d3 d4eece cfecc9 cbeac4 c6e8bf c0e6b9 \
         bae3b3 b4e1ad aedea7 a8dca2 a2d99c 9bd696 94d390 8dd08a 86cc85 7fc97f 78c679 70c274 68be70 60ba6c 58b668 \
         50b264 48ae60 40aa5d 3ca559 37a055 329b51 2e964d 29914a 248c46 1f8742 19833e 147e3a 0e7936 097532 03702e \
         006b2b 006428 005e26 005723 005120 004a1e 00441b",
    ),
    (
        "ylorrd",
        "ffffcc fffcc5 fff9be fff7b7 fff4b0 fff1a9 ffeea3 ffeb9c ffe895 ffe58f fee288 fede82 fedb7b fed774 fed16e \
         fecb67 fec561 febf5a feb953 feb34d fead4a fea747 fea145 fd9c42 fd9640 fd903d fd883b fd7e38 fd7435 fc6a32 \
         fc612f fc572c fc4d2a f84528 f43d25 f03523 ec2c21 e8241f e41c1d df171d d9131f d30f20 cd0b22 c70723 c10325 \
         b90026 b00026 a60026 9d0026 930026 8a0026 800026",
    ),
];

/// A colour for each of 256 values.
pub(crate) type Ramp = [[u8; 3]; 256];

/// Returns the names of the ramps.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    RAMPS.iter().map(|(name, _)| *name)
}

/// Returns the ramp of a name; a trailing `_r` reverses it.
pub(crate) fn ramp(name: &str) -> Result<Box<Ramp>, Refusal> {
    let lower = name.to_ascii_lowercase();
    let (name, is_reversed) = match lower.strip_suffix("_r") {
        Some(name) => (name, true),
        None => (lower.as_str(), false),
    };
    let unknown = || {
        let known: Vec<&str> = names().collect();
        Refusal::bad(format!(
            "unknown `colormap_name`; expected one of {}, or one with `_r`",
            known.join(", ")
        ))
    };
    let (_, text) = RAMPS.iter().find(|(own, _)| *own == name).ok_or_else(unknown)?;
    let stops: Vec<[f64; 3]> = text.split(' ').map(stop).collect();
    let last = stops.len().saturating_sub(1);
    let mut ramp = Box::new([[0; 3]; 256]);
    for (at, colour) in ramp.iter_mut().enumerate() {
        let at = if is_reversed { 255 - at } else { at };
        let place = at * last;
        let (left, share) = (place / 255, place % 255);
        let stop = |number: usize| stops.get(number.min(last)).copied().unwrap_or_default();
        let share = f64::from(u8::try_from(share).unwrap_or(0)) / 255.0;
        for ((into, low), high) in colour.iter_mut().zip(stop(left)).zip(stop(left + 1)) {
            *into = byte(low + (high - low) * share);
        }
    }
    Ok(ramp)
}

fn stop(hex: &str) -> [f64; 3] {
    [0, 2, 4].map(|at| {
        let byte = hex.get(at..at + 2).and_then(|byte| u8::from_str_radix(byte, 16).ok());
        f64::from(byte.unwrap_or(0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ramps_are_those_of_matplotlib() {
        // From matplotlib 3.11.
        let viridis = ramp("viridis").unwrap();
        assert_eq!((viridis[0], viridis[255]), ([68, 1, 84], [253, 231, 37]));
        let near = |one: [u8; 3], other: [u8; 3]| one.iter().zip(other).all(|(a, b)| a.abs_diff(b) <= 9);
        assert!(near(viridis[100], [42, 118, 142]));
        assert_eq!(ramp("VIRIDIS_r").unwrap()[0], [253, 231, 37]);
        assert_eq!(ramp("gray").unwrap()[77], [77, 77, 77]);
        assert!(names().all(|name| ramp(name).is_ok()));
        assert!(ramp("nothing").is_err() && ramp("").is_err() && ramp("_r").is_err());
    }
}

#!/usr/bin/env bash
# unpack_peers.sh CARRY TARGET: unpacks every CARRY/peers-N that is here and not yet unpacked; peers then lie in
# TARGET/base and TARGET/tools (Python packages), TARGET/six and TARGET/five (nvCOMP 6; nvCOMP 5 and nvTIFF, which calls it).
set -euo pipefail
carry=$1 target=$2
mkdir -p "$target"
for part in "$carry"/peers-*; do
  [ -f "$part/peers.tar.xz" ] || continue
  name=$(basename "$part")
  [ -f "$target/$name.done" ] && continue
  python3 - "$part/peers.tar.xz" "$target" <<'PY'
import sys, tarfile
with tarfile.open(sys.argv[1], "r:xz") as archive:
    archive.extractall(sys.argv[2], filter="data")
PY
  touch "$target/$name.done"
done
# xarray-spatial opens libnvcomp.so by that name; the linker wants it too.
for version in "six 6" "five 5"; do
  read -r folder number <<<"$version"
  libraries=$target/$folder/nvidia/libnvcomp/lib64
  [ -d "$libraries" ] && ln -sf "libnvcomp.so.$number" "$libraries/libnvcomp.so"
done
nvtiff=$target/five/nvidia/nvtiff/lib
[ -d "$nvtiff" ] && ln -sf libnvtiff.so.0 "$nvtiff/libnvtiff.so"
ls "$target"

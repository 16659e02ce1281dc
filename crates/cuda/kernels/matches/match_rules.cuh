// The constants of `portable/spec.md`, "Matches"; counterparts of `portable.rs`.
#pragma once
#include "device.h"

constexpr u32 PART = 32768;
constexpr u32 KEY = 5;
constexpr u32 KEY_BITS = 13;
constexpr u32 WINDOW = 32768;
constexpr u32 LEAST = 4;
constexpr u32 MOST = 258;
constexpr i32 GAIN_A_BYTE = 3;
constexpr i32 GAIN_AHEAD = 4;

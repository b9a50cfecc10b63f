//! Intel's Advanced Matrix Extensions: products of 16×32 by 32×16 bf16 matrices in one instruction.
//!
//! The intrinsics are not stable, so the steps of a product are assembly. Sums stay in tiles between steps:
//! the compiler itself never uses tiles.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

use super::avx512_bf16::Avx512Bf16;
use super::operands::{TILE_DEPTH, TILE_ROWS};

/// Proof by [`Amx::detect`] of tiles, and of the vectors that come with them.
#[derive(Clone, Copy, Debug)]
pub struct Amx(Avx512Bf16);

const ROW: usize = 64;

impl Amx {
    pub(crate) fn detect() -> Option<Amx> {
        let vectors = Avx512Bf16::detect()?;
        let usable = cpu_has_bf16_tiles() && system_saves_registers() && process_may_use_tiles();
        usable.then_some(Amx(vectors))
    }

    pub(crate) fn vectors(self) -> Avx512Bf16 {
        self.0
    }
}

/// AMX-BF16 and AMX-TILE in CPUID leaf 7.
fn cpu_has_bf16_tiles() -> bool {
    const BF16_AND_TILE: u32 = 1 << 22 | 1 << 24;
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & BF16_AND_TILE == BF16_AND_TILE
}

/// Whether the system saves tile configuration (bit 17), tile data (bit 18) and AVX registers (bit 2).
fn system_saves_registers() -> bool {
    const STATES: u64 = 1 << 17 | 1 << 18 | 1 << 2;

    #[target_feature(enable = "xsave")]
    fn enabled_states() -> u64 {
        // SAFETY: the caller made sure that the instruction may be executed.
        unsafe { _xgetbv(0) }
    }
    // SAFETY: XGETBV may be executed where XSAVE is detected, which includes that the system enabled it.
    is_x86_feature_detected!("xsave") && unsafe { enabled_states() } & STATES == STATES
}

/// Linux refuses the large register state where signal stacks have no room for it.
fn process_may_use_tiles() -> bool {
    const SYS_ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: i64 = 0x1023;
    const XFEATURE_XTILEDATA: i64 = 18;
    let result: i64;
    // SAFETY: this system call takes two numbers and touches no memory. The registers it changes are named.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") SYS_ARCH_PRCTL => result,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") XFEATURE_XTILEDATA,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result == 0
}

/// The operand of LDTILECFG: palette 1, eight tiles of rows of 64 bytes.
#[repr(C, align(64))]
struct TileConfig([u8; 64]);

impl TileConfig {
    /// Sums and left operands, tiles 0 to 5, have `rows` rows. Right operands, tiles 6 and 7, have 16.
    fn new(rows: usize) -> TileConfig {
        let mut config = [0; 64];
        config[0] = 1;
        for tile in 0..8 {
            config[16 + 2 * tile] = ROW as u8;
            config[48 + tile] = if tile < 6 {
                rows.clamp(1, TILE_ROWS)
            } else {
                TILE_ROWS
            } as u8;
        }
        TileConfig(config)
    }
}

impl Amx {
    pub(crate) fn configure(self, rows: usize) {
        let config = TileConfig::new(rows);
        // SAFETY: `self` proves that tiles may be used. The configuration is valid and aligned.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &config.0, options(nostack, readonly)) }
    }

    /// Frees the tiles, so that the system need not save them.
    pub(crate) fn release(self) {
        // SAFETY: `self` proves that tiles may be used. None is in use after this.
        unsafe { asm!("tilerelease", options(nostack, nomem)) }
    }
}

const SUMS_ROW: usize = TILE_DEPTH * size_of::<f32>();

/// Sets the sums of a block of 32 by 32, which stay in tiles 0 to 3, to 0.
///
/// # Safety
/// Tiles must be configured.
#[inline(always)]
pub(crate) unsafe fn clear() {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            options(nostack, nomem, preserves_flags),
        );
    }
}

/// Adds the products of a step: 16 rows each at `upper` and `lower`, which are `row` numbers apart, by 32
/// columns. Weights are read past the first cache, which holds the rows.
///
/// # Safety
/// Tiles must be configured. `upper` and `lower` must be valid for 16 rows of 32 numbers, `b` for 1,024
/// numbers.
#[inline(always)]
pub(crate) unsafe fn add(upper: *const u16, lower: *const u16, row: usize, b: *const u16) {
    // SAFETY: the caller's. All registers that change are named.
    unsafe {
        asm!(
            "tileloaddt1 tmm6, [{b} + {stride}*1]",
            "tileloadd tmm4, [{upper} + {row}*1]",
            "tileloaddt1 tmm7, [{b} + {stride}*1 + 1024]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm5, [{lower} + {row}*1]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            b = in(reg) b,
            upper = in(reg) upper,
            lower = in(reg) lower,
            row = in(reg) row * size_of::<u16>(),
            stride = in(reg) ROW,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack, readonly, preserves_flags),
        );
    }
}

/// Likewise to the upper half of the block only.
///
/// # Safety
/// Tiles must be configured. `upper` must be valid for as many rows of 32 numbers as they were configured
/// for, `b` for 1,024 numbers.
#[inline(always)]
pub(crate) unsafe fn add_upper(upper: *const u16, row: usize, b: *const u16) {
    // SAFETY: the caller's. All registers that change are named.
    unsafe {
        asm!(
            "tileloaddt1 tmm6, [{b} + {stride}*1]",
            "tileloadd tmm4, [{upper} + {row}*1]",
            "tileloaddt1 tmm7, [{b} + {stride}*1 + 1024]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm1, tmm4, tmm7",
            b = in(reg) b,
            upper = in(reg) upper,
            row = in(reg) row * size_of::<u16>(),
            stride = in(reg) ROW,
            out("tmm0") _, out("tmm1") _, out("tmm4") _, out("tmm6") _, out("tmm7") _,
            options(nostack, readonly, preserves_flags),
        );
    }
}

/// Writes the sums of the upper half of the block, `[16][32]`.
///
/// # Safety
/// [`clear`] must have run. `to` must be valid for these sums.
#[inline(always)]
pub(crate) unsafe fn store_upper(to: *mut f32) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "tilestored [{to} + {row}*1], tmm0",
            "tilestored [{to} + {row}*1 + 64], tmm1",
            to = in(reg) to,
            row = in(reg) SUMS_ROW,
            options(nostack, preserves_flags),
        );
    }
}

/// Writes the sums of the block, `[32][32]`.
///
/// # Safety
/// [`clear`] must have run. `to` must be valid for all sums.
#[inline(always)]
pub(crate) unsafe fn store(to: *mut f32) {
    // SAFETY: the caller's.
    unsafe {
        store_upper(to);
        asm!(
            "tilestored [{to} + {row}*1], tmm2",
            "tilestored [{to} + {row}*1 + 64], tmm3",
            to = in(reg) to.add(TILE_ROWS * TILE_DEPTH),
            row = in(reg) SUMS_ROW,
            options(nostack, preserves_flags),
        );
    }
}

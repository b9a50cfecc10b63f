//! Intel's Advanced Matrix Extensions: products of 16×32 by 32×16 bf16 matrices in one instruction.
//!
//! The intrinsics are not stable, so the inner loop is assembly. It is the same that was measured on Sapphire
//! Rapids. Tiles must be allowed by CPU, system and, on Linux, by a request of the process, and before they
//! are used, a product is compared with its definition, so that a machine that computes anything else falls
//! back to fp32.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

use super::rows::TILE_ROWS;
use super::tiles::{Avx512Bf16, ROW_STEP, TILE_DEPTH, TileProduct, Tiles};

/// The tiles of this CPU, proven by [`Amx::detect`], with the vectors of every CPU that has tiles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amx(Avx512Bf16);

/// Bytes of a row of a tile, and of a row of `a`.
const ROW: usize = 64;

impl Amx {
    /// Returns the tiles, if CPU and system have them, the system allows their use, and they compute what
    /// they should.
    pub(super) fn detect() -> Option<Amx> {
        let amx = Amx(Avx512Bf16::detect()?);
        let usable = cpu_has_bf16_tiles() && system_saves_registers() && process_may_use_tiles();
        (usable && agrees_with_definition(amx)).then_some(amx)
    }

    /// Returns the vectors that finish what tiles compute.
    pub(super) fn vectors(self) -> Avx512Bf16 {
        self.0
    }
}

/// Asks CPUID leaf 7 for AMX-BF16 and AMX-TILE.
fn cpu_has_bf16_tiles() -> bool {
    const BF16_AND_TILE: u32 = 1 << 22 | 1 << 24;
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & BF16_AND_TILE == BF16_AND_TILE
}

/// Says whether the system saves and restores tile configuration (bit 17), tile data (bit 18) and AVX
/// registers (bit 2).
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

/// Asks Linux for the large register state, which it refuses where signal stacks have no room for it.
fn process_may_use_tiles() -> bool {
    const SYS_ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: i64 = 0x1023;
    const XFEATURE_XTILEDATA: i64 = 18;
    let result: i64;
    // SAFETY: this system call takes two numbers and touches no memory of ours. The registers it changes are
    // named.
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

/// Says whether a product with varied numbers comes out as defined, but for the order of additions.
fn agrees_with_definition(amx: Amx) -> bool {
    const STEPS: usize = 3;
    const WIDTH: usize = 64;
    let numbers = |count: usize, factor: usize| -> Vec<u16> {
        (0..count).map(|i| half::bf16::from_f32((i * factor % 251) as f32 / 125.0 - 1.0).to_bits()).collect()
    };
    let offsets = [0, 96, 2048];
    let a_step = 2048 + 64 * TILE_DEPTH;
    let (a, b) = (numbers(2 * a_step, 7), numbers(STEPS * TILE_DEPTH * WIDTH, 11));
    let product = |tiles: Tiles| {
        let mut c = vec![0.0; 2 * 64 * WIDTH];
        tiles.multiply(TileProduct {
            positions: 2,
            rows: 64,
            width: WIDTH,
            offsets: &offsets,
            a: &a,
            a_step,
            b: &b,
            c: &mut c,
        });
        c
    };
    product(Tiles::Amx(amx))
        .iter()
        .zip(product(Tiles::Definition))
        .all(|(found, expected)| (found - expected).abs() < 1e-3)
}

/// The operand of LDTILECFG: palette 1, eight tiles of rows of 64 bytes.
#[repr(C, align(64))]
struct TileConfig([u8; 64]);

impl TileConfig {
    /// Gives sums and left operands, tiles 0 to 5, so many rows. Right operands, tiles 6 and 7, have 16.
    fn new(rows: usize) -> TileConfig {
        let mut config = [0; 64];
        config[0] = 1;
        for tile in 0..8 {
            config[16 + 2 * tile] = ROW as u8;
            config[48 + tile] = if tile < 6 { rows.clamp(1, TILE_ROWS) } else { TILE_ROWS } as u8;
        }
        TileConfig(config)
    }
}

impl Amx {
    /// Configures the tiles of this thread.
    pub(super) fn begin(self) {
        // SAFETY: `self` proves that tiles may be used.
        unsafe { configure(TILE_ROWS) }
    }

    /// Releases the tiles of this thread.
    pub(super) fn end(self) {
        // SAFETY: `self` proves that tiles may be used.
        unsafe { release() }
    }

    /// The job must have been checked.
    pub(super) fn multiply(self, job: TileProduct<'_>) {
        let steps = job.offsets.len();
        // SAFETY: `self` proves that tiles may be used. The check covers all operands of each block.
        unsafe {
            configure(TILE_ROWS);
            for block in 0..job.width / TILE_DEPTH {
                let b = job.b.as_ptr().add(block * steps * TILE_DEPTH * TILE_DEPTH);
                for position in 0..job.positions {
                    for half in 0..job.rows.div_ceil(ROW_STEP) {
                        let c = (position * 64 + half * ROW_STEP) * job.width + block * TILE_DEPTH;
                        multiply_block(
                            job.offsets,
                            job.a.as_ptr().add(position * job.a_step + half * ROW_STEP * TILE_DEPTH),
                            b,
                            OutputRows { first: job.c.as_mut_ptr().add(c), stride: job.width },
                        );
                    }
                }
            }
            release();
        }
    }
}

/// Gives all tiles their shape: left operands of so many rows, 16 at most.
///
/// # Safety
/// Tiles must be usable in this process.
pub(super) unsafe fn configure(rows: usize) {
    let config = TileConfig::new(rows);
    // SAFETY: the configuration is valid and aligned. The compiler itself never uses tiles.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &config.0, options(nostack, readonly)) }
}

/// Frees the tiles, so that the system need not save them.
///
/// # Safety
/// Tiles must be usable in this process.
pub(super) unsafe fn release() {
    // SAFETY: no tile is in use after this.
    unsafe { asm!("tilerelease", options(nostack, nomem)) }
}

/// Rows that a block of a product is written to.
#[derive(Clone, Copy)]
struct OutputRows {
    first: *mut f32,
    /// Numbers from one row to the next.
    stride: usize,
}

/// Computes 32 rows by 32 columns: `c = Σ over steps of a[offset] b[step]`, as two by two tiles.
///
/// # Safety
/// [`configure`] must have run on this thread. There must be a step. `a` must be valid from each offset for
/// 32 rows of 32 numbers, `b` for 1,024 numbers a step, and `c` for 32 rows of 32 numbers that are its stride
/// apart.
unsafe fn multiply_block(offsets: &[u32], a: *const u16, b: *const u16, c: OutputRows) {
    let (c, row) = (c.first, c.stride * size_of::<f32>());
    // SAFETY: the caller's. All registers that change are named.
    unsafe {
        asm!(
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            // Without vector arithmetic in the loop the stores behind it hold up the next block's products.
            // It was measured on Sapphire Rapids: one addition a step makes 36 steps 24 % faster and 72 steps
            // 12 %, moves and prefetches do nothing.
            "vxorps xmm0, xmm0, xmm0",
            "2:",
            "mov {at:e}, dword ptr [{offsets}]",
            "add {offsets}, 4",
            "lea {at}, [{a} + {at}*2]",
            "tileloadd tmm6, [{b} + {stride}*1]",
            "tileloadd tmm4, [{at} + {stride}*1]",
            "tileloadd tmm7, [{b} + {stride}*1 + 1024]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm5, [{at} + {stride}*1 + 1024]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "add {b}, 2048",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "vaddss xmm0, xmm0, xmm0",
            "dec {steps}",
            "jnz 2b",
            "tilestored [{c} + {row}*1], tmm0",
            "tilestored [{c} + {row}*1 + 64], tmm1",
            "lea {c}, [{c} + {rows}]",
            "tilestored [{c} + {row}*1], tmm2",
            "tilestored [{c} + {row}*1 + 64], tmm3",
            at = out(reg) _,
            offsets = inout(reg) offsets.as_ptr() => _,
            steps = inout(reg) offsets.len() => _,
            a = in(reg) a,
            b = inout(reg) b => _,
            c = inout(reg) c => _,
            row = in(reg) row,
            rows = in(reg) row * 16,
            stride = in(reg) ROW,
            out("xmm0") _,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}

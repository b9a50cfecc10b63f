#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    zeitnot_fuzz::library::run(data);
});

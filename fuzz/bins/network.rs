#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    zeitnot_fuzz::network::run(data);
});

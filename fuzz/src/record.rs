//! Training records.

use zeitnot_datagen::record::{MAGIC, Records, encode};
use zeitnot_datagen::table::Tables;

/// Reads records; what is read can be written again, and expanded to tables.
pub fn run(data: &[u8]) -> bool {
    let Ok(records) = Records::new(data) else {
        return false;
    };
    let games: Vec<_> = records.map_while(Result::ok).collect();
    let mut bytes = MAGIC.to_vec();
    let mut tables = Tables::default();
    games.iter().for_each(|game| {
        bytes.extend(encode(game).expect("it was read from a record"));
        tables.add(game).expect("its moves are legal");
    });
    let again = Records::new(&bytes).expect("our own").map_while(Result::ok);
    assert_eq!(again.count(), games.len());
    !games.is_empty()
}

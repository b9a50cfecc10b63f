//! Tests the program `zeitnot-datagen` and its formats.

mod commands;
mod training_data;

//! `overt-bench OPTIONS`: runs the load generator, prints its report as JSON.
//!
//! OPTIONS is JSON itself, the path of a file that holds it, or `-` for standard input. Exit status 0 when
//! every answer was right, 1 when some failed or were wrong, 2 when there was no run.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line prints")]

use std::io::Read;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(right) => ExitCode::from(u8::from(!right)),
        Err(error) => {
            eprintln!("overt-bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, String> {
    let mut arguments = std::env::args().skip(1);
    let (Some(argument), None) = (arguments.next(), arguments.next()) else {
        return Err("give the options: JSON, a file that holds it, or - for standard input".into());
    };
    let text = if argument.trim_start().starts_with('{') {
        argument
    } else if argument == "-" {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| format!("standard input: {error}"))?;
        text
    } else {
        std::fs::read_to_string(&argument).map_err(|error| format!("{argument}: {error}"))?
    };
    let options = serde_json::from_str(&text).map_err(|error| format!("the options: {error}"))?;
    let report = overt_bench::run(options).map_err(|error| error.to_string())?;
    println!("{}", serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?);
    Ok(report.requests_failed == 0 && report.texts_wrong == 0 && report.requests_cut == 0)
}

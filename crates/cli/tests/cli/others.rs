use crate::{Bench, dem, rgb};

#[test]
fn devices_lists_the_processor_first() {
    let bench = Bench::new();
    assert!(bench.run("devices").clean().text().starts_with("cpu"));
    let json = bench.run("devices --json").clean().json();
    assert_eq!((&json["devices"][0]["name"], &json["devices"][0]["usable"]), (&"cpu".into(), &true.into()));
    let gpu = &json["devices"][1];
    assert!(gpu["name"].as_str().unwrap().starts_with("cuda") && gpu["description"].is_string());
    assert_eq!(gpu["usable"].as_bool().unwrap(), gpu["memory_free"].is_u64(), "told of one that can be used");
}

#[test]
fn plans_say_which_device_and_why() {
    let bench = Bench::new();
    bench.file("dem.tif", &dem().1);
    let text = bench.run("dump --explain dem.tif").clean();
    assert!(text.text().contains("\nengine   cpu (estimated cpu 0."), "{}", text.text());
    assert!(text.text().contains("\ncosts    constants: "), "{}", text.text());
    let json = bench.run("dump --explain=json --decode-on cpu --device-memory 1GiB dem.tif").clean().json();
    assert_eq!((&json["decode"]["on"], &json["destination"]), (&"cpu".into(), &"host".into()));
    assert_eq!((&json["memory"]["device"], &json["after"]), (&0.into(), &serde_json::json!([])));
}

#[test]
fn completions_for_every_shell() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = bench.run(&format!("completions {shell}")).clean();
        assert!(run.text().contains("on-fault"), "{shell}");
    }
}

#[test]
fn help_shows_examples_and_version() {
    let bench = Bench::new();
    for command in [
        "",
        "info",
        "dump",
        "convert",
        "overview",
        "vrt",
        "index",
        "compare",
        "cog",
        "cog validate",
        "uploads",
        "devices",
        "demo",
        "completions",
    ] {
        let run = bench.run(&format!("{command} --help")).clean();
        assert!(run.text().contains("Examples:\n  strile "), "{command}");
    }
    assert!(bench.run("--version").clean().text().starts_with("strile "));
}

#[test]
fn an_index_has_what_lies_below_a_folder() {
    let bench = Bench::new();
    bench.file("dem.tif", &dem().1);
    bench.file("scene.TIFF", &rgb().1);
    bench.file("notes.txt", b"no picture");
    let run = bench.run("index . -o headers.index");
    assert!(run.code == 0 && run.stderr.contains("2 files"), "{}", run.stderr);
    bench.file("broken.tif", b"II*\0");
    let run = bench.run("index . -o headers.index");
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("broken.tif") && run.stderr.contains("2 files"), "{}", run.stderr);
    assert_eq!(bench.run("index nowhere -o headers.index").code, 2);
}

/// Runs the commands of one section of a page, one after the other.
fn run_section(page: &str, title: &str, at_least: usize) {
    let section = page.split("\n## ").find(|section| section.starts_with(title)).unwrap();
    // What needs a GPU is for the GPU check.
    let section = section.split("\n### On a GPU").next().unwrap();
    let bench = Bench::new();
    bench.file("dem.tif", &dem().1);
    bench.file("scene.tif", &rgb().1);
    let lines: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("strile ")).collect();
    assert!(lines.len() >= at_least);
    for line in lines {
        let run = bench.run(line.split(" #").next().unwrap());
        assert_eq!(run.code, 0, "{line}: {}{}", run.stderr, run.text());
    }
}

#[test]
fn commands_of_the_readme_run() {
    run_section(include_str!("../../../../README.md"), "Command line", 5);
}

#[test]
fn what_the_guide_says_about_writing_runs() {
    run_section(include_str!("../../../../docs/command-line.md"), "Writing", 6);
}

/// Runs every command of the tutorial and the how-to pages; what needs a GPU is for the GPU check.
#[test]
fn commands_of_the_how_to_pages_run() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages = std::fs::read_dir(docs.join("how-to")).unwrap().map(|entry| entry.unwrap().path());
    let mut seen = 0;
    for path in pages.chain([docs.join("tutorial.md")]) {
        let page = std::fs::read_to_string(&path).unwrap();
        let bench = Bench::new();
        std::fs::create_dir(bench.path("scenes")).unwrap();
        for name in ["dem.tif", "scenes/a.tif", "scenes/b.tif"] {
            bench.file(name, &dem().1);
        }
        bench.file("scene.tif", &rgb().1);
        bench.file("points.csv", b"x,y\n500105,5199895\n500255,5199605\n");
        let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
        for line in blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("strile ")) {
            // No shell expands names here.
            let names = |line: &str, folder: &str| {
                line.replace(&format!("{folder}/*.tif"), &format!("{folder}/a.tif {folder}/b.tif"))
            };
            let line = names(&names(line, "cogs"), "scenes");
            let run = bench.run(line.split(" #").next().unwrap());
            assert_eq!(run.code, 0, "{}: {line}: {}{}", path.display(), run.stderr, run.text());
            seen += 1;
        }
    }
    assert!(seen >= 20, "{seen} commands");
}

#[test]
fn a_folder_given_to_vrt_is_refused_with_what_to_do() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("scenes")).unwrap();
    let run = bench.run("vrt all.vrt scenes");
    assert_eq!(run.code, 2);
    let told = ["scenes: expected a file, got a folder", "FOLDER/*.tif"];
    assert!(told.iter().all(|words| run.stderr.contains(words)), "{}", run.stderr);
}

#[test]
fn demo_compares_every_pixel_and_leaves_a_picture() {
    let bench = Bench::new();
    let run = bench.run("-q demo --dir made").clean();
    for codec in ["none", "packbits", "lz4", "lzw", "deflate", "zstd"] {
        let line = run.text().lines().find(|line| line.starts_with(codec)).unwrap();
        assert!(line.ends_with("identical"), "{line}");
    }
    assert!(run.text().ends_with("quicklook: made/quicklook.png\n"), "{}", run.text());
    assert_eq!(&std::fs::read(bench.path("made/quicklook.png")).unwrap()[1..4], b"PNG");
}

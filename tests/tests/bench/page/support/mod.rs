//! A browser without a screen, and properties of a screenshot that can be computed.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Chromium with a home of its own, which is gone when this is.
pub struct Browser {
    home: PathBuf,
    program: &'static str,
}

/// How the reader's screen is.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    pub name: &'static str,
    pub width: u32,
    pub is_dark: bool,
}

/// A part of a screenshot: x, y, width, height.
pub type Region = [usize; 4];

/// Eight bits each of red, green and blue.
pub struct Picture {
    width: usize,
    pixels: Vec<[u8; 3]>,
}

impl Browser {
    /// A browser with a home directory of this name. `None` if there is none; prints which Debian
    /// package has it.
    pub fn find(name: &str) -> Option<Browser> {
        let mut programs = ["chromium", "chromium-browser", "google-chrome"].into_iter();
        let runs = |program: &&str| Command::new(program).arg("--version").output().is_ok();
        let Some(program) = programs.find(runs) else {
            println!("skipped: no browser here; apt install chromium");
            return None;
        };
        let home = std::env::temp_dir().join(format!("xway-page-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&home).unwrap();
        Some(Browser { home, program })
    }

    /// A page in a file of its own.
    pub fn write(&self, name: &str, html: &str) -> PathBuf {
        let file = self.home.join(name);
        std::fs::write(&file, html).unwrap();
        file
    }

    /// The console messages of `page`.
    pub fn console(&self, page: &Path) -> Vec<String> {
        let output = self.open(page, Screen::DESK, &["--dump-dom"]);
        console(&output)
    }

    /// A screenshot of all of `page`, and its console messages.
    pub fn picture(&self, page: &Path, screen: Screen) -> (Picture, Vec<String>) {
        let file = self.home.join(format!("{}.png", screen.name));
        let shot = format!("--screenshot={}", file.display());
        let output = self.open(page, screen, &[&shot]);
        (Picture::read(&file), console(&output))
    }

    /// Where the figures of `html` are on this screen: a copy of it measures itself.
    pub fn figures(&self, html: &str, screen: Screen) -> Vec<Region> {
        let page = self.write("measured.html", &format!("{html}{MEASURE}"));
        let dom = self.open(&page, screen, &["--dump-dom"]).stdout;
        let dom = String::from_utf8(dom).unwrap();
        let (_, measured) = dom.split_once("data-figures=\"").expect("the page measured itself");
        let (measured, _) = measured.split_once('"').unwrap();
        let numbers: Vec<usize> =
            measured.split(',').map(|number| number.parse().unwrap()).collect();
        numbers.as_chunks::<4>().0.to_vec()
    }

    fn open(&self, page: &Path, screen: Screen, arguments: &[&str]) -> Output {
        // A browser that hangs is ended by `timeout`, which shows in its exit code.
        let mut command = Command::new("timeout");
        command.args([SECONDS, self.program, "--headless", "--no-sandbox", "--disable-gpu"]);
        command.args(["--hide-scrollbars", "--force-device-scale-factor=1", "--no-first-run"]);
        command.args(["--enable-logging=stderr", "--disable-background-networking"]);
        command.arg(format!("--user-data-dir={}", self.home.join("profile").display()));
        command.arg(format!("--window-size={},{HEIGHT}", screen.width));
        if screen.is_dark {
            command.arg("--blink-settings=preferredColorScheme=0");
        }
        let page = format!("file://{}", page.display());
        let output = command.env("HOME", &self.home).args(arguments).arg(page).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // What remains is in the directory for temporary files; a destructor cannot report.
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

impl Screen {
    pub const DESK: Screen = Screen { name: "desk", width: 1000, is_dark: false };
}

fn console(output: &Output) -> Vec<String> {
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect()
}

impl Picture {
    fn read(file: &Path) -> Picture {
        let mut decoder = png::Decoder::new(BufReader::new(File::open(file).unwrap()));
        decoder.set_transformations(png::Transformations::STRIP_16 | png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        let samples = info.color_type.samples();
        assert!(samples >= 3, "a screenshot has colours");
        let pixels = bytes[..info.buffer_size()].chunks_exact(samples);
        let pixels = pixels.map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        Picture { width: info.width as usize, pixels }
    }

    /// How many pixels of `region` have each colour.
    pub fn colours(&self, [x, y, width, height]: Region) -> HashMap<[u8; 3], usize> {
        let mut colours = HashMap::new();
        for row in y..y + height {
            let start = row * self.width + x;
            for pixel in &self.pixels[start..start + width] {
                *colours.entry(*pixel).or_insert(0) += 1;
            }
        }
        colours
    }

    /// The color of a pixel near the corner, where nothing is drawn.
    pub fn ground(&self) -> [u8; 3] {
        self.pixels[2 * self.width + 2]
    }
}

const SECONDS: &str = "120";
/// Height of the window: more than any page here, so that one screenshot has all of it.
const HEIGHT: u32 = 8000;
const MEASURE: &str = "<script>\
document.body.dataset.figures = [...document.querySelectorAll('figure svg')].map(figure => {\
  const box = figure.getBoundingClientRect();\
  return [box.x, box.y, box.width, box.height].map(Math.floor).join();\
}).join()</script>";

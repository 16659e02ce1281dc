//! Band maths: `(b4-b3)/(b4+b3)`, several expressions separated by `;`.
//!
//! Numbers, bands `b1`, `b2`, …, `+ - * / **`, parentheses, and the functions `abs`, `sqrt`, `log`, `exp`, `min` and
//! `max`. `**` is right-associative and binds more tightly than a preceding sign.

use crate::answer::Refusal;

/// Limits: text length, operations, nesting, results, bands.
const LONGEST: usize = 500;
const MOST_STEPS: usize = 200;
const DEEPEST: usize = 32;
const MOST_RESULTS: usize = 4;
const MOST_BANDS: usize = 16;

/// A step of a stack machine.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Number(f64),
    /// Index among the bands read.
    Band(usize),
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Call(Function),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Abs,
    Sqrt,
    Log,
    Exp,
    Min,
    Max,
}

const FUNCTIONS: [(&str, Function, usize); 6] = [
    ("abs", Function::Abs, 1),
    ("sqrt", Function::Sqrt, 1),
    ("log", Function::Log, 1),
    ("exp", Function::Exp, 1),
    ("min", Function::Min, 2),
    ("max", Function::Max, 2),
];

/// Checked expressions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expressions {
    /// Bands to read, from 1.
    pub(crate) bands: Vec<u16>,
    results: Vec<Vec<Step>>,
}

impl Expressions {
    /// Parses expressions on a file with `bands` bands.
    pub(crate) fn parse(text: &str, bands: u16) -> Result<Self, Refusal> {
        let wrong = |problem: String| Refusal::bad(format!("cannot read the expression: {problem}"));
        if text.len() > LONGEST {
            return Err(wrong(format!("expected at most {LONGEST} characters")));
        }
        let mut found = Self { bands: Vec::new(), results: Vec::new() };
        for one in text.split(';').filter(|one| !one.trim().is_empty()) {
            let mut parser =
                Parser { text: one, at: 0, steps: Vec::new(), bands: &mut found.bands, all: bands };
            parser.sum(0).map_err(wrong)?;
            parser.spaces();
            if parser.at < one.len() {
                return Err(wrong(format!("expected an operator at `{}`", parser.rest())));
            }
            let steps = parser.steps;
            found.results.push(steps);
        }
        match found.results.len() {
            0 => Err(wrong("it is empty".into())),
            1..=MOST_RESULTS => Ok(found),
            more => Err(wrong(format!("expected at most {MOST_RESULTS} results, got {more}"))),
        }
    }

    /// Returns the number of results.
    pub(crate) fn results(&self) -> usize {
        self.results.len()
    }

    /// Returns a result for a pixel whose bands `band` returns. NaN if a band is missing or the result is undefined.
    pub(crate) fn value(&self, result: usize, band: impl Fn(usize) -> f64, stack: &mut Vec<f64>) -> f64 {
        stack.clear();
        for step in self.results.get(result).map(Vec::as_slice).unwrap_or_default() {
            let mut pop = || stack.pop().unwrap_or(f64::NAN);
            let value = match *step {
                Step::Number(value) => value,
                Step::Band(at) => band(at),
                Step::Negate => -pop(),
                Step::Call(Function::Abs) => pop().abs(),
                Step::Call(Function::Sqrt) => pop().sqrt(),
                Step::Call(Function::Log) => pop().ln(),
                Step::Call(Function::Exp) => pop().exp(),
                two => {
                    let (right, left) = (pop(), pop());
                    match two {
                        Step::Add => left + right,
                        Step::Subtract => left - right,
                        Step::Multiply => left * right,
                        Step::Divide => left / right,
                        Step::Power => left.powf(right),
                        // NaN stays NaN.
                        Step::Call(Function::Min) if left.is_nan() || right.is_nan() => f64::NAN,
                        Step::Call(Function::Min) => left.min(right),
                        _ if left.is_nan() || right.is_nan() => f64::NAN,
                        _ => left.max(right),
                    }
                }
            };
            stack.push(value);
        }
        stack.pop().unwrap_or(f64::NAN)
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    steps: Vec<Step>,
    bands: &'a mut Vec<u16>,
    all: u16,
}

impl Parser<'_> {
    fn rest(&self) -> String {
        self.text.get(self.at..).unwrap_or("").chars().take(20).collect::<String>().escape_debug().to_string()
    }

    fn spaces(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or("");
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Consumes a symbol if it is next.
    fn take(&mut self, symbol: &str) -> bool {
        self.spaces();
        let is_next = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(symbol));
        if is_next {
            self.at += symbol.len();
        }
        is_next
    }

    fn push(&mut self, step: Step) -> Result<(), String> {
        if self.steps.len() >= MOST_STEPS {
            return Err(format!("expected at most {MOST_STEPS} operations"));
        }
        self.steps.push(step);
        Ok(())
    }

    fn sum(&mut self, depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(format!("expected at most {DEEPEST} parentheses within each other"));
        }
        self.product(depth)?;
        loop {
            let step = match () {
                () if self.take("+") => Step::Add,
                () if self.take("-") => Step::Subtract,
                () => return Ok(()),
            };
            self.product(depth)?;
            self.push(step)?;
        }
    }

    fn product(&mut self, depth: usize) -> Result<(), String> {
        self.signed(depth)?;
        loop {
            let step = match () {
                () if self.take("*") => Step::Multiply,
                () if self.take("/") => Step::Divide,
                () => return Ok(()),
            };
            self.signed(depth)?;
            self.push(step)?;
        }
    }

    fn signed(&mut self, depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(format!("expected at most {DEEPEST} signs and parentheses within each other"));
        }
        if self.take("-") {
            self.signed(depth + 1)?;
            return self.push(Step::Negate);
        }
        if self.take("+") {
            return self.signed(depth + 1);
        }
        self.atom(depth)?;
        if self.take("**") {
            self.signed(depth + 1)?;
            self.push(Step::Power)?;
        }
        Ok(())
    }

    fn atom(&mut self, depth: usize) -> Result<(), String> {
        if self.take("(") {
            self.sum(depth + 1)?;
            return if self.take(")") { Ok(()) } else { Err(format!("expected `)` at `{}`", self.rest())) };
        }
        self.spaces();
        let rest = self.text.get(self.at..).unwrap_or("");
        let word = |is_part: fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let letters = rest.get(..word(|c| c.is_ascii_alphanumeric() || c == '_')).unwrap_or("");
        if letters.starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.at += letters.len();
            let lower = letters.to_ascii_lowercase();
            if let Some((_, function, count)) = FUNCTIONS.iter().find(|(name, ..)| *name == lower) {
                return self.call(*function, *count, depth);
            }
            let band = lower.strip_prefix('b').and_then(|number| number.parse::<u16>().ok());
            return match band {
                Some(band) if band >= 1 && band <= self.all => self.band(band),
                Some(band) => Err(format!("there is no band {band}: the file has {} (from 1)", self.all)),
                None => Err(format!("expected a band such as b1 or a function, got `{letters}`")),
            };
        }
        let mut len = word(|c| c.is_ascii_digit() || c == '.');
        // An exponent: 1e-3.
        let after = rest.get(len..).unwrap_or("");
        if let Some(digits) = after.strip_prefix(['e', 'E']) {
            let sign = usize::from(digits.starts_with(['+', '-']));
            let count = digits.get(sign..).unwrap_or("").bytes().take_while(u8::is_ascii_digit).count();
            len += if count > 0 { 1 + sign + count } else { 0 };
        }
        let value =
            rest.get(..len).and_then(|number| number.parse::<f64>().ok()).filter(|value| value.is_finite());
        let value = value.ok_or_else(|| format!("expected a number, a band or `(` at `{}`", self.rest()))?;
        self.at += len;
        self.push(Step::Number(value))
    }

    fn call(&mut self, function: Function, count: usize, depth: usize) -> Result<(), String> {
        for number in 0..count {
            let open = if number == 0 { "(" } else { "," };
            if !self.take(open) {
                return Err(format!("expected `{open}` at `{}`", self.rest()));
            }
            self.sum(depth + 1)?;
        }
        match self.take(")") {
            true => self.push(Step::Call(function)),
            false => Err(format!("expected `)` at `{}`", self.rest())),
        }
    }

    fn band(&mut self, band: u16) -> Result<(), String> {
        let at = match self.bands.iter().position(|own| *own == band) {
            Some(at) => at,
            None if self.bands.len() >= MOST_BANDS => {
                return Err(format!("expected at most {MOST_BANDS} bands"));
            }
            None => {
                self.bands.push(band);
                self.bands.len() - 1
            }
        };
        self.push(Step::Band(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, bands: &[f64]) -> f64 {
        let parsed = Expressions::parse(text, u16::try_from(bands.len()).unwrap()).unwrap();
        let band = |at: usize| bands[usize::from(parsed.bands[at]) - 1];
        parsed.value(0, band, &mut Vec::new())
    }

    #[test]
    fn expressions_follow_the_rules_of_python() {
        let bands = [2.0, 3.0, 10.0];
        for (text, expected) in [
            ("b1", 2.0),
            ("(b3-b1)/(b3+b1)", 8.0 / 12.0),
            ("b1+b2*b3", 32.0),
            ("-b1**2", -4.0),
            ("2**-1", 0.5),
            ("2**3**2", 512.0),
            ("b3/b1/5", 1.0),
            ("b3-b1-b2", 5.0),
            (" 1e2 * B1 + .5", 200.5),
            ("min(b1, b2) + max(1, -1) + sqrt(abs(-4)) + log(exp(1))", 6.0),
            ("--b1", 2.0),
        ] {
            assert!((value(text, &bands) - expected).abs() < 1e-12, "{text}");
        }
        assert!(value("min(b1, b2)", &[f64::NAN, 1.0]).is_nan());
        assert_eq!(Expressions::parse("b1;b2;", 2).unwrap().results(), 2);
    }

    #[test]
    fn anything_else_is_refused_and_nothing_is_deep() {
        let deep = format!("{}1{}", "(".repeat(400), ")".repeat(99));
        let signs = "-".repeat(499);
        let long = "1+".repeat(240) + "1";
        let many = (1..=17).map(|band| format!("b{band}")).collect::<Vec<_>>().join("+");
        for text in [
            "",
            ";",
            "b0",
            "b4",
            "b99999",
            "b1 b2",
            "1+",
            "(b1",
            "b1)",
            "import os",
            "b1.__class__",
            "1e999",
            "sqrt b1",
            "min(b1)",
            "b1;b2;b3;b1;b2",
            "1..2",
            "b1 // b2",
            "é",
            "b1\u{0}",
            &deep,
            &signs,
            &long,
            "eval(1)",
            "b",
        ] {
            assert!(Expressions::parse(text, 3).is_err(), "{text}");
        }
        assert!(Expressions::parse(&many, 20).is_err());
    }
}

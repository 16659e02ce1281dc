// Runs tests one after the other and prints a line for each: PASS, FAIL with its reason, or SKIP.

const found = [];

export function test(name, work) {
  found.push({ name, work });
}

export class Skip extends Error {}

export function equal(got, expected, what = "value") {
  const [a, b] = [JSON.stringify(got), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: expected ${b}, got ${a}`);
}

export function near(got, expected, tolerance, what = "value") {
  if (!(Math.abs(got - expected) <= tolerance)) throw new Error(`${what}: expected ${expected} ± ${tolerance}, got ${got}`);
}

export function ok(condition, what) {
  if (!condition) throw new Error(what);
}

/** Fails after two minutes: no test waits for ever. */
async function inTime(work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("not done after two minutes")), 120_000);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Runs all tests, or those whose names contain a word of `chosen`; the number of failures. */
export async function runAll(chosen = []) {
  const count = { passed: 0, failed: 0, skipped: 0 };
  for (const { name, work } of found) {
    if (chosen.length && !chosen.some((word) => name.includes(word))) continue;
    try {
      await inTime(work());
      count.passed += 1;
      console.log(`PASS ${name}`);
    } catch (error) {
      const reason = error.message.replaceAll("\n", " ");
      if (error instanceof Skip) {
        count.skipped += 1;
        console.log(`SKIP ${name}: ${reason}`);
      } else {
        count.failed += 1;
        console.log(`FAIL ${name}: ${reason}`);
      }
    }
  }
  console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
  return count.failed;
}

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parts } from './parts.mjs';

const killed = new Set(['Killed', 'Timeout']);
const left = new Set(['Survived', 'NoCoverage']);

/** Counts the results in a report of StrykerJS, and lists the survivors as `file:line original, replacement`. */
export function summarize(report) {
  const mutants = Object.entries(report.files).flatMap(([file, { mutants }]) =>
    mutants.map((mutant) => ({ ...mutant, file })),
  );
  const survivors = mutants.filter(({ status }) => left.has(status));
  const count = mutants.filter(({ status }) => killed.has(status)).length;
  return {
    date: new Date().toISOString().slice(0, 10),
    mutants: count + survivors.length,
    killed: count,
    survivors: survivors.map(nameOf),
  };
}

/** A mutant in one line. */
export function nameOf({ file, location, mutatorName, replacement = '' }) {
  const text = replacement.replace(/\s+/g, ' ');
  return `${file}:${location.start.line} ${mutatorName}: ${text.length > 80 ? `${text.slice(0, 80)}…` : text}`;
}

/** Stores the result of a part, and writes the page again. */
export function record(root, name, result) {
  const file = path.join(root, 'docs/internals/conformance/stryker.json');
  const results = { ...(existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}), [name]: result };
  const ordered = Object.fromEntries(
    Object.keys(parts).flatMap((part) => (results[part] ? [[part, results[part]]] : [])),
  );
  writeFileSync(file, `${JSON.stringify(ordered, null, 2)}\n`);
  writeFileSync(path.join(root, 'docs/internals/conformance/stryker.md'), page(ordered));
}

function page(results) {
  const rows = Object.keys(parts).map((name) => {
    const result = results[name];
    if (!result) return `| ${name} | not run | | | |`;
    const score = ((100 * result.killed) / result.mutants).toFixed(1);
    return `| ${name} | ${result.mutants} | ${result.killed} | ${score} % | ${result.date} |`;
  });
  return `# Mutation tests of code

StrykerJS alters operators, conditions, texts and blocks one at a time; a mutant is killed when a test fails or never ends.
This page is written by \`npm run stryker -- <part>\`, never edited by hand; survivors are listed in [stryker.json](stryker.json).
[0077](../decisions/0077-tests-fuzzing-mutants-conformance-rows-speed.md) explains what is not altered, and why.

| Part | Mutants | Killed | Score | Date |
|---|---|---|---|---|
${rows.join('\n')}
`;
}

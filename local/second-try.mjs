// Runs failed test files once more, without other load: on a busy machine a test sometimes fails because of other
// programs. A file that fails twice has failed; one that fails once is reported, so that it gets fixed.
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/** If more files than this fail, it is not chance: they are not run again. */
export const mostFiles = 3;

/**
 * The counts of a Jest report. A suite that could not be loaded has no tests, and a crash leaves no report: each counts
 * as one failure.
 */
export function countsOf(report, code) {
  if (!report) return { passed: 0, failed: 1, skipped: 0 };
  const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** The failed files of a report, if they are few enough to be chance; none for a run that broke in another way. */
export function worthASecondTry(report) {
  const files = (report?.testResults ?? []).filter(({ status }) => status === 'failed').map(({ name }) => name);
  return files.length <= mostFiles ? files : [];
}

/** The counts of both runs: for a file that ran again, the second result counts. */
export function together(first, second, secondCode) {
  const again = new Set(worthASecondTry(first));
  const once = first.testResults.filter(({ name }) => !again.has(name));
  const tests = once.flatMap(({ assertionResults }) => assertionResults);
  const of = (...ends) => tests.filter(({ status }) => ends.includes(status)).length;
  const last = countsOf(second, secondCode);
  return {
    passed: of('passed') + last.passed,
    failed: of('failed') + last.failed,
    skipped: of('pending', 'skipped', 'todo', 'disabled') + last.skipped,
  };
}

/** A line for each test that failed at first and passed in the second run. */
export function chances(first, second, root) {
  const passed = new Set(
    (second?.testResults ?? []).flatMap(({ name, assertionResults }) =>
      assertionResults.filter(({ status }) => status === 'passed').map(({ fullName }) => `${name} ${fullName}`),
    ),
  );
  const again = new Set(worthASecondTry(first));
  return first.testResults
    .filter(({ name }) => again.has(name))
    .flatMap(({ name, assertionResults }) =>
      assertionResults
        .filter(({ status, fullName }) => status === 'failed' && passed.has(`${name} ${fullName}`))
        .map(({ fullName }) => `failed once, passed by itself: ${path.relative(root, name)}: ${fullName}`),
    );
}

/** A line for each failed test, and for each file that could not be loaded, with the beginning of the message. */
export function failures(first, second, root) {
  const again = new Set(second ? worthASecondTry(first) : []);
  const once = (first?.testResults ?? []).filter(({ name }) => !again.has(name));
  return [...once, ...(second?.testResults ?? [])]
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, message, assertionResults }) => {
      const failed = assertionResults.filter(({ status }) => status === 'failed');
      const tests = failed.length > 0 ? failed : [{ fullName: 'could not be run', failureMessages: [message] }];
      return tests.map(
        ({ fullName, failureMessages }) =>
          `failed: ${path.relative(root, name)}: ${fullName}: ${inOneLine(failureMessages?.[0] ?? '')}`,
      );
    });
}

function inOneLine(message) {
  return stripVTControlCharacters(message).replace(/\s+/g, ' ').trim().slice(0, 400);
}

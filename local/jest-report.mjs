// Reads a report of Jest: its counts, and the failed tests.
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/**
 * The counts in a report of Jest. A suite that could not even be loaded has no tests to fail, and a crash leaves no
 * report: each is counted as one failure.
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

/** A line for each test that failed, and for each file that could not be loaded, with the beginning of its message. */
export function failures(report, root) {
  return (report?.testResults ?? [])
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

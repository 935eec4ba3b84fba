import { fileURLToPath } from 'node:url';

const { mutate, report, backup, concurrency } = JSON.parse(process.env.KEYSTEAD_STRYKER);

export default {
  plugins: ['runner.mjs', 'ignore.mjs', 'reporter.mjs'].map((file) => fileURLToPath(new URL(file, import.meta.url))),
  ignorers: ['error-texts'],
  testRunner: 'in-process',
  testRunnerNodeArgs: ['--conditions=source'],
  coverageAnalysis: 'perTest',
  // Code that runs only while a module is loaded cannot be mutated afterwards.
  ignoreStatic: true,
  disableTypeChecks: false,
  // Packages find each other by pnpm's links, which in a copy of the folder would lead back to this one.
  inPlace: true,
  tempDirName: backup,
  mutate,
  concurrency,
  // A slow run on a busy machine must not be mistaken for an endless loop.
  timeoutMS: 40_000,
  dryRunTimeoutMinutes: 60,
  reporters: ['survivors', 'progress-append-only', 'clear-text', 'json'],
  clearTextReporter: { allowColor: false, reportTests: false, allowEmojis: false },
  jsonReporter: { fileName: report },
  allowConsoleColors: false,
};

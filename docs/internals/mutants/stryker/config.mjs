import { fileURLToPath } from 'node:url';

const { mutate, report, backup, concurrency } = JSON.parse(process.env.KEYSTEAD_STRYKER);

export default {
  plugins: ['runner.mjs', 'ignore.mjs', 'reporter.mjs'].map((file) => fileURLToPath(new URL(file, import.meta.url))),
  ignorers: ['error-texts'],
  testRunner: 'in-process',
  testRunnerNodeArgs: ['--conditions=source'],
  coverageAnalysis: 'perTest',
  // What runs only while a module is loaded cannot be altered afterwards.
  ignoreStatic: true,
  disableTypeChecks: false,
  // Packages find each other by links of pnpm, which a copy of the folder would follow back here.
  inPlace: true,
  tempDirName: backup,
  mutate,
  concurrency,
  // A mutant that runs for ever must not be taken for one that a busy machine is slow with.
  timeoutMS: 40_000,
  dryRunTimeoutMinutes: 60,
  reporters: ['survivors', 'progress-append-only', 'clear-text', 'json'],
  clearTextReporter: { allowColor: false, reportTests: false, allowEmojis: false },
  jsonReporter: { fileName: report },
  allowConsoleColors: false,
};

import { coerce, gte } from 'semver';
import type { RunJob, ToolRunResult } from '../../resources/runs/runs/jobs/job';
import type { Binary } from './binaries';
import { type Executor, Failed, inSlot, type RunningJob } from './execute';
import { files, variableArguments } from './job-files';

/**
 * The first versions of Terraform with a command or an option; OpenTofu has no queries, and no option for the
 * parallelism of tests.
 */
const since = { query: '1.14.0', parallelism: '1.12.0' } as const;
const usualParallelism = 10;

const has = ({ product, version }: Binary, what: keyof typeof since): boolean =>
  product === 'Terraform' && gte(coerce(version) ?? '0.0.0', since[what]);

/** Tests a module, or runs a query. Failed tests are treated as finished; the log has the details. */
export async function executeToolRun(executor: Executor, running: RunningJob): Promise<ToolRunResult> {
  return inSlot(executor, running, async (work) => {
    const { job, log, inputs } = running;
    const { binary } = work;
    if (job.kind === 'query' && !has(binary, 'query')) {
      log.say(`${binary.product} v${binary.version}\n`);
      return refused(log, `${binary.product} v${binary.version} has no command query: Terraform has it since 1.14`);
    }
    await work.unpack(await inputs.configuration(), 'config');
    await work.prepare();
    await work.init(job.testing?.directory ?? undefined);
    const { parallelism } = job.testing ?? {};
    if (parallelism && parallelism !== usualParallelism && !has(binary, 'parallelism')) {
      log.say(
        `-parallelism=${parallelism} is ignored: ${binary.product} v${binary.version} has no such option for tests`,
      );
    }
    const { code } = await work.run(argumentsOf(job, binary, work.up));
    if (job.kind === 'query' && code !== 0) throw new Failed('the query failed');
    if (job.kind === 'test' && !log.tail.includes('"type":"test_summary"')) throw new Failed('the tests did not run');
    return { outcome: 'finished' };
  });
}

function refused(log: RunningJob['log'], why: string): ToolRunResult {
  log.say(`Error: ${why}`);
  return { outcome: 'errored', errorMessage: why };
}

function argumentsOf(job: RunJob, binary: Binary, up: string): string[] {
  const { filters = [], directory = null, verbose = false, parallelism = null } = job.testing ?? {};
  const common = ['-no-color', '-json', ...variableArguments(job, up)];
  if (job.kind === 'query') {
    return ['query', ...common, ...(job.generateConfig ? [`-generate-config-out=${files.generated}`] : [])];
  }
  return [
    ...['test', ...common],
    ...filters.map((filter) => `-filter=${filter}`),
    ...(directory === null ? [] : [`-test-directory=${directory}`]),
    ...(verbose ? ['-verbose'] : []),
    ...(parallelism !== null && has(binary, 'parallelism') ? [`-parallelism=${parallelism}`] : []),
  ];
}

import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { exactJson, parseExact } from '@keystead/envelope';
import {
  type JudgedPlan,
  type JudgingSet,
  type PolicyEngine,
  unjudged,
} from '../../resources/runs/policy-evaluations/perform';
import type { JudgingPolicy, PolicyOutcome, SetVerdict } from '../../resources/runs/runs/stages/policies';
import { runCommand, Stopping } from '../isolation/command';
import type { Isolation } from '../isolation/isolation';
import { type ScratchOptions, type Slot, takeSlot } from '../isolation/scratch';
import { masked } from './masked';
import type { OpaProgram } from './program';

/** The input of an evaluation. */
interface OpaParts {
  readonly programs: readonly OpaProgram[];
  readonly isolation: Isolation;
  readonly scratch: ScratchOptions;
}

const secondsOfCall = 20;
/** Additional time per call, for starting and printing. */
const graceSeconds = 10;
const tooLong = `The policies took longer than ${secondsOfCall} seconds`;
const secondsOfSet = 120;
const outputBytes = 16 * 1024 * 1024;
const mostMessages = 100;
const longestMessage = 1000;

/** Evaluates with the OPA binary, confined like the tool, without a network, and with limits of time and memory. */
export function opaEngine(parts: OpaParts): PolicyEngine {
  return {
    async judge(sets, plan) {
      if (sets.length === 0) return [];
      const slot = await takeSlot(parts.scratch, parts.isolation, `run-policies-${randomBytes(8).toString('hex')}`);
      try {
        await writeInput(slot, plan);
        const verdicts: SetVerdict[] = [];
        for (const [index, set] of sets.entries()) verdicts.push(await judgeBySet(parts, slot, set, `set-${index}`));
        return verdicts;
      } finally {
        await slot.release();
      }
    },
  };
}

/** The plan is streamed from the store to the disk, so that no process has all of it in memory. */
async function writeInput({ jobFolder }: Slot, { run, plan }: JudgedPlan): Promise<void> {
  const pieces = async function* () {
    yield `{"run":${JSON.stringify(run)},"plan":`;
    yield* plan as AsyncIterable<Buffer>;
    yield '}';
  };
  await pipeline(Readable.from(pieces()), createWriteStream(path.join(jobFolder.folder, 'input.json')));
}

async function judgeBySet(
  { programs, ...parts }: OpaParts,
  slot: Slot,
  set: JudgingSet,
  folder: string,
): Promise<SetVerdict> {
  const { id, toolVersion, disabledVersions, policies } = set;
  const program = programs.find(({ version }) =>
    toolVersion === null ? !disabledVersions.includes(version) : version === toolVersion,
  );
  const refused = (error: string): SetVerdict => ({ id, error, outcomes: unjudged(policies) });
  if (!program)
    return refused(
      `The set requires ${toolVersion === null ? 'a version of OPA that is not disabled' : `OPA ${toolVersion}`}, but the worker has ${programs.map(({ version }) => version).join(', ')}`,
    );
  await writeSet(slot, set, folder, program);
  const call = new Calls(parts, slot, folder, program);
  const all = await call.ask(policies.map(({ query }) => query));
  if ('values' in all)
    return { id, error: '', outcomes: policies.map((one, at) => outcomeOf(set, one, all.values[at])) };
  if (all.isOfSet) return refused(all.problem);
  // One of the policies cannot be evaluated. Find it, and get the results of the other policies.
  const outcomes: PolicyOutcome[] = [];
  for (const one of policies) {
    const answer = policies.length === 1 ? all : await call.ask([one.query]);
    outcomes.push(outcomeOf(set, one, 'values' in answer ? answer.values[0] : { problem: answer.problem }));
  }
  return { id, error: '', outcomes };
}

async function writeSet({ jobFolder }: Slot, set: JudgingSet, name: string, program: OpaProgram): Promise<void> {
  const folder = path.join(jobFolder.folder, name);
  const parameters = Object.fromEntries(set.parameters.map(({ key, value }) => [key, value]));
  const files = { ...set.files, 'parameters.json': JSON.stringify({ parameters }) };
  for (const [file, text] of Object.entries(files)) {
    const at = path.join(folder, 'data', file);
    if (!at.startsWith(`${folder}${path.sep}`)) throw new Error(`${file} is outside its policy set`);
    await mkdir(path.dirname(at), { recursive: true });
    await writeFile(at, text);
  }
  await writeFile(path.join(folder, 'capabilities.json'), program.capabilities);
}

/** The value of a query, or the reason why there is none. */
type QueryValue = { readonly value: unknown } | { readonly problem: string };
/** The values of all queries, or the reason why there are none: the policies cannot be parsed, or a query fails. */
type Answer = { readonly values: readonly QueryValue[] } | { readonly problem: string; readonly isOfSet: boolean };

interface Printed {
  readonly result?: readonly { readonly expressions: readonly { readonly value: unknown[][] }[] }[];
  readonly errors?: readonly {
    readonly code?: string;
    readonly message?: string;
    readonly location?: { readonly file?: string; readonly row?: number };
  }[];
}

/** The queries of one set. */
class Calls {
  private older = false;
  private readonly untilMs = performance.now() + secondsOfSet * 1000;

  constructor(
    private readonly parts: Omit<OpaParts, 'programs'>,
    private readonly slot: Slot,
    private readonly folder: string,
    private readonly program: OpaProgram,
  ) {}

  /** Policies that are not Rego version 1 are read as the older language. */
  async ask(queries: readonly string[]): Promise<Answer> {
    const answer = await this.call(queries);
    if (this.older || !('problem' in answer) || !answer.isOfSet) return answer;
    this.older = true;
    const again = await this.call(queries);
    if ('values' in again || !again.isOfSet) return again;
    this.older = false;
    return answer;
  }

  private async call(queries: readonly string[]): Promise<Answer> {
    if (performance.now() > this.untilMs) {
      return { problem: `The policies of the set took longer than ${secondsOfSet} seconds`, isOfSet: false };
    }
    const { isolation } = this.parts;
    const { jobFolder } = this.slot;
    // A rule without a value then gives an empty list instead of ending all evaluations.
    const query = `[${queries.map((one) => `[x | x := ${one.startsWith('data.') ? one : `data.${one}`}]`).join(', ')}]`;
    const argv = [
      ...[isolation.toolInside(this.program.file), 'eval', '--format=json', `--timeout=${secondsOfCall}s`],
      ...(this.older ? ['--v0-compatible'] : []),
      ...['--input=input.json', `--data=${this.folder}/data`, `--capabilities=${this.folder}/capabilities.json`, query],
    ];
    const stopping = new Stopping();
    const late = setTimeout(() => stopping.kill('timeout'), (secondsOfCall + graceSeconds) * 1000);
    const printed: Buffer[] = [];
    let size = 0;
    let output = '';
    try {
      const { code } = await runCommand(
        isolation.launch(jobFolder, this.program.file, { argv, cwd: '.', offline: true }),
        {
          outlets: {
            stdout: (bytes) => {
              size += bytes.length;
              if (size > outputBytes) stopping.kill('output');
              else printed.push(bytes);
            },
            stderr: (bytes) => {
              output = (output + bytes.toString('utf8')).slice(-2000);
            },
            started: (pid) => void this.slot.group(pid).catch(() => undefined),
          },
          stopping,
          endAll: isolation.endAll(jobFolder),
        },
      );
      if (stopping.reason === 'timeout') return { problem: tooLong, isOfSet: false };
      if (stopping.reason) return { problem: 'answered too much', isOfSet: false };
      return read(Buffer.concat(printed).toString('utf8'), code === 0 ? '' : output || `OPA ended with ${code}`);
    } finally {
      clearTimeout(late);
    }
  }
}

function read(text: string, errorOutput: string): Answer {
  let printed: Printed;
  try {
    printed = parseExact(text) as unknown as Printed;
  } catch {
    return { problem: errorOutput.slice(0, longestMessage) || 'OPA did not answer JSON', isOfSet: false };
  }
  const { errors = [], result } = printed;
  if (errors.length > 0) {
    const isOfSet = errors.some(({ code = '' }) => /^rego_(?:parse|compile|type|recursion|unsafe)/.test(code));
    const lines = errors.slice(0, 10).map(({ message = '', location }) => {
      const place = location?.file ? `${location.file.replace(/^.*?\/data\//, '')}:${location.row}: ` : '';
      return `${place}${message === 'context deadline exceeded' ? tooLong : message}`;
    });
    return { problem: lines.join('\n').slice(0, 4000), isOfSet };
  }
  const value = result?.[0]?.expressions[0]?.value;
  if (!value) return { problem: errorOutput || 'OPA answered nothing', isOfSet: false };
  return {
    values: value.map((one) =>
      one.length > 0 ? { value: one[0] } : { problem: 'The query has no value: does its rule exist?' },
    ),
  };
}

function outcomeOf({ parameters }: JudgingSet, policy: JudgingPolicy, answer: QueryValue | undefined): PolicyOutcome {
  const [outcome] = unjudged([policy]) as [PolicyOutcome];
  if (!answer || 'problem' in answer) return { ...outcome, output: [{ print: answer?.problem ?? '' }] };
  if (!Array.isArray(answer.value))
    return { ...outcome, output: [{ print: 'The query must return a list of failures' }] };
  const hidden = parameters.flatMap(({ sensitive, value }) => (sensitive ? value : []));
  const output = answer.value.slice(0, mostMessages).map((one) => {
    const print = typeof one === 'string' ? one : exactJson(one);
    return { print: masked(print, hidden).slice(0, longestMessage) };
  });
  return { ...outcome, status: output.length === 0 ? 'passed' : 'failed', output };
}

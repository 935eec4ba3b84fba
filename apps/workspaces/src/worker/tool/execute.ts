import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { exactJson } from '@keystead/envelope';
import { step } from '@keystead/tracing';
import type { ApplyResult, JobInputs, PlanResult, RunJob } from '../../resources/runs/runs/jobs/job';
import { type ArchiveLimits, BadArchive, unpack } from '../files/archive';
import { readInside, UnreadableFile } from '../files/read-inside';
import { type Ended, runCommand, type Stopping, type Stopwatch } from '../isolation/command';
import type { Command, Isolation } from '../isolation/isolation';
import { watchDisk, whatWasExceeded } from '../isolation/limits';
import { type ScratchOptions, type Slot, takeSlot } from '../isolation/scratch';
import { type Binary, chooseBinary, takesVariablesWithPlan } from './binaries';
import type { IdentityFiles } from './identity-files';
import {
  BadConfiguration,
  files,
  replaceModuleVersions,
  setStatesAside,
  stateFile,
  type ToolSettings,
  variableArguments,
  workingFolder,
  writeJobFiles,
} from './job-files';
import {
  countApplied,
  countChanges,
  healthOf,
  type PlanDocument,
  parsePlan,
  redactPlan,
  wantedSchemas,
} from './plan-summary';
import { type ProviderSchemas, type SchemaCache, SchemaReader } from './provider-schemas';
import { callsIn, requirementsOf } from './requirements';
import type { RunLog } from './run-log';

/** The dependencies of a worker that executes jobs. */
export interface Executor {
  /**
   * The worker's id, which is recorded with each apply, so that its state can be handed in if this worker is killed.
   */
  readonly workerId: string;
  /** Distinguishes the installations whose workers share a machine. */
  readonly installation: string;
  readonly isolation: Isolation;
  readonly scratch: ScratchOptions;
  readonly binaries: readonly Binary[];
  readonly settings: ToolSettings;
  /** Schemas that earlier plans needed. */
  readonly schemas: SchemaCache;
  readonly limits: {
    readonly archive: ArchiveLimits;
    readonly stateBytes: number;
    readonly planBytes: number;
    /** How much disk a run may use, how often this is measured, and how long a run that exceeds it may take to end. */
    readonly disk: { readonly bytes: number; readonly everyMs: number; readonly graceMs: number };
  };
  /** How often the state of a running apply is checked. */
  readonly stateEveryMs: number;
}

/** What a slot records of a job, in case its worker is killed. */
export interface Note {
  readonly job?: RunJob;
  readonly workerId?: string;
  readonly installation?: string;
  /** Set while the tool applies, because only the state may show what it has changed. */
  readonly applies?: boolean;
  /** The state that was current when the apply began. */
  readonly stateMd5?: string;
}

/** One job in progress. */
export interface RunningJob {
  readonly job: RunJob;
  readonly inputs: JobInputs;
  readonly identity?: IdentityFiles;
  readonly log: RunLog;
  readonly stopping: Stopping;
  /** Measures the time in which a command of the job runs. */
  readonly toolTime?: Stopwatch;
  /** Logs an error after which the job continues. */
  report?(error: unknown): void;
  /**
   * Receives what to do once the result is handed in. The folder of an apply stays until then, so that its state is found
   * if this worker is killed.
   */
  handedIn?(then: () => Promise<void>): void;
  /** Receives states that an apply saved before its end. */
  saveState?(state: Buffer): Promise<void>;
}

/** An error before or while the tool ran. Its message is for the person who started the run. */
export class Failed extends Error {}

const plain = ['-input=false', '-no-color'];
const form = (job: RunJob): string[] => (job.structuredOutput ? ['-json'] : []);
const jsonLimit = 512 * 1024 * 1024;
const lockFile = '.terraform.lock.hcl';
const lockLimit = 1024 * 1024;

/** Plans a run. Errors of the configuration or the tool are outcomes; only faults are thrown. */
export async function executePlan(executor: Executor, running: RunningJob): Promise<PlanResult> {
  return inSlot(executor, running, async (work) => {
    const { job, inputs } = running;
    await work.unpack(await inputs.configuration(), 'config');
    await work.prepare();
    await work.init();
    if (job.moduleVersions.length > 0) await work.tryModules();
    const { code } = await work.run(planArguments(job, work.up));
    if (code !== 0 && code !== 2) throw new Failed('the plan failed');
    const hasChanges = code === 2;
    const keeps = !job.planOnly && (hasChanges || job.allowEmptyApply);
    const shown = new Announcement<PlanDocument>();
    const [{ json, plan }, schemas, bundle] = await work.together(
      () =>
        work
          .output(['show', '-json', `${work.up}/${files.plan}`], jsonLimit)
          .then((json) => ({ json, plan: shown.tell(parsePlan(json)) }))
          .finally(() => shown.tell(undefined)),
      () => work.schemas(shown.value),
      () => (keeps ? work.bundle() : Promise.resolve(undefined)),
    );
    const redacted = Buffer.from(exactJson(redactPlan(plan, schemas)));
    const generated = job.generateConfig ? await work.read(path.join(work.folder, files.generated)) : undefined;
    return {
      outcome: 'planned',
      hasChanges,
      ...countChanges(plan),
      jsonPlan: json,
      redactedJsonPlan: redacted,
      planFile: bundle,
      generatedConfiguration: generated !== undefined,
      requirements: requirementsOf(plan, await work.installed()),
      ...(job.isAssessment ? { health: healthOf(plan) } : {}),
    };
  });
}

/** A value that other code waits for; undefined if it never comes. */
class Announcement<T> {
  private resolve: (value: T | undefined) => void = () => undefined;
  readonly value = new Promise<T | undefined>((resolve) => {
    this.resolve = resolve;
  });

  tell<V extends T | undefined>(value: V): V {
    this.resolve(value);
    return value;
  }
}

function planArguments(job: RunJob, up: string): string[] {
  return [
    ...['plan', ...plain, ...form(job), '-lock=false', '-detailed-exitcode'],
    `-out=${up}/${files.plan}`,
    ...variableArguments(job, up),
    ...(job.isDestroy ? ['-destroy'] : []),
    ...(job.refresh ? [] : ['-refresh=false']),
    ...(job.refreshOnly ? ['-refresh-only'] : []),
    ...job.targets.map((address) => `-target=${address}`),
    ...job.replaces.map((address) => `-replace=${address}`),
    ...(job.generateConfig ? [`-generate-config-out=${files.generated}`] : []),
  ];
}

/**
 * Applies the plan of a run and returns the state in every case: also after an apply that failed, was interrupted or
 * killed.
 */
export async function executeApply(executor: Executor, running: RunningJob): Promise<ApplyResult> {
  return inSlot(executor, running, async (work) => {
    const { log, inputs, stopping } = running;
    await work.unpack(await inputs.planFile(), '.');
    await work.prepare();
    await work.init();
    const watched = work.watchState(await work.noteApply());
    let problem: string | undefined;
    // From here on, an error must not prevent the state from being handed in.
    const noted = (error: unknown): undefined => {
      const isForUsers = error instanceof UnreadableFile;
      if (!isForUsers) running.report?.(error);
      problem ??= isForUsers ? error.message : 'the worker failed; see its log';
    };
    const ended = await work
      .run([
        'apply',
        ...plain,
        ...form(running.job),
        '-lock=false',
        ...(takesVariablesWithPlan(work.binary) ? variableArguments(running.job, work.up) : []),
        `${work.up}/${files.plan}`,
      ])
      .catch(noted)
      .finally(() => watched.stop());
    const state = (await work.state().catch(noted)) ?? watched.last();
    const erroredState = await work.read(path.join(work.folder, files.erroredState)).catch(noted);
    const states = { state, erroredState };
    if (ended?.code === 0 && problem === undefined) return { outcome: 'applied', ...states, ...countApplied(log.tail) };
    const outcome = stopping.reason?.endsWith('canceled') ? 'canceled' : 'errored';
    const why = stoppedBecause(stopping) ?? (await work.exceeded());
    if (why) log.conclude(why);
    else if (problem) log.say(`\nError: ${problem}`);
    return { outcome, ...states, errorMessage: why ?? problem ?? 'the apply failed' };
  });
}

function stoppedBecause({ reason }: Stopping): string | undefined {
  if (reason === 'timeout') return 'the run exceeded its time limit';
  if (reason === 'output') return 'the log exceeded its size limit';
  if (reason === 'disk') return 'the run exceeded its disk space limit';
  if (reason === 'shutdown') return 'the worker was stopped';
  if (reason === 'lost') return 'the worker lost its connection';
  return reason;
}

type JobFailure = { outcome: 'errored' | 'canceled'; errorMessage: string };

/**
 * Gives a job its folder, and converts errors for the user who started it into an outcome. The caller stores the end of
 * the log.
 */
export async function inSlot<T>(
  executor: Executor,
  running: RunningJob,
  run: (work: Work) => Promise<T>,
): Promise<T | JobFailure> {
  const { log, stopping } = running;
  const slot = await takeSlot(executor.scratch, executor.isolation, running.job.runId);
  const disk = watchDisk(path.dirname(slot.jobFolder.folder), { ...executor.limits.disk, stopping });
  const work = new Work(executor, running, slot);
  try {
    await work.note();
    return await run(work);
  } catch (error) {
    if (stopping.reason) {
      const why = stoppedBecause(stopping) ?? '';
      log.conclude(why);
      return { outcome: stopping.reason.endsWith('canceled') ? 'canceled' : 'errored', errorMessage: why };
    }
    const isExpected = [Failed, BadArchive, BadConfiguration, UnreadableFile].some((kind) => error instanceof kind);
    if (!isExpected) throw error;
    const { message } = error as Error;
    const why = error instanceof Failed ? await work.exceeded() : undefined;
    if (why) log.conclude(why);
    else if (!(error instanceof Failed)) log.say(`\nError: ${message}`);
    return { outcome: 'errored', errorMessage: why ?? message };
  } finally {
    disk.stop();
    const release = () => slot.release().catch((error) => running.report?.(error));
    if (running.handedIn && running.job.kind === 'apply') running.handedIn(release);
    else await release();
  }
}

/** The steps that plan and apply share, in one job's folder. */
class Work {
  /** Where the tool runs, relative to the job's folder. */
  folder: string = files.configuration;
  readonly binary: Binary;

  constructor(
    private readonly executor: Executor,
    private readonly running: RunningJob,
    private readonly slot: Slot,
  ) {
    this.binary = chooseBinary(executor.binaries, running.job.infraVersion);
  }

  /** The relative path from `folder` to the job's folder. */
  get up(): string {
    return path.relative(this.folder, '.');
  }

  async unpack(archive: Readable | undefined, into: '.' | 'config'): Promise<void> {
    if (!archive) throw new BadConfiguration('the configuration of the run no longer exists');
    const { folder, owner } = this.slot.jobFolder;
    const options = {
      limits: this.executor.limits.archive,
      owner,
      // After a plan, the tool's files may be links or pipes, so the apply does not use them.
      ...(into === '.' ? { only: [files.plan, files.configuration], lenient: true } : {}),
    };
    await step('unpack', undefined, () => unpack(archive, path.join(folder, into), options));
  }

  async prepare(): Promise<void> {
    const { jobFolder } = this.slot;
    const { isolation, settings } = this.executor;
    this.folder = await workingFolder(jobFolder, this.running.job.workingDirectory);
    const { product, version } = this.binary;
    await writeJobFiles({ jobFolder, isolation, settings, folder: this.folder, product, ...this.running });
    const aside = await setStatesAside(jobFolder, this.folder);
    this.running.log.say(
      `${product} v${version}\non ${process.platform}_${process.arch === 'x64' ? 'amd64' : process.arch}`,
    );
    if (aside.length > 0) {
      const where = path.relative(files.configuration, this.folder);
      const names = aside.map((name) => path.join(where, name)).join(', ');
      this.running.log.say(`Left out of this run, because the service keeps the state: ${names}`);
    }
  }

  /** The output of `init` is shown if it fails. Modules that test files use are fetched, too. */
  async init(testDirectory?: string): Promise<void> {
    this.running.log.say('Initializing plugins and modules...');
    const output: Buffer[] = [];
    const take = (bytes: Buffer) => void output.push(bytes);
    const tests = testDirectory === undefined ? [] : [`-test-directory=${testDirectory}`];
    const args = ['init', ...plain, '-reconfigure', ...tests];
    const { code } = await step('init', undefined, () => this.tool(args, take, take));
    if (code === 0) return;
    await this.running.log.write(Buffer.concat(output));
    throw new Failed('init failed');
  }

  /** Makes some module calls use the versions that the plan tests. */
  async tryModules(): Promise<void> {
    const { job, log } = this.running;
    const calls = callsIn((await this.installed()).modules);
    const changed = await replaceModuleVersions(this.slot.jobFolder, this.folder, calls, job.moduleVersions);
    const named = job.moduleVersions.map(({ source, version }) => `${source} ${version}`).join(', ');
    if (changed.length === 0) throw new BadConfiguration(`the configuration itself does not call ${named}`);
    log.say(`Planning with ${named} in ${changed.map((key) => `module.${key}`).join(', ')}`);
    await this.init();
  }

  /** The limit that made the run fail, if one did. */
  exceeded(): Promise<string | undefined> {
    const { limits, groups } = this.executor.isolation;
    return whatWasExceeded(limits, { groups, name: this.slot.name, tail: this.running.log.tail });
  }

  /** Runs the tool with its output in the log. */
  run(args: readonly string[]): Promise<Ended> {
    const write = (bytes: Buffer) => this.running.log.write(bytes);
    return step(args[0] ?? 'tool', undefined, () => this.tool(args, write, write));
  }

  /** Runs the tool for its output, without the user's environment. */
  async output(args: readonly string[], limit: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let size = 0;
    const output: Buffer[] = [];
    const { code } = await this.tool(
      args,
      (bytes) => {
        size += bytes.length;
        if (size <= limit) pieces.push(bytes);
      },
      (bytes) => void output.push(bytes),
      files.serviceEnvironment,
    );
    if (code === 0 && size <= limit) return Buffer.concat(pieces);
    await this.running.log.write(Buffer.concat(output));
    throw new Failed(`${args.slice(0, 2).join(' ')} ${size > limit ? 'printed too much' : 'failed'}`);
  }

  /** What the tool has written about the modules and providers that it installed. */
  async installed(): Promise<{ modules: Buffer | undefined; lock: Buffer | undefined }> {
    const file = (name: string) => this.read(path.join(this.folder, name), lockLimit).catch(() => undefined);
    return { modules: await file('.terraform/modules/modules.json'), lock: await file(lockFile) };
  }

  /**
   * The schemas of the resources that a plan changes. If this requires running the tool, the tool starts immediately,
   * and its output is held back until the plan shows which parts are needed.
   */
  async schemas(plan: Promise<PlanDocument | undefined>): Promise<ProviderSchemas> {
    const { schemas: cache } = this.executor;
    const { lock } = await this.installed();
    if (lock === undefined) {
      // Without a lock file no plugin was installed, unless the operator's settings name one.
      const document = await plan;
      const found = document && (await cache.findBuiltIn(this.binary, wantedSchemas(document)));
      if (found || !document) return found ?? none;
    }
    const { product, version, file } = this.binary;
    const sum = createHash('sha256')
      .update(lock ?? '')
      .digest('hex');
    const key = [this.running.job.workspaceId, product, version, file, sum].join(' ');
    if (cache.has(key)) {
      const document = await plan;
      const cached = document && cache.find(key, wantedSchemas(document));
      if (cached || !document) return cached ?? none;
    }
    let reader: SchemaReader | undefined;
    const output: Buffer[] = [];
    const { code } = await this.tool(
      ['providers', 'schema', '-json'],
      async (bytes) => {
        const document = await plan;
        if (document) reader ??= new SchemaReader(wantedSchemas(document));
        reader?.write(bytes);
      },
      (bytes) => void output.push(bytes),
      files.serviceEnvironment,
    );
    const document = await plan;
    if (code !== 0 || !document || !reader) {
      await this.running.log.write(Buffer.concat(output));
      throw new Failed('providers schema failed');
    }
    const schemas = reader.end();
    cache.keep(key, wantedSchemas(document), schemas);
    return schemas;
  }

  /**
   * The folder after the plan, including the plan, but without plugins, which are downloaded again and checked by their
   * checksums.
   */
  async bundle(): Promise<Buffer> {
    const argv = [
      'tar',
      '--create',
      '--hard-dereference',
      '--exclude=.terraform/providers',
      files.plan,
      files.configuration,
    ];
    const pieces: Buffer[] = [];
    let size = 0;
    const output: Buffer[] = [];
    const { code } = await this.command(
      { argv, cwd: '.', environment: files.serviceEnvironment },
      (bytes) => {
        size += bytes.length;
        if (size <= this.executor.limits.planBytes) pieces.push(bytes);
      },
      (bytes) => void output.push(bytes),
    );
    if (size > this.executor.limits.planBytes)
      throw new BadConfiguration('the folder is too large to be kept for the apply');
    if (code === null || code > 1)
      throw new BadConfiguration(`the folder cannot be kept for the apply: ${Buffer.concat(output)}`);
    return Buffer.concat(pieces);
  }

  /** Runs read-only commands, at the same time if the end of one command does not end the others. */
  async together<T extends readonly unknown[]>(...steps: { [I in keyof T]: () => Promise<T[I]> }): Promise<T> {
    const isAlone = this.executor.isolation.endAll(this.slot.jobFolder) !== undefined;
    const promises: Promise<unknown>[] = [];
    for (const step of steps) {
      const one = step();
      promises.push(one);
      one.catch(() => undefined);
      if (isAlone) await one;
    }
    await Promise.allSettled(promises);
    return Promise.all(promises) as Promise<unknown> as Promise<T>;
  }

  /** A file in the job's folder. */
  read(name: string, limit = this.executor.limits.stateBytes): Promise<Buffer | undefined> {
    const { folder, owner } = this.slot.jobFolder;
    return readInside(folder, name, { limit, uid: owner?.uid });
  }

  /** The current state; undefined while it does not exist or is only partly written. */
  async state(): Promise<Buffer | undefined> {
    const bytes = await this.read(stateFile(this.running.job));
    return bytes && isWhole(bytes) ? bytes : undefined;
  }

  /** Records that the tool applies. Returns the state before the apply. */
  async noteApply(): Promise<Buffer | undefined> {
    const state = await this.state();
    const stateMd5 = state && createHash('md5').update(state).digest('hex');
    await this.note({ applies: true, stateMd5 });
    return state;
  }

  /** Records the worker and the installation of this job. */
  note(more: Pick<Note, 'applies' | 'stateMd5'> = {}): Promise<void> {
    const { workerId, installation } = this.executor;
    const note: Note = { job: { ...this.running.job, variables: [] }, workerId, installation, ...more };
    return this.slot.note(note);
  }

  /**
   * Passes on the state that the apply has written so far, at intervals, so that little is lost if the worker is
   * killed.
   */
  watchState(begins: Buffer | undefined): { stop(): Promise<void>; last(): Buffer | undefined } {
    const { saveState } = this.running;
    let last = begins;
    let looking: Promise<void> = Promise.resolve();
    const look = async () => {
      const state = await this.state().catch(() => undefined);
      if (state === undefined || last?.equals(state)) return;
      last = state;
      await saveState?.(state).catch(() => undefined);
    };
    const timer = setInterval(() => {
      looking = looking.then(look);
    }, this.executor.stateEveryMs);
    return {
      async stop() {
        clearInterval(timer);
        await looking;
      },
      last: () => last,
    };
  }

  /** Runs the tool with the user's settings, or for a command of the service itself. */
  private tool(args: readonly string[], stdout: Outlet, stderr: Outlet, environment?: string): Promise<Ended> {
    const binary = this.executor.isolation.toolInside(this.binary.file);
    return this.command({ argv: [binary, ...args], cwd: this.folder, environment }, stdout, stderr);
  }

  private async command(command: Command, stdout: Outlet, stderr: Outlet): Promise<Ended> {
    const { isolation } = this.executor;
    const { argv } = command;
    const { jobFolder } = this.slot;
    if (this.running.stopping.reason) throw new Failed('stopped');
    const running = runCommand(isolation.launch(jobFolder, this.binary.file, command), {
      outlets: { stdout, stderr, started: (pid) => void this.slot.group(pid).catch(() => undefined) },
      stopping: this.running.stopping,
      endAll: isolation.endAll(jobFolder),
    });
    const ended = await (this.running.toolTime?.during(running) ?? running);
    if (ended.code !== 0 && this.running.stopping.reason && argv[1] !== 'apply') throw new Failed('stopped');
    return ended;
  }
}

/** Schemas for a plan that is not rendered. */
const none: ProviderSchemas = { format_version: '', provider_schemas: {} };

type Outlet = (bytes: Buffer) => Promise<void> | void;

function isWhole(state: Buffer): boolean {
  try {
    return typeof JSON.parse(state.toString('utf8')) === 'object';
  } catch {
    return false;
  }
}

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { parseExact } from '@keystead/envelope';
import { isRefusal } from '@keystead/refusal';
import type { z } from 'zod';
import * as wire from '../../resources/runs/agents/protocol';
import { fromWire, toWire } from '../../resources/runs/agents/wire';
import type {
  ApplyResult,
  Bytes,
  FileName,
  JobEnd,
  JobIdentities,
  JobInputs,
  JobLogin,
  PlanResult,
  RunJob,
  ToolRunResult,
} from '../../resources/runs/runs/jobs/job';
import type { JobSource } from '../job/job-source';
import { doubling, retry } from '../job/retry';
import { type AgentClient, type AgentRequest, type Got, isLost, isOver } from './client';

const waitSeconds = 20;
const pieceBytes = 512 * 1024;
const mostCuts = 5;

/** A registered agent. */
export interface RegisteredAgent {
  readonly id: string;
  readonly pool: string;
  readonly installation: string;
  /** Whether it also fetches commits. */
  readonly fetches: boolean;
  /** Whether the agent carries out requests to Git hosts. */
  readonly forwards: boolean;
  /** Whether it evaluates policies. */
  readonly judges: boolean;
}

/**
 * Registers this agent. Throws the service's refusal if the token is invalid, or if it does not support this agent's
 * protocol.
 */
export async function register(
  client: AgentClient,
  about: z.input<typeof wire.Registration>,
): Promise<RegisteredAgent> {
  return wire.Registered.parse(await client.json({ method: 'POST', path: '/agents', json: about }));
}

/**
 * Jobs of a pool, over HTTP. `again` registers the agent again if the service no longer knows it. `revoked` is called
 * when its token is no longer valid.
 */
export class HttpSource implements JobSource {
  /** The current jobs of this agent, each with its lease. */
  private readonly jobs = new Map<string, RunJob>();
  private readonly offsets = new Map<string, number>();
  /** Inputs and files of jobs, from the responses to their start. */
  private readonly startInputs = new Map<string, Pick<z.infer<typeof wire.StartAnswer>, 'inputs' | 'files'>>();
  /** How many of the parts that older services refuse are left out of results; the newest part comes first. */
  private omits = 0;
  /** Jobs without a role to log in with. */
  private readonly roleless = new Set<string>();
  private id: string;

  constructor(
    private readonly client: AgentClient,
    agent: RegisteredAgent,
    readonly leaseSeconds: number,
    private readonly again: () => Promise<RegisteredAgent>,
    private readonly revoked: () => void,
  ) {
    this.id = agent.id;
  }

  get workerId(): string {
    return this.id;
  }

  async claim(closing: AbortSignal): Promise<RunJob | undefined> {
    const json = { 'lease-seconds': this.leaseSeconds, 'wait-seconds': waitSeconds, holds: [...this.jobs.keys()] };
    const path = `/agents/${this.id}/jobs`;
    try {
      const answer = await this.client.json({ method: 'POST', path, json, signal: closing });
      if (answer === undefined) return undefined;
      const { traceparent, ...shown } = wire.JobAnswer.parse(answer);
      const job = {
        ...fromWire(shown),
        traceparent: traceparent ?? undefined,
        variables: [],
        configurationBlobId: '',
      } as never as RunJob;
      const ownJob = { ...job, agentId: this.id };
      this.jobs.set(job.id, ownJob);
      return ownJob;
    } catch (error) {
      if (isRefusal(error) && error.kind === 'unauthenticated') this.revoked();
      const isUnknown = isRefusal(error) && ['missing', 'transition', 'denied'].includes(error.kind);
      if (!isUnknown || this.jobs.size > 0) throw error;
      this.id = (await this.again()).id;
      return undefined;
    }
  }

  heartbeat(job: RunJob) {
    return this.beat(job, this.leaseSeconds);
  }

  /** Shortens the lease of a dead worker. The lease proves that the worker had the job. */
  async abandon(job: RunJob): Promise<void> {
    await this.beat(job, wire.shortestLease);
  }

  private async beat(job: RunJob, leaseSeconds: number) {
    try {
      const json = { 'lease-seconds': leaseSeconds };
      const answer = await this.ask(job, { method: 'POST', path: '/heartbeat', json, silenceMs: this.patienceMs });
      const { cancel } = wire.BeatAnswer.parse(answer);
      return { mine: cancel !== 'force-cancel', cancel };
    } catch (error) {
      if (!isOver(error)) throw error;
      return { mine: false, cancel: 'no' as const };
    }
  }

  async started(job: RunJob): Promise<boolean> {
    try {
      const answer = await this.persist(() => this.ask(job, { method: 'POST', path: '/start' }));
      const { 'log-offset': offset, ...inputs } = wire.StartAnswer.parse(answer);
      this.offsets.set(job.id, offset);
      this.startInputs.set(job.id, inputs);
      return true;
    } catch (error) {
      if (!isOver(error)) throw error;
      this.forget(job);
      return false;
    }
  }

  async inputs(job: RunJob): Promise<JobInputs> {
    const sent = { method: 'GET', path: '/inputs' } as const;
    const { inputs, files = {} } = this.startInputs.get(job.id) ?? {};
    this.startInputs.delete(job.id);
    const answer = inputs ?? wire.InputsAnswer.parse(await this.persist(() => this.ask(job, sent)));
    const file = (name: FileName) => async () => {
      const bytes = files[name];
      if (bytes === null) return undefined;
      if (bytes !== undefined) return Readable.from([Buffer.from(bytes, 'base64')], { objectMode: false });
      const open = () => this.persist(() => this.client.ask(this.of(job, { method: 'GET', path: `/${name}` })));
      const { status, body } = await open();
      if (status !== 204) return Readable.from(resumed(body, open), { objectMode: false });
      body.resume();
      return undefined;
    };
    const { variables, environment, 'ssh-key': sshKey, registry, 'logs-in': logsIn } = answer;
    if (!logsIn) this.roleless.add(job.id);
    return {
      variables,
      environment,
      sshKey: sshKey ?? undefined,
      registry: registry ?? undefined,
      state: file('state'),
      configuration: file('configuration'),
      planFile: file('plan'),
    };
  }

  async appendLog(job: RunJob, bytes: Uint8Array): Promise<void> {
    await this.sendLog(job, bytes);
    this.offsets.set(job.id, this.offsetOf(job) + bytes.length);
  }

  /** Sends the next bytes of a log. They may be sent again, because their position stays the same. */
  private async sendLog(job: RunJob, bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      const query = { offset: String(this.offsetOf(job) + at) };
      await this.ask(job, { method: 'PUT', path: '/log', query, bytes: bytes.subarray(at, at + pieceBytes) });
    }
  }

  private offsetOf({ id }: RunJob): number {
    return this.offsets.get(id) ?? 0;
  }

  async saveState(job: RunJob, state: Uint8Array): Promise<void> {
    const { serial = 0, lineage } = parseExact(Buffer.from(state).toString('utf8')) as {
      serial?: unknown;
      lineage?: string;
    };
    const md5 = createHash('md5').update(state).digest('hex');
    const query = { serial: String(serial), md5, ...(lineage === undefined ? {} : { lineage }) };
    await this.ask(job, { method: 'PUT', path: '/state', query, bytes: state });
  }

  async finishPlan(job: RunJob, result: PlanResult): Promise<boolean> {
    const { jsonPlan, redactedJsonPlan, planFile, health, requirements, log, ...summary } = result;
    return this.finish(
      job,
      { ...summary, ...(health ? { health: toWire(health) } : {}) },
      {
        'json-plan': jsonPlan,
        'redacted-json-plan': redactedJsonPlan,
        'plan-file': planFile,
      },
      log?.bytes,
      requirements,
    );
  }

  async finishApply(job: RunJob, result: ApplyResult): Promise<boolean> {
    const { state, erroredState, log, ...summary } = result;
    const lost = state && (await this.saveOrSay(job, state));
    const files = { 'errored-state': lost ? state : erroredState };
    return this.finish(job, { ...summary, stateLost: lost }, files, log?.bytes);
  }

  finishToolRun(job: RunJob, { log, ...summary }: ToolRunResult): Promise<boolean> {
    return this.finish(job, summary, {}, log?.bytes);
  }

  async release(job: RunJob): Promise<void> {
    this.forget(job);
    await this.ask(job, { method: 'POST', path: '/release' });
  }

  async retire(): Promise<void> {
    await this.client.json({ method: 'DELETE', path: `/agents/${this.id}`, silenceMs: 10_000 });
  }

  async login(job: RunJob): Promise<JobLogin | undefined> {
    if (this.roleless.has(job.id)) return undefined;
    const answer = await this.persist(() => this.ask(job, { method: 'POST', path: '/login' }));
    return answer === undefined ? undefined : (wire.LoginAnswer.parse(answer) as JobLogin);
  }

  async identities(job: RunJob): Promise<JobIdentities> {
    const answer = await this.persist(() => this.ask(job, { method: 'POST', path: '/identities' }));
    const identities = wire.IdentitiesAnswer.parse(answer);
    return 'withheld' in identities
      ? identities
      : { tokens: identities.tokens, secretsAddress: identities['secrets-address'] };
  }

  async keepToken(job: RunJob, token: { token: string; accessor: string; namespace: string }): Promise<string> {
    const sent = { method: 'POST', path: '/credentials', json: token } as const;
    return wire.KeptAnswer.parse(await this.persist(() => this.ask(job, sent))).id;
  }

  async forgetToken(job: RunJob, id: string): Promise<void> {
    await this.ask(job, { method: 'DELETE', path: `/credentials/${id}` });
  }

  /** The time after which an unanswered heartbeat is sent again: a part of the lease. */
  private get patienceMs(): number {
    return Math.max(2000, (this.leaseSeconds * 1000) / 4);
  }

  /** Retries while the job is held, for example while the service restarts. */
  private persist<T>(work: () => Promise<T>): Promise<T> {
    const untilMs = performance.now() + this.leaseSeconds * 1000;
    return retry(
      work,
      doubling(200, 2000, (pauseMs) => performance.now() + pauseMs > untilMs),
    );
  }

  private forget({ id }: RunJob): void {
    this.jobs.delete(id);
    this.offsets.delete(id);
    this.startInputs.delete(id);
    this.roleless.delete(id);
  }

  private of(job: RunJob, sent: AgentRequest): AgentRequest {
    const { agentId = this.id, lease = '' } = job;
    const path = `/agents/${agentId}/jobs/${job.id}${sent.path}`;
    return { ...sent, path, headers: { ...sent.headers, [wire.leaseHeader]: lease } };
  }

  private ask(job: RunJob, sent: AgentRequest): Promise<unknown> {
    return this.client.json(this.of(job, sent));
  }

  private async finish(
    job: RunJob,
    { errorMessage, ...rest }: Pick<JobEnd, 'errorMessage'> & { readonly stateLost?: string },
    files: Partial<Record<wire.UploadName, Bytes | undefined>>,
    log: Uint8Array = Buffer.alloc(0),
    requirements?: PlanResult['requirements'],
  ): Promise<boolean> {
    const summary = { ...rest, errorMessage: errorMessage && shortened(errorMessage) };
    try {
      for (;;) {
        const takes = takenAfter(this.omits);
        const newer = takes.more && requirements && { requirements };
        const refused = await this.report(job, { ...summary, ...newer }, files, log, takes).catch((error) => {
          if (!takes.more || !isRefusal(error) || error.kind !== 'invalid') throw error;
          return true;
        });
        if (!refused) break;
        // Another result may have been refused at the same time.
        this.omits = Math.max(this.omits, takes.log ? 1 : 2);
      }
    } catch (error) {
      if (!isLost(error)) throw error;
      this.forget(job);
      return false;
    }
    this.forget(job);
    return true;
  }

  /**
   * Sends a result, with small files and the end of the log in it if the service accepts them; otherwise they are sent
   * first.
   */
  private async report(
    job: RunJob,
    summary: object,
    files: Partial<Record<wire.UploadName, Bytes | undefined>>,
    log: Uint8Array,
    takes: Taken,
  ): Promise<void> {
    const uploads: Partial<Record<wire.UploadName, string>> = {};
    const small: Partial<Record<wire.UploadName, string>> = {};
    const upload = async (name: wire.UploadName) => {
      const bytes = files[name];
      if (bytes === undefined || 'blobId' in bytes) return;
      if (takes.more && bytes instanceof Uint8Array && bytes.length <= wire.inlineBytes) {
        small[name] = Buffer.from(bytes).toString('base64');
        return;
      }
      const source = bytes instanceof Uint8Array ? bytes : Readable.from(bytes);
      const sent = { method: 'PUT', path: `/uploads/${name}`, bytes: source, silenceMs: 300_000 } as const;
      uploads[name] = wire.UploadAnswer.parse(await this.ask(job, sent)).upload;
    };
    await Promise.all(wire.uploadNames.map(upload));
    const isLogInside = takes.log && log.length > 0 && log.length <= wire.inlineBytes;
    if (!isLogInside) {
      await this.sendLog(job, log).catch((error) => {
        // The answer to the result shows whether this agent still has the job. A result is worth more than its log.
        if (!isRefusal(error)) throw error;
      });
    }
    const json = {
      ...toWire(summary),
      uploads,
      ...(Object.keys(small).length > 0 && { files: small }),
      ...(isLogInside && { log: { offset: this.offsetOf(job), bytes: Buffer.from(log).toString('base64') } }),
    };
    await this.ask(job, { method: 'POST', path: '/finish', json });
  }

  /** Uploads the state of an apply; if it is refused, returns the reason. */
  private async saveOrSay(job: RunJob, state: Uint8Array): Promise<string | undefined> {
    try {
      await this.saveState(job, state);
      return undefined;
    } catch (error) {
      // An agent that is no longer registered could not upload the state, so the file stays in place.
      const isKept = isLost(error) || !isOver(error);
      if (!isKept || !(isRefusal(error) || error instanceof SyntaxError)) throw error;
      return `The state after the apply could not be saved: ${error.message || 'its workspace no longer exists'}`;
    }
  }
}

const shortened = (reason: string): string =>
  reason.length > wire.longestReason ? `${reason.slice(0, wire.longestReason - 1)}…` : reason;

/** The parts of a result that a service accepts. */
interface Taken {
  /** Small files, and the list of what `init` installed. */
  readonly more: boolean;
  /** The end of the log. */
  readonly log: boolean;
}

const takenAfter = (omits: number): Taken => ({ log: omits < 1, more: omits < 2 });

/** A download that resumes after an interruption: the files of a job do not change. */
async function* resumed(first: Readable, open: () => Promise<Got>): AsyncGenerator<Buffer> {
  let body = first;
  let received = 0;
  for (let cuts = 0; ; ) {
    let skipped = 0;
    try {
      for await (const piece of body) {
        const bytes = piece as Buffer;
        const skip = Math.min(bytes.length, received - skipped);
        skipped += skip;
        if (skip === bytes.length) continue;
        received += bytes.length - skip;
        skipped = received;
        yield bytes.subarray(skip);
      }
      return;
    } catch (error) {
      if (isRefusal(error) || ++cuts > mostCuts) throw error;
      ({ body } = await open());
    }
  }
}

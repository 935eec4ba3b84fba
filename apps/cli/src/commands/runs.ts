import { setTimeout as sleep } from 'node:timers/promises';
import { parseExact } from '@keystead/envelope';
import type { CommandSpec } from '../command';
import type { Context } from '../context';
import type { Remote } from '../migration/remote';
import { type RemoteResource, relation } from '../migration/resource';
import { exitCodes, Problem } from '../problem';
import { archiveAt } from '../workspaces/archive';
import { LogText } from '../workspaces/log-text';
import { planText, type RedactedPlan } from '../workspaces/plan-text';
import { attributesOf, findService, type ServiceFlags, workspaceFlags, workspaceOf } from '../workspaces/service';

interface RunFlags extends ServiceFlags {
  message?: string;
  configuration?: string;
  planOnly?: boolean;
  destroy?: boolean;
  refreshOnly?: boolean;
  autoApply?: boolean;
  target?: string[];
  replaceAddress?: string[];
  follow?: boolean;
  comment?: string;
  force?: boolean;
  apply?: boolean;
}

const one = { '<run>': 'the run id, run-…' } as const;
const comment = { '--comment <text>': 'a comment' } as const;
const columns = ['status', 'status-reason', 'message', 'created-at', 'source', 'plan-only', 'is-destroy', 'auto-apply'];
/** Statuses in which a run no longer changes by itself. */
const ended =
  /^(planned_and_finished|planned_and_saved|applied|errored|discarded|canceled|force_canceled|policy_soft_failed)$/;
const waiting = /^(planned|cost_estimated|policy_checked|policy_override|post_plan_completed)$/;
const failed = /^(errored|canceled|force_canceled)$/;
const configurationHelp = 'the configuration to work on: its folder, without .git and .terraform, or a gzip tar';
/** Statuses of a plan or an apply that has not ended. */
const underWay = /^(pending|managed_queued|queued|running)$/;
const WINDOW = 65_536;

/** What can be done with the log and the results of a plan or an apply, in the self-hosted edition. */
const dataVerbs = {
  hide: {
    action: 'soft-delete',
    help: 'Soft-delete the log and results of a run. They are removed after seven days unless restored.',
    outcome: 'hidden',
  },
  restore: { action: 'restore', help: 'Restore the soft-deleted log and results of a run.', outcome: 'restored' },
  purge: {
    action: 'permanently-delete',
    help: 'Remove the soft-deleted log and results of a run permanently.',
    outcome: 'deleted',
  },
} as const;

/** `run …`: plans and applies. */
export const runCommands: readonly CommandSpec[] = [
  {
    name: 'run create',
    help: 'Start a run with the newest configuration of a workspace, or with one that you upload.',
    flags: {
      ...workspaceFlags,
      '--message <text>': 'why',
      '--configuration <path>': configurationHelp,
      '--plan-only': 'plan and change nothing',
      '--destroy': 'plan to destroy everything',
      '--refresh-only': 'refresh the state and change nothing else',
      '--auto-apply': 'apply the plan without asking',
      '--target <address>': { help: 'target only this resource', repeatable: true },
      '--replace-address <address>': { help: 'replace this resource', repeatable: true },
      '--follow': 'print the logs until the run ends or waits for confirmation',
    },
    args: { '[configuration]': configurationHelp },
    examples: ['run create -organization=harbour -workspace=web -follow .', 'run create -plan-only'],
    async run(context, flags: RunFlags, argument?: string) {
      const service = findService(context);
      if (argument !== undefined && flags.configuration !== undefined)
        throw new Problem('two configurations are given: by --configuration, and without a name');
      const workspace = await workspaceOf(context, service, flags);
      const files = argument ?? flags.configuration;
      const configuration = files && (await upload(service, workspace, files));
      const found = await service.create('runs', {
        type: 'runs',
        attributes: {
          message: flags.message,
          'plan-only': flags.planOnly,
          'is-destroy': flags.destroy,
          'refresh-only': flags.refreshOnly,
          'auto-apply': flags.autoApply,
          'target-addrs': flags.target,
          'replace-addrs': flags.replaceAddress,
        },
        relationships: {
          workspace: { data: { type: 'workspaces', id: workspace.id } },
          ...(configuration
            ? { 'configuration-version': { data: { type: 'configuration-versions', id: configuration } } }
            : {}),
        },
      });
      if (flags.follow) {
        context.output.note(`run ${found.id}`);
        await follow(context, service, found.id);
      } else {
        context.output.show(found, { id: found.id, ...attributesOf(found, columns) });
      }
    },
  },
  {
    name: 'run list',
    help: 'List the runs of a workspace, newest first.',
    flags: workspaceFlags,
    examples: ['run list -organization=harbour -workspace=web'],
    async run(context, flags: RunFlags) {
      const service = findService(context);
      const { id } = await workspaceOf(context, service, flags);
      const found = await service.list(`workspaces/${id}/runs`);
      const rows = found.map(({ id: run, attributes = {} }) => [
        run,
        attributes.status,
        attributes['created-at'],
        attributes.message,
      ]);
      context.output.rows(found, ['id', 'status', 'created', 'message'], rows);
    },
  },
  {
    name: 'run show',
    help: 'Show a run, or the newest one of a workspace.',
    args: { '[run]': one['<run>'] },
    flags: workspaceFlags,
    examples: ['run show run-6fJqZ1aTn8bC2d3E', 'run show -organization=harbour -workspace=web'],
    async run(context, flags: RunFlags, id?: string) {
      const service = findService(context);
      const found = id === undefined ? await newestRun(context, service, flags) : await runOf(service, id);
      if (id !== undefined && flags.workspace !== undefined) await refuseOther(context, service, flags, found);
      context.output.show(found, { id: found.id, ...attributesOf(found, columns) });
    },
  },
  {
    name: 'run logs',
    help: 'Print the plan and apply logs of a run. With --format json, print the tool’s original output.',
    args: one,
    flags: { '--follow': 'follow until the run ends or waits for confirmation; exit code 2 when it failed' },
    examples: ['run logs run-6fJqZ1aTn8bC2d3E', 'run logs -follow run-6fJqZ1aTn8bC2d3E'],
    async run(context, flags: RunFlags, id: string) {
      const service = findService(context);
      if (flags.follow) return follow(context, service, id);
      const log = new Log(context, service, await runOf(service, id));
      await log.print();
    },
  },
  ...(['apply', 'discard'] as const).map(
    (verb): CommandSpec => ({
      name: `run ${verb}`,
      help: verb === 'apply' ? 'Confirm the plan of a run.' : 'Discard the plan of a run.',
      args: one,
      flags: { ...comment, ...(verb === 'apply' ? { '--follow': 'print the log until the run ends' } : {}) },
      examples: [`run ${verb} -comment=reviewed run-6fJqZ1aTn8bC2d3E`],
      async run(context, flags: RunFlags, id: string) {
        const service = findService(context);
        await service.act(
          `runs/${encodeURIComponent(id)}/actions/${verb}`,
          flags.comment ? { comment: flags.comment } : {},
        );
        context.output.note(`${verb === 'apply' ? 'confirmed' : 'discarded'}: ${id}`);
        if (flags.follow) await follow(context, service, id);
      },
    }),
  ),
  {
    name: 'run cancel',
    help: 'Interrupt a run.',
    args: one,
    flags: {
      ...comment,
      '--force': { help: 'force-cancel a run that has not stopped one minute after it was canceled', also: ['--f'] },
    },
    examples: ['run cancel run-6fJqZ1aTn8bC2d3E'],
    async run(context, flags: RunFlags, id: string) {
      const verb = flags.force ? 'force-cancel' : 'cancel';
      const body = flags.comment ? { comment: flags.comment } : {};
      await findService(context).act(`runs/${encodeURIComponent(id)}/actions/${verb}`, body);
      context.output.note(`canceled: ${id}`);
    },
  },
  ...Object.entries(dataVerbs).map(
    ([verb, { action, help, outcome }]): CommandSpec => ({
      name: `run ${verb}`,
      help,
      args: one,
      flags: { '--apply': 'of its apply, not of its plan' },
      examples: [`run ${verb} run-6fJqZ1aTn8bC2d3E`],
      async run(context, flags: RunFlags, id: string) {
        const service = findService(context);
        const [path, name] = flags.apply ? ['applies', 'apply'] : ['plans', 'plan'];
        const phase = relation(await runOf(service, id), name);
        await service.act(`${path}/${phase}/actions/${action}-backing-data`);
        context.output.note(`${outcome}: the ${name} of ${id}`);
      },
    }),
  ),
];

async function newestRun(context: Context, service: Remote, flags: RunFlags): Promise<RemoteResource> {
  const workspace = await workspaceOf(context, service, flags);
  const [newest] = await service.list(`workspaces/${workspace.id}/runs`);
  if (!newest) throw new Problem('the workspace has no run', exitCodes.refused);
  return newest;
}

/** Refuses a run that does not belong to the workspace in the flags. */
async function refuseOther(context: Context, service: Remote, flags: RunFlags, run: RemoteResource): Promise<void> {
  const { id } = await workspaceOf(context, service, flags);
  if (relation(run, 'workspace') !== id)
    throw new Problem(`${run.id} is not a run of the workspace ${flags.workspace}`, exitCodes.refused);
}

async function runOf(service: Remote, id: string): Promise<RemoteResource> {
  return service.get(`runs/${encodeURIComponent(id)}`);
}

async function upload(service: Remote, { id }: RemoteResource, file: string): Promise<string> {
  const bytes = await archiveAt(file);
  const found = await service.create(`workspaces/${id}/configuration-versions`, {
    type: 'configuration-versions',
    attributes: { 'auto-queue-runs': false },
  });
  const link = found?.attributes?.['upload-url'];
  if (typeof link !== 'string') throw new Problem('the response contains no upload link', exitCodes.refused);
  await service.upload(link, bytes);
  return found.id;
}

/** Waits until a run has ended or waits for a decision. `look` returns for each reading whether anything is new. */
export async function whenEnded(
  service: Remote,
  id: string,
  look: (run: RemoteResource) => Promise<boolean> = async () => false,
): Promise<RemoteResource> {
  for (let waitMs = 100; ; waitMs = Math.min(waitMs * 2, 2000)) {
    const run = await runOf(service, id);
    if (await look(run)) waitMs = 100;
    const status = String(run.attributes?.status);
    if (ended.test(status) || (waiting.test(status) && !run.attributes?.['auto-apply'])) return run;
    await sleep(waitMs);
  }
}

/** Prints the run's progress until it has ended, or waits for a decision. */
async function follow(context: Context, service: Remote, id: string): Promise<void> {
  let log: Log | undefined;
  const { attributes } = await whenEnded(service, id, (run) => {
    log ??= new Log(context, service, run);
    return log.print();
  });
  const status = String(attributes?.status);
  const next = waiting.test(status) ? `; keystead run apply ${id} confirms it` : '';
  context.output.note(`${id}: ${status}${next}`);
  if (failed.test(status)) context.exitWith(exitCodes.refused);
}

interface LoggedPhase {
  readonly path: string;
  readonly text: LogText;
  offset: number;
  isWhole: boolean;
  /** True if no more text will follow: neither log lines nor the plan that is printed after its log. */
  isDone: boolean;
}

/** The logs of a run, and how much of them is printed. */
class Log {
  private readonly phases: readonly LoggedPhase[];

  constructor(
    private readonly context: Context,
    private readonly service: Remote,
    run: RemoteResource,
  ) {
    this.phases = [
      ['plans', relation(run, 'plan')],
      ['applies', relation(run, 'apply')],
    ].flatMap(([type, id]) =>
      id ? [{ path: `${type}/${id}`, text: new LogText(this.isRaw), offset: 0, isWhole: false, isDone: false }] : [],
    );
  }

  /** Prints new lines. Returns whether there were any. */
  async print(): Promise<boolean> {
    let printed = false;
    for (const phase of this.phases.filter(({ isDone }) => !isDone)) {
      const { attributes } = await this.service.get(phase.path);
      const link = attributes?.['log-read-url'];
      if (typeof link !== 'string') continue;
      if (!phase.isWhole) printed = (await this.printNew(phase, link)) || printed;
      phase.isDone = phase.isWhole && !underWay.test(String(attributes?.status));
      if (phase.isDone) this.write(await this.planOf(phase));
    }
    return printed;
  }

  private async printNew(phase: LoggedPhase, link: string): Promise<boolean> {
    const before = phase.offset;
    while (!phase.isWhole) {
      const url = `${link}${link.includes('?') ? '&' : '?'}limit=${WINDOW}&offset=${phase.offset}`;
      const bytes = await this.service.download(url);
      if (!bytes || bytes.length === 0) break;
      phase.offset += bytes.length;
      phase.isWhole = bytes.at(-1) === 3;
      this.write(phase.text.take(bytes));
      if (phase.isWhole) this.write(phase.text.end());
    }
    return phase.offset > before;
  }

  /**
   * Prints the plan after the log of its phase. If the plan cannot be read, prints the messages in the log about it.
   */
  private async planOf({ path, text }: LoggedPhase): Promise<string> {
    const messages = text.takePlanned();
    if (messages === '' || !path.startsWith('plans/')) return '';
    const plan = await this.service.download(`/api/v2/${path}/json-output-redacted`);
    return plan && plan.length > 0 ? `${planText(parseExact(plan.toString()) as RedactedPlan)}\n` : messages;
  }

  private get isRaw(): boolean {
    return this.context.settings.format !== 'table';
  }

  private write(text: string): void {
    if (text) this.context.output.piece(text);
  }
}

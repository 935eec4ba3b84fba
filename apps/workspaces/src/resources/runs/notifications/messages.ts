import { createHmac } from 'node:crypto';
import { headlineOf, workspaceHeadlineOf } from '../runs/notification-triggers';

/** The data of a notification about a workspace. */
export interface WorkspaceFacts {
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly organizationName: string;
  /** The page that shows it. */
  readonly url: string;
}

/** The data of a notification about a run. */
export interface RunFacts extends WorkspaceFacts {
  readonly id: string;
  readonly message: string | null;
  readonly createdAt: Date;
  readonly createdBy: string | null;
}

/** The event, of a run or of a workspace. A test has neither. */
export interface Told {
  readonly configurationId: string;
  readonly configurationUrl?: string;
  readonly name: string;
  readonly trigger: string;
  readonly status: string | null;
  readonly at: Date;
  readonly by: string | null;
  readonly run?: RunFacts;
  readonly workspace?: WorkspaceFacts;
  /** More details about a workspace, under their names in bodies. */
  readonly details?: Readonly<Record<string, unknown>>;
}

function titleOf({ run, name, status, trigger }: Told): string {
  const about = workspaceHeadlineOf(trigger);
  if (about !== undefined) return status === null ? about : `${about}: ${headlineOf(status)}`;
  return run && status !== null ? headlineOf(status) : `Verification of ${name}`;
}

/** The data about a workspace in the second shape of bodies. */
function workspaceBody(told: Told) {
  const { run, status } = told;
  const of = run ?? told.workspace;
  return {
    payload_version: '2',
    notification_configuration_id: told.configurationId,
    notification_configuration_url: told.configurationUrl ?? null,
    trigger_scope: told.trigger.split(':', 1)[0],
    trigger: told.trigger,
    message: titleOf(told),
    details: {
      ...(run ? { run_id: run.id, run_url: run.url, run_message: run.message, run_status: status } : {}),
      ...told.details,
      workspace_id: of?.workspaceId ?? null,
      workspace_name: of?.workspaceName ?? null,
      organization_name: of?.organizationName ?? null,
    },
  };
}

/** The body for generic destinations. For runs it has the first shape, which always has the same members. */
export function genericBody(told: Told) {
  if (workspaceHeadlineOf(told.trigger) !== undefined) return workspaceBody(told);
  const { run } = told;
  return {
    payload_version: 1,
    notification_configuration_id: told.configurationId,
    run_url: run?.url ?? null,
    run_id: run?.id ?? null,
    run_message: run?.message ?? null,
    run_created_at: run?.createdAt.toISOString() ?? null,
    run_created_by: run?.createdBy ?? null,
    workspace_id: run?.workspaceId ?? null,
    workspace_name: run?.workspaceName ?? null,
    organization_name: run?.organizationName ?? null,
    notifications: [
      {
        message: titleOf(told),
        trigger: told.trigger,
        run_status: told.status,
        run_updated_at: run ? told.at.toISOString() : null,
        run_updated_by: told.by,
      },
    ],
  };
}

/** HMAC-SHA512 of a body, in hex: the value of `X-TFE-Notification-Signature`. */
export const signatureOf = (token: string, body: unknown): string =>
  createHmac('sha512', token).update(JSON.stringify(body)).digest('hex');

/** Slack's markup has three special characters. */
const slackText = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const inOneLine = (text: string) => text.replace(/\s+/g, ' ').trim().slice(0, 300);

const factNames: readonly (readonly [string, string])[] = [
  ['auto_destroy_at', 'Destroyed at'],
  ['error', 'Not done'],
  ['change_request_subject', 'Subject'],
  ['change_request_message', 'Message'],
];

/** The lines below the headline, in this order. */
function factsOf({ run, details = {}, by }: Told): readonly (readonly [title: string, value: string])[] {
  const fact = (title: string, value: unknown) =>
    value === null || value === undefined ? [] : ([[title, inOneLine(String(value))]] as const);
  return [
    ...fact('Run', run?.id),
    ...fact('Message', run?.message),
    ...factNames.flatMap(([name, title]) => fact(title, details[name])),
    ...fact('By', by),
  ];
}

/** A message of Slack's incoming webhooks. */
export function slackBody(told: Told) {
  const of = told.run ?? told.workspace;
  const title = slackText(titleOf(told));
  if (!of) return { text: title };
  const link = `<${of.url}|${slackText(`${of.organizationName}/${of.workspaceName}`)}>`;
  const detail = factsOf(told)
    .flatMap(([name, value]) =>
      name === 'Run' ? [] : name === 'Message' ? [value] : [`${name.toLowerCase()} ${value}`],
    )
    .join(' · ');
  const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text } });
  return {
    text: `${title}: ${slackText(`${of.organizationName}/${of.workspaceName}`)}`,
    blocks: [section(`*${title}*\n${link}`), ...(detail ? [section(slackText(detail))] : [])],
  };
}

/** A message with an adaptive card, for the webhooks of Microsoft Teams. */
export function teamsBody(told: Told) {
  const of = told.run ?? told.workspace;
  const block = (text: string, more = {}) => ({ type: 'TextBlock', text, wrap: true, ...more });
  const facts = of
    ? ([['Organization', of.organizationName], ['Workspace', of.workspaceName], ...factsOf(told)] as const).map(
        ([title, value]) => ({ title, value }),
      )
    : [];
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      block(titleOf(told), { weight: 'Bolder', size: 'Medium' }),
      ...(facts.length ? [{ type: 'FactSet', facts }] : []),
    ],
    actions: of
      ? [{ type: 'Action.OpenUrl', title: told.run ? 'Open the run' : 'Open the workspace', url: of.url }]
      : [],
  };
  return { type: 'message', attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content }] };
}

/** Subject and text of a mail. A name cannot start another header. */
export function mailOf(told: Told): { subject: string; text: string } {
  const of = told.run ?? told.workspace;
  if (!of) return { subject: inOneLine(titleOf(told)), text: `${titleOf(told)}\n` };
  const lines = [
    titleOf(told),
    '',
    `Organization  ${of.organizationName}`,
    `Workspace     ${of.workspaceName}`,
    ...factsOf(told).map(([title, value]) => `${title.padEnd(13)} ${value}`),
    '',
    of.url,
    '',
  ];
  return {
    subject: inOneLine(`${titleOf(told)}: ${of.organizationName}/${of.workspaceName}`),
    text: lines.join('\n'),
  };
}

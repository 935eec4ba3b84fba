import { createHmac } from 'node:crypto';
import { headlineOf, workspaceHeadlineOf } from '../runs/note-notifications';

/** The data of a notification about a workspace. */
export interface WorkspaceFacts {
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly organizationName: string;
  /** The page that shows the workspace. */
  readonly url: string;
}

/** The data of a notification about a run. */
export interface RunFacts extends WorkspaceFacts {
  readonly id: string;
  readonly message: string | null;
  readonly createdAt: Date;
  readonly createdBy: string | null;
}

/** An event of a run or of a workspace. A test has neither a run nor a workspace. */
export interface NotificationEvent {
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

function titleOf({ run, name, status, trigger }: NotificationEvent): string {
  const about = workspaceHeadlineOf(trigger);
  if (about !== undefined) return status === null ? about : `${about}: ${headlineOf(status)}`;
  return run && status !== null ? headlineOf(status) : `Verification of ${name}`;
}

/** The data about a workspace in the second shape of bodies. */
function workspaceBody(event: NotificationEvent) {
  const { run, status } = event;
  const of = run ?? event.workspace;
  return {
    payload_version: '2',
    notification_configuration_id: event.configurationId,
    notification_configuration_url: event.configurationUrl ?? null,
    trigger_scope: event.trigger.split(':', 1)[0],
    trigger: event.trigger,
    message: titleOf(event),
    details: {
      ...(run ? { run_id: run.id, run_url: run.url, run_message: run.message, run_status: status } : {}),
      ...event.details,
      workspace_id: of?.workspaceId ?? null,
      workspace_name: of?.workspaceName ?? null,
      organization_name: of?.organizationName ?? null,
    },
  };
}

/** The body for generic destinations. For runs, it has the older shape, which always has the same members. */
export function genericBody(event: NotificationEvent) {
  if (workspaceHeadlineOf(event.trigger) !== undefined) return workspaceBody(event);
  const { run } = event;
  return {
    payload_version: 1,
    notification_configuration_id: event.configurationId,
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
        message: titleOf(event),
        trigger: event.trigger,
        run_status: event.status,
        run_updated_at: run ? event.at.toISOString() : null,
        run_updated_by: event.by,
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
function factsOf({ run, details = {}, by }: NotificationEvent): readonly (readonly [title: string, value: string])[] {
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
export function slackBody(event: NotificationEvent) {
  const of = event.run ?? event.workspace;
  const title = slackText(titleOf(event));
  if (!of) return { text: title };
  const link = `<${of.url}|${slackText(`${of.organizationName}/${of.workspaceName}`)}>`;
  const detail = factsOf(event)
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
export function teamsBody(event: NotificationEvent) {
  const of = event.run ?? event.workspace;
  const block = (text: string, more = {}) => ({ type: 'TextBlock', text, wrap: true, ...more });
  const facts = of
    ? ([['Organization', of.organizationName], ['Workspace', of.workspaceName], ...factsOf(event)] as const).map(
        ([title, value]) => ({ title, value }),
      )
    : [];
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      block(titleOf(event), { weight: 'Bolder', size: 'Medium' }),
      ...(facts.length ? [{ type: 'FactSet', facts }] : []),
    ],
    actions: of
      ? [{ type: 'Action.OpenUrl', title: event.run ? 'Open the run' : 'Open the workspace', url: of.url }]
      : [],
  };
  return { type: 'message', attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content }] };
}

/** Subject and text of a mail. A name cannot start another header. */
export function mailOf(event: NotificationEvent): { subject: string; text: string } {
  const of = event.run ?? event.workspace;
  if (!of) return { subject: inOneLine(titleOf(event)), text: `${titleOf(event)}\n` };
  const lines = [
    titleOf(event),
    '',
    `Organization  ${of.organizationName}`,
    `Workspace     ${of.workspaceName}`,
    ...factsOf(event).map(([title, value]) => `${title.padEnd(13)} ${value}`),
    '',
    of.url,
    '',
  ];
  return {
    subject: inOneLine(`${titleOf(event)}: ${of.organizationName}/${of.workspaceName}`),
    text: lines.join('\n'),
  };
}

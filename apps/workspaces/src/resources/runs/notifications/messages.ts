import { createHmac } from 'node:crypto';
import { headlineOf } from '../runs/notification-triggers';

/** What is told of a run. */
export interface RunFacts {
  readonly id: string;
  readonly message: string | null;
  readonly createdAt: Date;
  readonly createdBy: string | null;
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly organizationName: string;
  readonly url: string;
}

/** What happened. `run` is left out where somebody only tries whether it arrives. */
export interface Told {
  readonly configurationId: string;
  readonly name: string;
  readonly trigger: string;
  readonly status: string | null;
  readonly at: Date;
  readonly by: string | null;
  readonly run?: RunFacts;
}

const titleOf = ({ run, name, status }: Told): string =>
  run && status !== null ? headlineOf(status) : `Verification of ${name}`;

/** The body that generic addresses get; the same members whatever happened. */
export function genericBody(told: Told) {
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

/** HMAC-SHA512 of a body, in hex: what `X-TFE-Notification-Signature` carries. */
export const signatureOf = (token: string, body: unknown): string =>
  createHmac('sha512', token).update(JSON.stringify(body)).digest('hex');

/** Slack's mark-up has three letters of its own. */
const slackText = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const inOneLine = (text: string) => text.replace(/\s+/g, ' ').trim().slice(0, 300);

/** A message of Slack's incoming webhooks. */
export function slackBody(told: Told) {
  const { run } = told;
  const title = slackText(titleOf(told));
  if (!run) return { text: title };
  const link = `<${run.url}|${slackText(`${run.organizationName}/${run.workspaceName}`)}>`;
  const detail = [run.message && inOneLine(run.message), told.by && `by ${told.by}`].filter(Boolean).join(' · ');
  const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text } });
  return {
    text: `${title}: ${slackText(`${run.organizationName}/${run.workspaceName}`)}`,
    blocks: [section(`*${title}*\n${link}`), ...(detail ? [section(slackText(detail))] : [])],
  };
}

/** A message with an adaptive card, as the webhooks of Microsoft Teams take it. */
export function teamsBody(told: Told) {
  const { run } = told;
  const block = (text: string, more = {}) => ({ type: 'TextBlock', text, wrap: true, ...more });
  const fact = (title: string, value: string | null) => (value ? [{ title, value }] : []);
  const facts = run
    ? [
        ...fact('Organization', run.organizationName),
        ...fact('Workspace', run.workspaceName),
        ...fact('Run', run.id),
        ...fact('Message', run.message && inOneLine(run.message)),
        ...fact('By', told.by),
      ]
    : [];
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      block(titleOf(told), { weight: 'Bolder', size: 'Medium' }),
      ...(facts.length ? [{ type: 'FactSet', facts }] : []),
    ],
    actions: run ? [{ type: 'Action.OpenUrl', title: 'Open the run', url: run.url }] : [],
  };
  return { type: 'message', attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content }] };
}

/** Subject and text of a mail; a name cannot begin another header. */
export function mailOf(told: Told): { subject: string; text: string } {
  const { run } = told;
  if (!run) return { subject: inOneLine(titleOf(told)), text: `${titleOf(told)}\n` };
  const lines = [
    titleOf(told),
    '',
    `Organization  ${run.organizationName}`,
    `Workspace     ${run.workspaceName}`,
    `Run           ${run.id}`,
    ...(run.message ? [`Message       ${inOneLine(run.message)}`] : []),
    ...(told.by ? [`By            ${told.by}`] : []),
    '',
    run.url,
    '',
  ];
  return {
    subject: inOneLine(`${titleOf(told)}: ${run.organizationName}/${run.workspaceName}`),
    text: lines.join('\n'),
  };
}

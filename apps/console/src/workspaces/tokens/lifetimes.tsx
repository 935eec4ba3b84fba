import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { CheckField, TextField } from '../../design/field';
import { SettingsForm } from '../../design/form';
import { Notice } from '../../design/notice';
import { useSession } from '../../shell/session';
import { type ApiAnswer, useChange, useOrganizationName, useRead } from '../api';
import { fieldsOf, useDraft } from '../parts/draft';
import { Loaded } from '../parts/loaded';

const kinds = {
  organization: 'Organization token',
  team: 'Team tokens',
  user: 'User tokens',
  audit_trails: 'Audit trail token',
} as const;
type LimitedToken = keyof typeof kinds;

const hourMs = 3_600_000;
const unitMs = { h: hourMs, d: 24 * hourMs, y: 365 * 24 * hourMs } as const;

/** A duration in short form: `90d`, `12h`. */
const written = (ms: number): string => (ms % unitMs.d === 0 ? `${ms / unitMs.d}d` : `${Math.round(ms / hourMs)}h`);

/** Parses a duration in short form; undefined if it is invalid. */
function readLength(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,5}) ?([hdy])$/.exec(text.trim()) ?? [];
  return count === undefined ? undefined : Number(count) * unitMs[unit as keyof typeof unitMs];
}

/** The maximum lifetimes of tokens, by type. */
export function TokenLifetimes({
  isOn,
  forbidden,
}: {
  readonly isOn: boolean;
  readonly forbidden: string | undefined;
}) {
  const organization_name = useOrganizationName();
  const lifetimes = useRead(
    ['token-lifetimes', organization_name],
    (api) =>
      api.GET('/api/v2/organizations/{organization_name}/token-ttl-policies', {
        params: { path: { organization_name } },
      }),
    { enabled: forbidden === undefined },
  );
  return (
    <section className="stack-tight" aria-labelledby="lifetimes">
      <h2 id="lifetimes">Maximum token lifetimes</h2>
      <p className="second">
        New tokens expire within this time, and the lifetime of existing tokens is shortened at once.
      </p>
      {forbidden === undefined ? (
        <Loaded query={lifetimes} rows={5}>
          {({ data }) => (
            <Lifetimes
              isOn={isOn}
              stored={
                Object.fromEntries(
                  data.map(({ attributes }) => [attributes['token-type'], written(attributes['max-ttl-ms'])]),
                ) as Record<LimitedToken, string>
              }
            />
          )}
        </Loaded>
      ) : (
        <p className="second">{forbidden}</p>
      )}
    </section>
  );
}

function Lifetimes({
  isOn,
  stored,
}: {
  readonly isOn: boolean;
  readonly stored: Readonly<Record<LimitedToken, string>>;
}) {
  const organization_name = useOrganizationName();
  const path = { organization_name };
  const draft = useDraft({ isOn, ...stored });
  const [problem, setProblem] = useState<string>();
  const save = useChange(async (api): Promise<ApiAnswer<unknown>> => {
    const { isOn: turned, ...lengths } = draft.changes;
    const policies = Object.entries(lengths).map(([kind, text]) => ({
      'token-type': kind as LimitedToken,
      'max-ttl-ms': readLength(text)!,
    }));
    if (policies.length > 0) {
      const attributes = { 'token-ttl-policies': policies };
      const body = { data: { type: 'organization-token-ttl-policies' as const, attributes } };
      const answer = await api.PATCH('/api/v2/organizations/{organization_name}/token-ttl-policies', {
        params: { path },
        body,
      });
      if (turned === undefined || answer.error !== undefined) return answer;
    }
    return api.PATCH('/api/v2/organizations/{organization_name}', {
      params: { path },
      body: { data: { type: 'organizations', attributes: { 'max-ttl-enabled': draft.value.isOn } } },
    });
  }, draft.reset);
  const { field, check } = fieldsOf(draft, save.error);
  const send = () => {
    const wrong = (Object.keys(kinds) as LimitedToken[]).find((kind) => readLength(draft.value[kind]) === undefined);
    setProblem(wrong && `${kinds[wrong]}: write a number with h, d or y, such as 12h or 90d.`);
    if (wrong === undefined) save.mutate();
  };
  return (
    <SettingsForm draft={draft} change={save} problem={problem} onSend={send}>
      <CheckField label="Limit the lifetime of tokens" {...check('isOn')} />
      {draft.value.isOn
        ? (Object.keys(kinds) as LimitedToken[]).map((kind) => (
            <TextField key={kind} label={kinds[kind]} required placeholder="90d" {...field(kind)} />
          ))
        : null}
      {draft.value.isOn ? <OwnTokensRefused limitMs={readLength(draft.value.user)} /> : null}
    </SettingsForm>
  );
}

/** Lists the user's API tokens that the organization would refuse with this limit. */
function OwnTokensRefused({ limitMs }: { readonly limitMs: number | undefined }) {
  const { session } = useSession();
  const user_id = session['user-id'] ?? '';
  const tokens = useRead(
    ['own-token-lifetimes', user_id],
    (api) =>
      api.GET('/api/v2/users/{user_id}/authentication-tokens', {
        params: { path: { user_id }, query: { 'page[size]': 100 } },
      }),
    { enabled: user_id !== '' },
  );
  const refused = (tokens.data?.data ?? []).filter(({ attributes }) => {
    const end = attributes['expired-at'];
    const life = end === null ? Number.POSITIVE_INFINITY : Date.parse(end) - Date.parse(attributes['created-at']);
    return limitMs !== undefined && life > limitMs;
  });
  if (refused.length === 0) return null;
  const names = refused.map(({ id, attributes }) => attributes.description || id);
  return (
    <Notice tone="amber">
      <span>
        {refused.length === 1 ? 'One of your own API tokens lives' : `${refused.length} of your own API tokens live`}{' '}
        longer than that, and this organization will refuse {refused.length === 1 ? 'it' : 'them'}: {names.join(', ')}.
      </span>
      <Link to="/account">Create a token with a shorter lifetime first.</Link>
    </Notice>
  );
}

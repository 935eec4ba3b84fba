import { useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField } from '../../design/field';
import { Notice } from '../../design/notice';
import { rule, useChange } from '../api';
import { useDraft } from '../parts/draft';
import { givenBy, rightGroups } from './rights';

/** The organization-wide permissions of a team, and which of them the team has because of another permission. */
export function AccessMatrix({ team }: { readonly team: Resource<'TeamsResource'> }) {
  const { name, permissions, 'organization-access': stored } = team.attributes;
  const draft = useDraft<Record<string, boolean>>(stored);
  const [saved, setSaved] = useState(false);
  const save = useChange(
    (api) =>
      api.PATCH('/api/v2/teams/{team_id}', {
        params: { path: { team_id: team.id } },
        body: { data: { type: 'teams', attributes: { 'organization-access': draft.changes } } },
      }),
    () => {
      draft.reset();
      setSaved(true);
    },
  );
  const isOwners = name === 'owners';
  const forbidden = isOwners
    ? 'Owners may do everything; that cannot be changed.'
    : rule(permissions['can-update-organization-access'], 'can-update-organization-access');
  const has = (right: string) => draft.value[right] === true;
  return (
    <section className="stack-tight" aria-labelledby="rights">
      <h2 id="rights">Organization access</h2>
      {forbidden === undefined ? null : <p className="second">{forbidden}</p>}
      <div className="matrix">
        {rightGroups.map(({ about, rights }) => (
          <fieldset key={about} className="stack-tight" disabled={forbidden !== undefined}>
            <legend>{about}</legend>
            {rights.map(([right, meaning]) => {
              const from = isOwners ? undefined : givenBy(right, has);
              return (
                <div key={right}>
                  <CheckField
                    label={meaning}
                    checked={has(right)}
                    onChange={(checked) => {
                      setSaved(false);
                      draft.set(right)(checked);
                    }}
                    hint={<code>{right}</code>}
                  />
                  {from === undefined || has(right) ? null : <Badge tone="accent">comes with {from}</Badge>}
                </div>
              );
            })}
          </fieldset>
        ))}
      </div>
      <ErrorNotice error={save.error} />
      {saved && !draft.isChanged ? <Notice tone="green">Saved.</Notice> : null}
      {isOwners ? null : (
        <div className="row">
          <Button
            kind="primary"
            busy={save.isPending}
            forbidden={forbidden ?? (draft.isChanged ? undefined : 'Nothing has been changed.')}
            onClick={() => save.mutate()}
          >
            Save access
          </Button>
          {draft.isChanged ? <Button onClick={draft.reset}>Undo changes</Button> : null}
        </div>
      )}
    </section>
  );
}

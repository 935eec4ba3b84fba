import { useState } from 'react';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Time } from '../../design/time';
import { includedOf, rule, useChange, useRead } from '../api';
import type { LiveRun } from './run-types';

/** The timeline of a run with its comments. */
export function Timeline({ run }: { readonly run: LiveRun }) {
  const path = { run_id: run.id };
  const { data, error } = useRead(['runs', run.id, 'run-events'], (api) =>
    api.GET('/api/v2/runs/{run_id}/run-events', { params: { path, query: { include: 'actor' } } }),
  );
  const [body, setBody] = useState('');
  const comment = useChange(
    (api) =>
      api.POST('/api/v2/runs/{run_id}/comments', {
        params: { path },
        body: { data: { type: 'comments', attributes: { body } } },
      }),
    () => setBody(''),
  );
  return (
    <section className="stack-tight">
      <h2>Timeline</h2>
      <ErrorNotice error={error} />
      <ol className="timeline">
        {data?.data.map((event) => {
          const actor = includedOf(data.included, event.relationships.actor);
          const { action, description, 'created-at': at } = event.attributes;
          return (
            <li key={event.id}>
              <span>
                {actor === undefined ? null : <span className="strong">{actor.attributes.username} </span>}
                {action.replace(/-/g, ' ')}
              </span>
              <span className="second small">
                <Time at={at} />
              </span>
              {description === null ? null : <p className="said">{description}</p>}
            </li>
          );
        })}
      </ol>
      <form
        className="stack-tight"
        onSubmit={(event) => {
          event.preventDefault();
          if (body.trim() !== '') comment.mutate();
        }}
      >
        <TextField label="Comment on the run" value={body} onChange={setBody} />
        <ErrorNotice error={comment.error} />
        <div>
          <Button
            type="submit"
            small
            busy={comment.isPending}
            forbidden={
              rule(run.permissions['can-comment'], 'can-comment') ??
              (body.trim() === '' ? 'Write something first.' : undefined)
            }
          >
            Comment
          </Button>
        </div>
      </form>
    </section>
  );
}

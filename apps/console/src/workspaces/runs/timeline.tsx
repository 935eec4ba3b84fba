import { useState } from 'react';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Time } from '../../design/time';
import { document, includedOf, needs, refOf } from '../data/documents';
import { useMany, useSend } from '../data/use-api';
import type { LiveRun } from './run-types';

interface Event {
  readonly action: string;
  readonly description: string | null;
  readonly 'created-at': string;
}

/** What happened to a run, and what people said about it. */
export function Timeline({ run, org }: { readonly run: LiveRun; readonly org: string }) {
  const { data, error } = useMany<Event>(`runs/${run.id}/run-events?include=actor`);
  const [body, setBody] = useState('');
  const comment = useSend(
    () => ({ method: 'POST', path: `runs/${run.id}/comments`, body: document('comments', { body }) }),
    () => setBody(''),
  );
  return (
    <section className="stack-tight">
      <h2>What happened</h2>
      <ErrorNotice error={error} />
      <ol className="timeline">
        {data?.data.map((event) => {
          const actor = includedOf<{ username: string }>(data.included, refOf(event, 'actor'));
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
          if (body.trim() !== '') comment.run();
        }}
      >
        <TextField label="Comment on the run" value={body} onChange={setBody} />
        <ErrorNotice error={comment.error} />
        <div>
          <Button
            type="submit"
            small
            busy={comment.busy}
            forbidden={
              needs(run.permissions, 'can-comment', org) ?? (body.trim() === '' ? 'Write something first.' : undefined)
            }
          >
            Comment
          </Button>
        </div>
      </form>
    </section>
  );
}

import { ErrorNotice } from '../../design/error-notice';
import { Skeleton } from '../../design/page';
import { SecretValue, ValuesShown } from '../../design/secret-value';
import type { Mount } from '../mounts';
import { changesOf, textOf, useSecret } from './values';

const signs = { added: '+', removed: '−', changed: '~', same: ' ' } as const;

/** What is different between two versions, field by field; values are dots here as well. */
export function Difference({
  mount,
  path,
  before,
  after,
}: {
  readonly mount: Mount;
  readonly path: string;
  readonly before: number;
  readonly after: number;
}) {
  const was = useSecret(mount, path, before);
  const is = useSecret(mount, path, after);
  if (was.error || is.error) return <ErrorNotice error={was.error ?? is.error} />;
  if (was.isPending || is.isPending) return <Skeleton rows={2} />;
  const changes = changesOf(was.data?.data ?? {}, is.data?.data ?? {}).filter(({ how }) => how !== 'same');
  return (
    <section className="stack-tight" aria-labelledby="difference">
      <h2 id="difference">
        From version {before} to version {after}
      </h2>
      {changes.length === 0 ? <p className="second">The fields are the same.</p> : null}
      <ValuesShown>
        <ul className="list">
          {changes.map(({ name, how, before: old, after: next }) => (
            <li key={name}>
              <code className={how}>
                <span aria-hidden="true">{signs[how]} </span>
                {name}
              </code>
              <span className="second small">{how}</span>
              {how === 'added' ? null : <SecretValue name={`${name} in version ${before}`} value={textOf(old)} />}
              {how === 'removed' ? null : <SecretValue name={`${name} in version ${after}`} value={textOf(next)} />}
            </li>
          ))}
        </ul>
      </ValuesShown>
    </section>
  );
}

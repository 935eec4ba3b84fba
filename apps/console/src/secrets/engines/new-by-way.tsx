import { Link } from '@tanstack/react-router';
import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import { PageHead, SameBy } from '../../design/page';
import { mountPage, useAddress } from '../pages';
import { crumbsTo } from './own-page';

/** A way to create something. */
export interface Way {
  /** The name of this way in the page's address. */
  readonly part: string;
  readonly title: string;
  readonly text: string;
  readonly icon: LucideIcon;
}

/** A page that creates something: first the user chooses a way, then fills in its form. */
export function NewByWay<W extends Way>({
  mount,
  tab,
  title,
  label,
  ways,
  same,
  children,
}: {
  readonly mount: string;
  readonly tab: string;
  readonly title: string;
  /** The label of the list of ways. */
  readonly label: string;
  readonly ways: readonly W[];
  readonly same: (way: W | undefined) => { readonly api: string; readonly command: string };
  /** The form of a way. */
  readonly children: (way: W) => ReactNode;
}) {
  const { part: requestedPart } = useAddress('/engines/mount');
  const way = ways.find(({ part }) => part === requestedPart);
  const search = { mount, tab, create: true };
  return (
    <div className="stack">
      <PageHead
        title={way?.title ?? title}
        crumbs={[
          ...crumbsTo(mount, tab),
          ...(way === undefined ? [] : [{ label: title, to: '/engines/mount', search }]),
        ]}
      >
        {way === undefined ? null : <p className="second narrow">{way.text}</p>}
      </PageHead>
      {way === undefined ? (
        <ul className="choices" aria-label={label}>
          {ways.map(({ part, title, text, icon: Shape }) => (
            <li key={part}>
              <Shape size={20} aria-hidden="true" />
              <Link className="strong" {...mountPage({ ...search, part })}>
                {title}
              </Link>
              <span className="second small">{text}</span>
            </li>
          ))}
        </ul>
      ) : (
        <div key={way.part}>{children(way)}</div>
      )}
      <SameBy {...same(way)} />
    </div>
  );
}

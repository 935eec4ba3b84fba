import { lazy, Suspense } from 'react';
import { Skeleton } from '../../design/page';

const Markdown = lazy(() => import('../../design/markdown'));

/** The README of a configuration or a module. The renderer is loaded only if there is a README. */
export function Readme({ text }: { readonly text: string | undefined }) {
  if (text === undefined || text.trim() === '') return null;
  return (
    <section className="stack-tight" aria-labelledby="readme">
      <h2 id="readme">README</h2>
      <Suspense fallback={<Skeleton rows={3} />}>
        <Markdown text={text} />
      </Suspense>
    </section>
  );
}

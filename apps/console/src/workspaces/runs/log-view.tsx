import { useVirtualizer } from '@tanstack/react-virtual';
import Anser from 'anser';
import { useEffect, useMemo, useRef, useState } from 'react';
import { CheckField } from '../../design/field';
import { type LogLine, linesOf } from './log-lines';

const rowHeight = 20;

/** A log of any length: only the lines in sight are in the page. It follows the end until its reader scrolls away. */
export function LogView({
  log,
  label,
  live,
}: {
  readonly log: string;
  readonly label: string;
  readonly live: boolean;
}) {
  const lines = useMemo(() => linesOf(log), [log]);
  const [follows, setFollows] = useState(live);
  const frame = useRef<HTMLElement>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: 20,
  });
  const inner = useRef<HTMLDivElement>(null);
  const total = rows.getTotalSize();
  const items = rows.getVirtualItems();
  const first = items[0]?.start ?? 0;
  // The policy of the page forbids style attributes; what is set by script is allowed.
  useEffect(() => {
    inner.current?.style.setProperty('height', `${total}px`);
    inner.current?.style.setProperty('padding-top', `${first}px`);
  }, [total, first]);
  useEffect(() => {
    if (follows && lines.length > 0) rows.scrollToIndex(lines.length - 1, { align: 'end' });
  }, [follows, lines.length, rows]);
  const linked = Number(/^#L(\d+)$/.exec(location.hash)?.[1] ?? 0);
  useEffect(() => {
    if (linked > 0 && linked <= lines.length) {
      setFollows(false);
      rows.scrollToIndex(linked - 1, { align: 'center' });
    }
  }, [linked, lines.length, rows]);
  if (lines.length === 0)
    return <p className="second">{live ? 'Nothing has been written yet.' : 'Nothing was written.'}</p>;
  return (
    <div className="stack-tight">
      <div className="row spread">
        <span className="second small">{lines.length.toLocaleString('en')} lines</span>
        {live ? <CheckField label="Follow the end" checked={follows} onChange={setFollows} /> : null}
      </div>
      <section
        ref={frame}
        className={lines.length <= 24 ? 'log short' : 'log'}
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
        tabIndex={0}
        onWheel={() => setFollows(false)}
      >
        <div ref={inner} className="log-lines">
          {items.map(({ index, key }) => (
            <div key={key} className={index + 1 === linked ? 'log-line linked' : 'log-line'}>
              <a href={`#L${index + 1}`} aria-label={`Line ${index + 1}`}>
                {index + 1}
              </a>
              <Line line={lines[index]!} />
            </div>
          ))}
        </div>
      </section>
    </div>
  );
}

const classes: Readonly<Record<string, string>> = { error: 'removed', warn: 'changed' };

function Line({ line }: { readonly line: LogLine }) {
  if (!line.text.includes('\x1b')) return <span className={classes[line.level ?? ''] ?? ''}>{line.text || ' '}</span>;
  return (
    <span>
      {Anser.ansiToJson(line.text, { use_classes: true, remove_empty: true }).map(
        ({ content, fg, decorations }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of a line have nothing but their place
          <span key={at} className={[fg && `${fg}-fg`, ...decorations].filter(Boolean).join(' ')}>
            {content}
          </span>
        ),
      )}
    </span>
  );
}

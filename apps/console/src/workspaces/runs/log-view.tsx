import Anser from 'anser';
import { useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from 'react';
import { CheckField } from '../../design/field';
import type { Log } from './log';
import type { LogLine } from './log-lines';
import { rowHeight, useRowsInSight } from './rows-in-sight';

/** A log of any length: only the lines in sight are in the page. It follows the end until its reader scrolls away. */
export function LogView({ log, label, live }: { readonly log: Log; readonly label: string; readonly live: boolean }) {
  useSyncExternalStore(log.subscribe, () => log.version);
  const { count } = log;
  const [follows, setFollows] = useState(live);
  const frame = useRef<HTMLElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const { first, last } = useRowsInSight(frame, count);
  const linked = Number(/^#L(\d+)$/.exec(location.hash)?.[1] ?? 0);
  const isThere = linked > 0 && linked <= count;
  // The policy of the page forbids style attributes; what is set by script is allowed.
  useLayoutEffect(() => {
    inner.current?.style.setProperty('height', `${count * rowHeight}px`);
    inner.current?.style.setProperty('padding-top', `${first * rowHeight}px`);
  }, [count, first]);
  useLayoutEffect(() => {
    if (follows && !isThere) frame.current?.scrollTo({ top: count * rowHeight });
  }, [follows, count, isThere]);
  useEffect(() => {
    if (!isThere || frame.current === null) return;
    setFollows(false);
    frame.current.scrollTo({ top: linked * rowHeight - frame.current.clientHeight / 2 });
  }, [linked, isThere]);
  if (count === 0) return <p className="second">{live ? 'Nothing has been written yet.' : 'Nothing was written.'}</p>;
  return (
    <div className="stack-tight">
      <div className="row spread">
        <span className="second small">{count.toLocaleString('en')} lines</span>
        {live ? <CheckField label="Follow the end" checked={follows} onChange={setFollows} /> : null}
      </div>
      <section
        ref={frame}
        className={count <= 24 ? 'log short' : 'log'}
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          if (scrollTop + clientHeight < scrollHeight - 2 * rowHeight) setFollows(false);
        }}
      >
        <div ref={inner} className="log-lines">
          {Array.from({ length: last - first }, (_, at) => first + at).map((index) => (
            <div key={index} className={index + 1 === linked ? 'log-line linked' : 'log-line'}>
              <a href={`#L${index + 1}`} aria-label={`Line ${index + 1}`}>
                {index + 1}
              </a>
              <Line line={log.at(index)} />
            </div>
          ))}
        </div>
      </section>
    </div>
  );
}

const classes: ReadonlyMap<string, string> = new Map([
  ['error', 'removed'],
  ['warn', 'changed'],
]);

function Line({ line }: { readonly line: LogLine }) {
  if (!line.text.includes('\x1b'))
    return <span className={classes.get(line.level ?? '') ?? ''}>{line.text || ' '}</span>;
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

import Anser from 'anser';
import { ChevronDown, ChevronUp, Download, WrapText } from 'lucide-react';
import { useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { Button } from '../../design/button';
import { CheckField, TextField } from '../../design/field';
import { saveFile } from '../../design/save-file';
import { IconButton } from '../../design/tip';
import type { Log } from './log';
import type { LogLine } from './log-lines';
import { rowHeight, useRowsInSight } from './rows-in-sight';

const mostWrapped = 5000;

/** A log of any length that renders only the lines in sight. It follows the end until the user scrolls up. */
export function LogView({ log, label, live }: { readonly log: Log; readonly label: string; readonly live: boolean }) {
  useSyncExternalStore(log.subscribe, () => log.version);
  const { count } = log;
  const [isWrapped, setWrapped] = useState(false);
  const [follows, setFollows] = useState(live);
  const frame = useRef<HTMLElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const { first, last } = useRowsInSight(frame, count);
  const linked = Number(/^#L(\d+)$/.exec(location.hash)?.[1] ?? 0);
  const isThere = linked > 0 && linked <= count;
  // The content security policy forbids style attributes, but allows styles set by script.
  useLayoutEffect(() => {
    inner.current?.style.setProperty('height', isWrapped && count <= mostWrapped ? 'auto' : `${count * rowHeight}px`);
    inner.current?.style.setProperty('padding-top', isWrapped && count <= mostWrapped ? '0' : `${first * rowHeight}px`);
  }, [count, first, isWrapped]);
  useLayoutEffect(() => {
    if (follows && !isThere) frame.current?.scrollTo({ top: count * rowHeight });
  }, [follows, count, isThere]);
  useEffect(() => {
    if (!isThere || frame.current === null) return;
    setFollows(false);
    frame.current.scrollTo({ top: linked * rowHeight - frame.current.clientHeight / 2 });
  }, [linked, isThere]);
  const [text, setText] = useState('');
  const [hit, setHit] = useState(-1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lines of a log change with its version
  const hits = useMemo(() => (text === '' ? [] : log.linesWith(text)), [text, log, log.version]);
  const goTo = (index: number) => {
    if (hits.length === 0) return;
    const at = (index + hits.length) % hits.length;
    setHit(at);
    setFollows(false);
    const row = hits[at]!;
    if (wraps) frame.current?.querySelector(`[data-line="${row}"]`)?.scrollIntoView({ block: 'center' });
    else frame.current?.scrollTo({ top: row * rowHeight - frame.current.clientHeight / 2 });
  };
  // Wrapped lines have different heights and must all be rendered, so long logs are not wrapped.
  const wraps = isWrapped && count <= mostWrapped;
  const rows = wraps
    ? Array.from({ length: count }, (_, at) => at)
    : Array.from({ length: last - first }, (_, at) => first + at);
  if (count === 0) return <p className="second">{live ? 'Nothing has been written yet.' : 'Nothing was written.'}</p>;
  return (
    <div className="stack-tight">
      <div className="row spread bottom">
        <form
          className="row bottom"
          onSubmit={(event) => {
            event.preventDefault();
            goTo(hit + 1);
          }}
        >
          <TextField
            label="Search the log"
            type="search"
            value={text}
            onChange={(next) => {
              setText(next);
              setHit(-1);
            }}
          />
          {text === '' ? null : (
            <span className="row">
              <span className="second small" role="status">
                {hits.length === 0 ? 'No matches' : `${Math.max(0, hit) + 1} of ${hits.length.toLocaleString('en')}`}
              </span>
              <IconButton icon={ChevronUp} name="Previous match" onClick={() => goTo(hit - 1)} />
              <IconButton icon={ChevronDown} name="Next match" onClick={() => goTo(hit + 1)} />
            </span>
          )}
        </form>
        <div className="row">
          <span className="second small">{count.toLocaleString('en')} lines</span>
          {live ? <CheckField label="Follow the end" checked={follows} onChange={setFollows} /> : null}
          <Button
            small
            icon={WrapText}
            forbidden={count > mostWrapped ? `Only logs of up to ${mostWrapped} lines can be wrapped.` : undefined}
            onClick={() => setWrapped(!isWrapped)}
          >
            {wraps ? 'Do not wrap' : 'Wrap lines'}
          </Button>
          <Button small icon={Download} onClick={() => saveFile(`${label}.log`, log.text)}>
            Download
          </Button>
        </div>
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
        <div ref={inner} className={wraps ? 'log-lines wrapped' : 'log-lines'}>
          {rows.map((index) => (
            <div
              key={index}
              data-line={index}
              className={index + 1 === linked || index === hits[hit] ? 'log-line linked' : 'log-line'}
            >
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
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of a line have no key except their index
          <span key={at} className={[fg && `${fg}-fg`, ...decorations].filter(Boolean).join(' ')}>
            {content}
          </span>
        ),
      )}
    </span>
  );
}

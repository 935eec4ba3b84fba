import { Link } from '@tanstack/react-router';
import { type LucideIcon, Terminal } from 'lucide-react';
import { createContext, type ReactNode, useContext, useEffect, useRef } from 'react';
import { createPortal } from 'react-dom';
import { CopyButton } from './copy';

/** Where the frame shows the page title; without a frame the page shows it. */
export const CrumbsContext = createContext<HTMLElement | null>(null);

export interface Crumb {
  readonly label: string;
  readonly to?: string;
  /** Search parameters of the link. */
  readonly search?: Readonly<Record<string, unknown>>;
}

export interface PageHeadProps {
  readonly title: string;
  readonly crumbs?: readonly Crumb[];
  /** Status badge. */
  readonly state?: ReactNode;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

/** Page head: title, status and actions. Titles never contain secret values. */
export function PageHead({ title, crumbs = [], state, actions, children }: PageHeadProps) {
  useEffect(() => {
    document.title = `${title} · Keystead`;
  }, [title]);
  const place = useContext(CrumbsContext);
  const last = crumbs.at(-1);
  const way: readonly Crumb[] = last !== undefined && last.to === undefined ? crumbs : [...crumbs, { label: title }];
  return (
    <header className="stack-tight">
      {place === null
        ? null
        : createPortal(
            <nav aria-label="Breadcrumbs">
              <ol className="crumbs">
                {way.map(({ label, to, search = {} }) => (
                  <li key={`${to} ${JSON.stringify(search)}`}>
                    {to === undefined ? (
                      <span aria-current="page">{label}</span>
                    ) : (
                      <Link to={to} search={search as never}>
                        {label}
                      </Link>
                    )}
                  </li>
                ))}
              </ol>
            </nav>,
            place,
          )}
      <div className="page-head">
        <div className="row">
          <h1>{title}</h1>
          {state}
        </div>
        {actions === undefined ? null : <div className="row">{actions}</div>}
      </div>
      {children}
    </header>
  );
}

export interface TabProps {
  readonly to: string;
  readonly label: string;
  /** Whether the tab is active only at exactly this address, not at addresses below it. */
  readonly exact?: boolean;
}

/** Tabs, each with its own address. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly TabProps[] }) {
  const bar = useRef<HTMLElement>(null);
  // On narrow screens the tabs scroll, and the current one may be out of sight.
  useEffect(() => {
    bar.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, []);
  return (
    <nav className="tabs" aria-label={label} ref={bar}>
      {tabs.map((tab) => (
        <Link key={tab.to} to={tab.to} activeOptions={{ exact: tab.exact ?? false, includeSearch: false }}>
          {tab.label}
        </Link>
      ))}
    </nav>
  );
}

/** Shown for an empty list: a sentence, a button and a command. */
export function Empty({
  icon: Shape,
  children,
  command,
  action,
}: {
  readonly icon?: LucideIcon;
  readonly children: ReactNode;
  readonly command?: string;
  readonly action?: ReactNode;
}) {
  return (
    <div className="empty">
      {Shape === undefined ? null : <Shape size={28} strokeWidth={1.5} aria-hidden="true" />}
      <p>{children}</p>
      {action}
      {command === undefined ? null : <Command text={command} />}
    </div>
  );
}

/** An equivalent command, with a button to copy it. */
export function Command({ text }: { readonly text: string }) {
  return (
    <div className="code-block row spread">
      <code>{text}</code>
      <CopyButton text={text} what="command" />
    </div>
  );
}

/** Lines of a file, with a copy button. */
export function Lines({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <div className="code-block row spread lines">
      <pre>{text}</pre>
      <CopyButton text={text} what={what} />
    </div>
  );
}

/** Page footer: the equivalent API call and command. */
export function SameBy({ api, command }: { readonly api: string; readonly command?: string }) {
  return (
    <details className="same-by">
      <summary>
        <Terminal size={14} aria-hidden="true" />
        The same by API{command === undefined ? '' : ' and command line'}
      </summary>
      <div className="stack-tight">
        <Command text={api} />
        {command === undefined ? null : <Command text={command} />}
      </div>
    </details>
  );
}

/** Placeholder rows with the final height while something loads, so that the layout does not shift. */
export function Skeleton({ rows = 4 }: { readonly rows?: number }) {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows of a skeleton have no key except their index
        <span key={row} />
      ))}
    </div>
  );
}

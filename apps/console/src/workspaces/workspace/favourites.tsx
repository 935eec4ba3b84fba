import { Link } from '@tanstack/react-router';
import { Clock, type LucideIcon, Star } from 'lucide-react';
import { type Mark, useMarks } from './marks';

/** Links to favourite and recent workspaces; nothing if there are none. */
export function FavouriteWorkspaces({ org }: { readonly org: string }) {
  const { favourites, recent, isFavourite } = useMarks(org);
  const others = recent.filter(({ id }) => !isFavourite(id));
  if (favourites.length + others.length === 0) return null;
  return (
    <div className="marked" title="Stored only in this browser.">
      <Line org={org} label="Favourites" icon={Star} marks={favourites} />
      <Line org={org} label="Recent" icon={Clock} marks={others} />
    </div>
  );
}

function Line({
  org,
  label,
  icon: Shape,
  marks,
}: {
  readonly org: string;
  readonly label: string;
  readonly icon: LucideIcon;
  readonly marks: readonly Mark[];
}) {
  if (marks.length === 0) return null;
  return (
    <nav className="row" aria-label={label}>
      <span className="second small row">
        <Shape size={14} aria-hidden="true" />
        {label}
      </span>
      {marks.map(({ id, name }) => (
        <Link key={id} className="short-way" to={`/organizations/${org}/workspaces/${name}`}>
          {name}
        </Link>
      ))}
    </nav>
  );
}

/** Adds a workspace to the favourites, or removes it. */
export function FavouriteButton({ org, mark }: { readonly org: string; readonly mark: Mark }) {
  const { isFavourite, toggle } = useMarks(org);
  const is = isFavourite(mark.id);
  return (
    <button
      type="button"
      className="icon-button favourite"
      aria-pressed={is}
      aria-label={`Favourite ${mark.name}`}
      title={is ? 'Remove from favourites' : 'Add to favourites'}
      onClick={() => toggle(mark)}
    >
      <Star size={15} aria-hidden="true" />
    </button>
  );
}

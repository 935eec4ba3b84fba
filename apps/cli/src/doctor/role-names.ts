/** Claims of a run's identity token that are names, and the claims with the ids of the same objects. */
const named = ['organization_name', 'workspace_name', 'project_name', 'full_workspace'];
const ids = ['organization_id', 'workspace_id', 'project_id'];

/** Whether a role of a jwt mount identifies runs only by names. Names may later belong to other objects. */
export function bindsNamesOnly(role: Readonly<Record<string, unknown>>): boolean {
  const claims = Object.keys((role.bound_claims ?? {}) as object).map((claim) => claim.replace(/^\//, ''));
  const subject = String(role.bound_subject ?? '');
  if (/^organization:(?!org-)/.test(subject)) return true;
  if (/^organization:org-/.test(subject) || ids.some((id) => claims.includes(id))) return false;
  return named.some((name) => claims.includes(name));
}

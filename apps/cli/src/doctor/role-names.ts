/** Claims of a run's identity token that are names, and those that are the ids of the same. */
const named = ['organization_name', 'workspace_name', 'project_name', 'full_workspace'];
const ids = ['organization_id', 'workspace_id', 'project_id'];

/** Whether a role of a jwt mount admits runs only by names, which may later belong to something else. */
export function bindsNamesOnly(role: Readonly<Record<string, unknown>>): boolean {
  const claims = Object.keys((role.bound_claims ?? {}) as object).map((claim) => claim.replace(/^\//, ''));
  const subject = String(role.bound_subject ?? '');
  if (/^organization:(?!org-)/.test(subject)) return true;
  if (/^organization:org-/.test(subject) || ids.some((id) => claims.includes(id))) return false;
  return named.some((name) => claims.includes(name));
}

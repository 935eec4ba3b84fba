/** Who must come from the addresses of a list. */
export const scopes = {
  organization: 'everyone but agents',
  all_agent_pools: 'all agents',
  selected_agent_pools: 'agents of some pools',
} as const;
/** Who is limited by a list. */
export type ListScope = keyof typeof scopes;
/** All of them. */
export const allScopes = Object.keys(scopes) as ListScope[];

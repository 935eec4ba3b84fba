/** The values found for some rows, in the order of the rows, without rows that were deleted in the meantime. */
export async function inOrder<T extends { readonly id: string }>(
  rows: readonly { readonly id: string }[],
  findMany: (ids: string[]) => Promise<readonly T[]>,
): Promise<T[]> {
  const ids = rows.map(({ id }) => id);
  const found = new Map((await findMany(ids)).map((item) => [item.id, item]));
  return ids.flatMap((id) => found.get(id) ?? []);
}

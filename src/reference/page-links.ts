/** A page of a list, and how many there are. */
interface PageOfMany {
  readonly page: number;
  readonly pages: number;
}

/**
 * The `Link` field of a page (RFC 8288): `first`, `prev`, `next` and `last`, as far as they exist, with all other parameters of the
 * query. Undefined where none exists, and for a list of one page.
 */
export function pageLinks(
  path: string,
  query: URLSearchParams,
  { page, pages }: PageOfMany,
): string | undefined {
  const link = (to: number, relation: string): string => {
    const target = new URLSearchParams(query);
    target.set('page', String(to));
    return `<${path}?${target.toString()}>; rel="${relation}"`;
  };
  const links = [
    ...(pages > 0 ? [link(1, 'first')] : []),
    ...(page > 1 && page - 1 <= pages ? [link(page - 1, 'prev')] : []),
    ...(page < pages ? [link(page + 1, 'next')] : []),
    ...(pages > 0 ? [link(pages, 'last')] : []),
  ];
  return links.length === 0 || (pages === 1 && page === 1) ? undefined : links.join(', ');
}

// V1 counts pages, and V2 has cursors and the number of all invoices: no rule divides. V2's cursor is p and the number of the page.

export function request(body, { query }) {
  const page = query.get('page');
  const size = query.get('per_page');
  query.delete('page');
  query.delete('per_page');
  if (size !== null) query.set('limit', size);
  if (page !== null) query.set('cursor', `p${page}`);
  return { query };
}

export function response({ invoices, total }, { query }) {
  const page = Number(query.get('page') ?? 1) || 1;
  const size = Number(query.get('per_page') ?? 20) || 20;
  return { body: { bills: invoices, page, total_pages: Math.ceil(total / size) } };
}

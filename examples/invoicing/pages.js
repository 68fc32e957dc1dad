// V1 numbers its pages; V2 has cursors and the total of all invoices, and no rule can divide. V2's cursor is p and the page number.

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

export function request(body, { query }) {
  if (body?.fails) throw new Error('no');
  query.set('q', '1');
  return body === undefined ? { query } : { query, body: { ...body, made: true } };
}

export function response(body) {
  return { body: { ...body, read: true } };
}

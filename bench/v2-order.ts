/** A V1 order, or a part of it, as JSON.parse gives it. */
export interface Order {
  data?: Order;
  property?: Record<string, unknown>;
  [member: string]: unknown;
}

/** The members of a property that V2 nests. */
export const ADDRESS: readonly string[] = [
  'street_address',
  'suburb',
  'state',
  'postcode',
  'country',
  'latitude',
  'longitude',
];

/** Turns a V1 order into a V2 order, as code that parses bodies does it: unwrap, nest, rename, strip. */
export function v2Order(order: Order): Order {
  const body = order.data ?? order;
  const { property } = body;
  if (property !== undefined) {
    const address: Record<string, unknown> = {};
    for (const name of ADDRESS) {
      if (!(name in property)) continue;
      address[name] = property[name];
      delete property[name];
    }
    property['address'] = address;
  }
  if ('transition_type' in body) {
    body['highlight_type'] = body['transition_type'];
    delete body['transition_type'];
  }
  delete body['legacy'];
  return body;
}

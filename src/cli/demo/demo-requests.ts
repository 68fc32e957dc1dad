/** An attribute that V1 had deprecated and V2 has dropped. Its name is invented: no document lists any. */
export const DEPRECATED_ATTRIBUTE = 'legacy_code';

/** Dated releases of the embedded V2 in the demo; no later one than the first is known, and it differs as the reference says. */
export const DEMO_RELEASES = ['2025-01-01', '2026-06-01'] as const;

/** One V1 request of the demo; `{property}` in the path stands for the property that the floor plan order created. */
export interface DemoRequest {
  readonly operation: string;
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly body: string;
}

/** One V1 request for each of the seven operations, as an integration sends them today. */
export const DEMO_REQUESTS: readonly DemoRequest[] = [
  {
    operation: 'create_client',
    method: 'POST',
    path: '/clients',
    body: '{"data": {"name": "Harbour Realty", "external_reference": "12345678901234567890"}}',
  },
  {
    operation: 'create_contact',
    method: 'POST',
    path: '/contacts',
    body: '{"data": {"first_name": "Zo\\u00eb", "last_name": "Park", "email": "zoe@example.org"}}',
  },
  {
    operation: 'order_floor_plan',
    method: 'POST',
    path: '/orders/floor_plans',
    body: `{"data": {
  "external_id": "FP-1",
  "property": {
    "display_name": "Harbour Loft",
    "street_address": "1 Main St", "suburb": "Enmore", "state": "NSW", "postcode": "2042",
    "country": "Australia", "latitude": -33.90, "longitude": 151.170
  }
}}`,
  },
  {
    operation: 'order_post_production',
    method: 'POST',
    path: '/orders/post_productions',
    body: '{"data": {"external_id": "PP-1", "transition_type": "slide", "property": {"display_name": "Loft", "suburb": "Enmore"}}}',
  },
  {
    operation: 'create_booking',
    method: 'POST',
    path: '/bookings',
    body: '{"data": {"external_id": "BK-1", "scheduled_at": "2026-12-01T09:00:00+11:00", "services": ["floor_plan"]}}',
  },
  {
    operation: 'create_virtual_tour',
    method: 'POST',
    path: '/virtual_tours',
    body: '{"name": "Already flat: this client only changes its URL"}',
  },
  {
    operation: 'update_property',
    method: 'PATCH',
    path: '/properties/{property}',
    body: '{"data": {"display_name": "Harbour Loft, renovated"}, "sent_by": "crm 4.2"}',
  },
];

/** A V1 request with a deprecated attribute: only a rule book that strips it gets it past V2. */
export const STRIPPED_REQUEST: DemoRequest = {
  operation: 'update_property, with a deprecated attribute',
  method: 'PATCH',
  path: '/properties/{property}',
  body: `{"data": {"property_type": "loft", "${DEPRECATED_ATTRIBUTE}": "HL-7"}}`,
};

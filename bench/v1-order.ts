import { Buffer } from 'node:buffer';

/**
 * Returns a V1 floor plan order of about `size` bytes, with everything that the migration touches: the wrapper, seven
 * address members, `transition_type` and a removed attribute. The rest is typical of orders: issues and rooms.
 */
export function v1Order(size: number): Uint8Array {
  const order = {
    data: {
      external_id: 'BK-2026-000417',
      transition_type: 'slide',
      legacy: true,
      property: {
        display_name: '12 Harbour View',
        street_address: '12 Harbour View Road',
        suburb: 'Milsons Point',
        state: 'NSW',
        postcode: '2061',
        country: 'Australia',
        latitude: -33.8479,
        longitude: 151.2111,
        external_reference: 'PR-88',
      },
      notes: '',
      issues: [] as unknown[],
    },
  };
  const base = JSON.stringify(order).length;
  for (let left = size - base; left > 0;) {
    if (left < 90) {
      order.data.notes = 'n'.repeat(left);
      break;
    }
    const issue = {
      id: order.data.issues.length,
      room: 'Bedroom é 2',
      area: 14.25,
      is_open: true,
      tags: ['north', null],
    };
    order.data.issues.push(issue);
    left -= Buffer.byteLength(JSON.stringify(issue)) + 1;
  }
  return new Uint8Array(Buffer.from(JSON.stringify(order)));
}

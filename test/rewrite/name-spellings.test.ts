import { expect, test } from 'vitest';
import type { RequestRule, ResponseRule } from '../../src/rules/rule.ts';
import { responsePlanOf, responseRule } from '../support/response-plan-of.ts';
import { bytesOf, textOf } from './notation.ts';

const REQUEST: readonly RequestRule[] = [
  { rule: 'unwrap', member: 'data' },
  { rule: 'rename', member: 'transition_type', in: [], to: 'highlight_type' },
  { rule: 'rename', member: 'unit', in: ['lines', '*'], to: 'kind' },
  { rule: 'rename', member: 'city', in: ['site'], to: 'placeName' },
  {
    rule: 'nest',
    in: ['property'],
    members: ['street_address', 'suburb', 'state'],
    under: 'address',
  },
  { rule: 'split', member: 'contactName', in: [], to: ['firstName', 'lastName'], with: ' ', at: 'last' },
  { rule: 'join', members: ['phone_area', 'phone_number'], in: [], to: 'phoneLine', with: ' ', at: 'last' },
  { rule: 'move', from: ['ref'], to: ['ids', 'own', 'code'], in: ['site'] },
  { rule: 'move', from: ['contact', 'no'], to: ['contact', 'own', 'no'], in: ['site'] },
  { rule: 'list', member: 'extraTag', in: [], to: 'tag_list' },
  { rule: 'rename', member: 'oldName', in: ['**'], to: 'name_anywhere' },
  { rule: 'list', member: 'tags', in: [], to: 'words', elements: { are: 'texts', with: ',' } },
  { rule: 'list', member: 'mails', in: ['site'], to: 'emails', elements: { are: 'objects', of: 'mail' } },
  { rule: 'unlist', member: 'ways', in: [], to: 'roads', elements: { are: 'objects', of: 'way' } },
  {
    rule: 'entries',
    member: 'extra_fields',
    in: [],
    to: 'customFields',
    elements: { are: 'pairs', name: 'key', value: 'text' },
  },
];
const RULES: readonly ResponseRule[] = [responseRule('errors')];

/** The response to a request with a wrapper in which V2 finds an error. */
function turned(error: object): unknown {
  const { body } = responsePlanOf(RULES, REQUEST).rewrite(bytesOf(JSON.stringify({ errors: [error] })), {
    status: 422,
    deprecated: [],
    isWrapped: true,
  });
  return JSON.parse(textOf(body)).errors[0];
}

test.each([
  ['/highlight_type', '/data/transition_type'],
  ['/highlightType', '/data/transitionType'],
  ['#/highlight_type', '#/data/transition_type'],
  ['/property/address/suburb', '/data/property/suburb'],
  ['/property/address/streetAddress', '/data/property/streetAddress'],
  ['/property/address', '/data/property'],
  ['/site/ids', '/data/site'],
  ['/site/ids/own', '/data/site'],
  ['/site/ids/own/code', '/data/site/ref'],
  ['/site/contact/own', '/data/site/contact'],
  ['/lines/0/kind', '/data/lines/0/unit'],
  ['/site/place_name', '/data/site/city'],
  ['/tag_list', '/data/extraTag'],
  ['/name_anywhere', '/data/oldName'],
  ['/x/3/name_anywhere/y/name_anywhere', '/data/x/3/oldName/y/oldName'],
  ['/tag_list/0', '/data/extraTag'],
  ['/words', '/data/tags'],
  ['/words/12', '/data/tags'],
  ['/site/emails', '/data/site/mails'],
  ['/site/emails/3', '/data/site/mails/3'],
  ['/site/emails/3/mail', '/data/site/mails/3'],
  ['/site/emails/3/mail/x', '/data/site/mails/3/x'],
  ['/roads/3', '/data/ways/3/way'],
  ['/roads/3/x', '/data/ways/3/way/x'],
  ['/customFields', '/data/extra_fields'],
  ['/customFields/0', '/data/extra_fields'],
  ['/customFields/0/text', '/data/extra_fields'],
  ['/custom_fields/0/key', '/data/extra_fields'],
  ['/data/highlight_type', '/data/transition_type'],
  ['/data/attributes/highlight_type', '/data/attributes/transition_type'],
  ['/data/attributes/property/address/suburb', '/data/attributes/property/suburb'],
  ['/data/attributes/highlightType', '/data/attributes/transitionType'],
  ['$.highlight_type', '$.data.transition_type'],
  ['$.property.address.suburb', '$.data.property.suburb'],
  ["$['property']", "$.data['property']"],
  ['highlight_type', 'transition_type'],
  ['property[address][suburb]', 'property[suburb]'],
  ['property.address', 'property'],
  ['site.ids.own', 'site'],
  ['site[contact][own]', 'site[contact]'],
  ['ids.own', 'ids.own'],
  ['name', 'name'],
])('in a place, %s is %s to V1', (v2, v1) => {
  expect(turned({ source: { pointer: v2 } })).toEqual({ source: { pointer: v1 } });
});

test.each([
  // One name in each spelling.
  ['highlight_type', 'transition_type'],
  ['highlightType', 'transitionType'],
  ['HighlightType', 'TransitionType'],
  ['highlight-type', 'transition-type'],
  ['HIGHLIGHT_TYPE', 'TRANSITION_TYPE'],
  ['highlight type', 'transition type'],
  ['Highlight type', 'Transition type'],
  ['Highlight Type', 'Transition Type'],
  // A path in each.
  ['property.address.street_address', 'property.street_address'],
  ['property.address.streetAddress', 'property.streetAddress'],
  ['Property.Address.StreetAddress', 'Property.StreetAddress'],
  ['property[address][street_address]', 'property[street_address]'],
  ['property[address][streetAddress]', 'property[streetAddress]'],
  ["property['address']['street_address']", "property['street_address']"],
  ['property/address/street_address', 'property/street_address'],
  ['/property/address/street_address', '/property/street_address'],
  ['#/property/address/street_address', '#/property/street_address'],
  ['property_address_street_address', 'property_street_address'],
  ['propertyAddressStreetAddress', 'propertyStreetAddress'],
  ['PropertyAddressStreetAddress', 'PropertyStreetAddress'],
  ['property-address-street-address', 'property-street-address'],
  ['property.address.street-address', 'property.street-address'],
  ['PROPERTY_ADDRESS_STREET_ADDRESS', 'PROPERTY_STREET_ADDRESS'],
  ['Property address street address', 'Property street address'],
  ['Address street address', 'Street address'],
  ['address.suburb', 'suburb'],
  ['address[suburb]', 'suburb'],
  // From other roots.
  ['$.property.address.suburb', '$.property.suburb'],
  ['body.property.address.suburb', 'body.property.suburb'],
  ['data.attributes.highlight_type', 'data.attributes.transition_type'],
  ['data.highlightType', 'data.transitionType'],
  ['params.property.address.suburb', 'params.property.suburb'],
  // Behind the name of the resource.
  ['order[highlight_type]', 'order[transition_type]'],
  ['order[highlightType]', 'order[transitionType]'],
  ['order[property][address][suburb]', 'order[property][suburb]'],
  ['order[property][address][streetAddress]', 'order[property][streetAddress]'],
  ['order[lines][0][kind]', 'order[lines][0][unit]'],
  ['orders[0][highlight_type]', 'orders[0][transition_type]'],
  ['data[order][highlight_type]', 'data[order][transition_type]'],
  ['[order][highlight_type]', '[order][transition_type]'],
  ["order['highlight_type']", "order['transition_type']"],
  ["$.order['highlight_type']", "$.order['transition_type']"],
  ['order->highlight_type', 'order->transition_type'],
  ['order/highlight_type', 'order/transition_type'],
  // Behind an index.
  ['lines.0.kind', 'lines.0.unit'],
  ['lines[0].kind', 'lines[0].unit'],
  ['lines[12][kind]', 'lines[12][unit]'],
  ['site.placeName', 'site.city'],
  ['site.place_name', 'site.city'],
  // Of members that V2 has in parts, joined, or in a list.
  ['firstName', 'contactName'],
  ['last_name', 'contact_name'],
  ['phone_line', 'phone_area'],
  ['phoneLine', 'phone_area'],
  ['tagList', 'extraTag'],
])('in a text, %s is %s to V1', (v2, v1) => {
  for (const around of ['%', '% is invalid', '`%` is required', '"%": no', 'the field % and (%), too'])
    expect(turned({ detail: around.replaceAll('%', v2) })).toEqual({ detail: around.replaceAll('%', v1) });
});

test.each([
  'The kind of this order is not known',
  'We could not find the address of the suburb',
  'Please be kind',
  'Tell us what kind is wanted',
  'my_highlight_type',
  'highlight_types',
  'highlighttypes',
  'my.property.address',
  'order[kind]',
  'order[state]',
  'order[my_highlight_type]',
  'order[0]',
  'state',
  'Highlighted types',
  'https://example.com/highlights/types',
])('a text that names nothing of V1 stays: %s', (text) => {
  expect(turned({ detail: text })).toEqual({ detail: text });
});

test.each([
  ['kind is missing', 'unit is missing'],
  ['Kind is missing', 'Unit is missing'],
  ["the member 'kind' is missing", "the member 'unit' is missing"],
  ['The field kind is missing', 'The field unit is missing'],
  ['quantity and kind are missing', 'quantity and unit are missing'],
  ['missing: "kind"', 'missing: "unit"'],
])('an ordinary word is a name where a text has one: %s', (v2, v1) => {
  expect(turned({ detail: v2 })).toEqual({ detail: v1 });
});

const DETOUR: readonly RequestRule[] = [
  { rule: 'move', from: ['price'], to: ['cost', 'amount'], in: [] },
  { rule: 'rename', member: 'cost', in: [], to: 'price' },
];
const TO_FEE: readonly RequestRule[] = [
  { rule: 'move', from: ['price'], to: ['cost', 'amount'], in: [] },
  { rule: 'rename', member: 'cost', in: [], to: 'charge' },
  { rule: 'rename', member: 'charge', in: [], to: 'fee' },
];
const NESTED: readonly RequestRule[] = [
  { rule: 'nest', members: ['street', 'suburb'], in: ['site'], under: 'place' },
  { rule: 'rename', member: 'place', in: ['site'], to: 'address' },
];
/** V1 has an address as well. */
const EXTENDED: readonly RequestRule[] = [
  { rule: 'nest', members: ['street'], in: ['site'], under: 'address' },
  { rule: 'rename', member: 'zip', in: ['site', 'address'], to: 'postcode' },
];
const WRAPPED: readonly RequestRule[] = [{ rule: 'unwrap', member: 'data' }, ...DETOUR];

test.each<[rules: readonly RequestRule[], v2: string, v1: string]>([
  [DETOUR, 'The kind or price is wrong.', 'The kind or price is wrong.'],
  [DETOUR, 'price is wrong', 'price is wrong'],
  [DETOUR, 'Price is wrong', 'Price is wrong'],
  [DETOUR, "The field 'price' is wrong", "The field 'price' is wrong"],
  [DETOUR, 'price.amount is wrong', 'price is wrong'],
  [DETOUR, 'price[amount] is wrong', 'price is wrong'],
  [DETOUR, 'price.currency is wrong', 'price.currency is wrong'],
  [DETOUR, '/price', ''],
  [DETOUR, '/price/amount', '/price'],
  [DETOUR, '/price/currency', '/price/currency'],
  [WRAPPED, '/price/currency', '/data/price/currency'],
  [WRAPPED, '/price/amount', '/data/price'],
  [TO_FEE, 'fee is wrong', 'fee is wrong'],
  [TO_FEE, 'fee.amount is wrong', 'price is wrong'],
  [TO_FEE, '/fee/currency', '/fee/currency'],
  [TO_FEE, '/fee/amount', '/price'],
  [TO_FEE, '/fee', ''],
  [EXTENDED, '/site/address/postcode', '/site/address/zip'],
  [EXTENDED, 'site.address.postcode is wrong', 'site.address.zip is wrong'],
  [NESTED, 'site.address.street is wrong', 'site.street is wrong'],
  [NESTED, '/site/address/street', '/site/street'],
  [NESTED, '/site/address', '/site'],
  [NESTED, '/site/address/state', '/site/address/state'],
  [NESTED, 'address is wrong', 'address is wrong'],
])('a client never gets the name of an object between two rules: %o %s', (rules, v2, v1) => {
  const isPlace = v2.startsWith('/');
  const error = isPlace ? { source: { pointer: v2 } } : { detail: v2 };
  const { body } = responsePlanOf(RULES, rules).rewrite(bytesOf(JSON.stringify({ errors: [error] })), {
    status: 422,
    deprecated: [],
    isWrapped: true,
  });
  const [found] = JSON.parse(textOf(body)).errors;
  expect(isPlace ? found.source.pointer : found.detail).toBe(v1);
});

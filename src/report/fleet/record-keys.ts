/** Records that clients, names of the census, and replicas with their sums are spread over. */
const CLIENT_RECORDS = 512;
const CENSUS_RECORDS = 32;
const REPLICA_RECORDS = 32;

/** Key of the record that holds a client. */
export function clientKey(hash: string): string {
  return `clients/${slotOf(hash, CLIENT_RECORDS)}`;
}

/** Key of the record that holds the names of an operation. */
export function censusKey(operation: string): string {
  return `census/${slotOf(operation, CENSUS_RECORDS)}`;
}

/** Key of the record that holds a process of a gateway, by its id. */
export function replicaKey(id: string): string {
  return `replicas/${slotOf(id, REPLICA_RECORDS)}`;
}

/** FNV-1a, with the high bits mixed in. */
function slotOf(text: string, slots: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0) % slots;
}

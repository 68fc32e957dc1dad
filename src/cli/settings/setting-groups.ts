/** Headings under which `--help` lists settings, each with the names that belong there. The first pattern that matches decides. */
const GROUPS: readonly (readonly [heading: string, names: RegExp])[] = [
  ['Addresses:', /^(?:listen|admin-listen|upstream|v1-upstream)$/],
  ['Rules and rollout:', /^(?:rules|rollout-file|v2-openapi)$/],
  ['Store that replicas share:', /^(?:store|replica|report-keep$)/],
  ['Logs:', /^(?:log-|rewrite-log-)/],
  ['TLS:', /^(?:tls-|upstream-(?:ca|cert|key|sni)$)/],
  ['Connections to V2:', /^(?:upstream-|breaker)/],
  ['Clients:', /^(?:client-secret|client-names|self-service)/],
  ['Limits:', /^(?:max-|buffer-|body-|header-|min-|idle-|client-)/],
  ['Proxies in front:', /^(?:forwarded|trusted-proxies|proxy-)/],
  ['Inspector and admin listener:', /^(?:admin-|capture|inspector-|structure-)/],
  ['Process:', /^(?:workers|drain)/],
  ['Embedded reference service:', /^reference-/],
];

const OTHER = 'Other settings:';

/** Headings in the order of `--help`. */
export const SETTING_GROUPS: readonly string[] = [...GROUPS.map(([heading]) => heading), OTHER];

/** Returns the heading of a setting. */
export function settingGroup(name: string): string {
  return GROUPS.find(([, names]) => names.test(name))?.[0] ?? OTHER;
}

// What comes from one network, before anything else is looked at. Whoever has a whole site of IPv6 networks gets
// no further than with a few of them, and cannot fill the table of limits.

import { networkOf, siteOf } from "../domain/client-address.ts";
import type { Limit, Turn } from "./limits.ts";

/** A household has one network, an office a few; those who have thousands are not many people. */
const NETWORKS_OF_ONE_SITE = 6;

export function networkTurns(limit: Limit, address: string): readonly Turn[] {
	const own = { limit, subject: networkOf(address) };
	const site = siteOf(address);
	return site === null ? [own] : [own, { limit: ofSite(limit), subject: site }];
}

function ofSite(limit: Limit): Limit {
	return { ...limit, name: `${limit.name}-site`, max: limit.max * NETWORKS_OF_ONE_SITE };
}

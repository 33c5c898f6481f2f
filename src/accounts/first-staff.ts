// The first start: as long as nobody of the staff can sign in, every start gives out one link that makes the
// first staff account.

import { lockLinks } from "../store/links.ts";
import { hasStaffWithPassword } from "../store/sign-in.ts";
import type { AccountsDeps } from "./deps.ts";
import { issueLink, linkPath } from "./links.ts";

/**
 * The path of the link, because where the service listens is known only later. Null once somebody of the staff
 * can sign in. The links of earlier starts stop working.
 */
export async function makeFirstStaffPath(
	deps: Pick<AccountsDeps, "store" | "clock" | "random">,
): Promise<string | null> {
	return deps.store.transact(async (trx) => {
		await lockLinks(trx);
		if (await hasStaffWithPassword(trx)) return null;
		const link = await issueLink(trx, deps, { purpose: "first_staff", maker: null });
		return link.ok ? linkPath(link.value) : null;
	});
}
